"""The page Templates: what is asked, measured and shown."""
