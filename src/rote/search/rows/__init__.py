"""Questions that people ask an index, answered in rows: the shell and the browser show the same.

`match_arrays.py` holds matches as arrays, `matches.py` looks them up and puts them in order,
`groups.py` tells them apart by document, `counts.py` counts phrases and lists what is frequent.
"""
