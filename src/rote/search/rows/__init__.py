"""Questions that people ask an index, answered in rows: the shell and the browser show the same."""
