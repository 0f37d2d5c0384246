def findings_on_paper(r):
    return ()
