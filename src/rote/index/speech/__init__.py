"""The back-off model of an index speaks: distributions of the next item, and items as text."""
