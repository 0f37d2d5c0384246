def show_reproduction(console, r):
    pass
