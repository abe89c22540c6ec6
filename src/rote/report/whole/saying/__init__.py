"""What is said of a study in words: differences, findings, methods."""
