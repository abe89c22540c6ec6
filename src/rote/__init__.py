"""rote: what is new in the text of language models, and what they repeat."""
