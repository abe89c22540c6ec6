"""Columns of a segment: packed numbers, vocabularies, compressed suffix arrays."""
