"""The page on which people judge summaries."""
