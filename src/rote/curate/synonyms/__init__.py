"""Synonyms in the place of words: where they come from, which sense, in which form."""
