"""A pasted text held against an index: kept, judged, traced, and made ready to be shown."""
