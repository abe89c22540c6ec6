"""Whose is a run of words: sources, original fragments, fragments that need a citation."""
