"""The index as a language model: distributions of the next item, and items as text."""
