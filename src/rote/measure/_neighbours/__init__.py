"""Which points lie near which: the parts of precision, recall, density and coverage."""
