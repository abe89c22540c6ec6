"""Test items put to a language model: pairs, multiple choice, the last word of a passage."""
