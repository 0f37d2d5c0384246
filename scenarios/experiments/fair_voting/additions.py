def own_findings(r):
    return ()
