"""Meaning as vectors: what is embedded, and which vectors are near each other."""
