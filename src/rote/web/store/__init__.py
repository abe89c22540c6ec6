"""What the app keeps in its folder: history, jobs, uploads, pasted texts."""
