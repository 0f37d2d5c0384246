def summary_in_markdown(r, pictures=True, prefix=""):
    return ""
