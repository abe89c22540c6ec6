"""Matches of meaning: sentences of a text that say what sentences of a corpus say."""
