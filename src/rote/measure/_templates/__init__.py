"""The parts of the measure `templates`: counting, variants, listing, corpora."""
