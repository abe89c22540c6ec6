"""What the app was given: files at a glance, indexes that may grow."""
