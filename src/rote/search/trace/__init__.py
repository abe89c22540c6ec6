"""Where the words of a text come from: spans that a corpus holds, nearly or exactly."""
