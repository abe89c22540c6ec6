"""Pages, forms and their parts: how what was found becomes HTML."""
