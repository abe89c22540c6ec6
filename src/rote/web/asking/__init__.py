"""Questions to an open index, as the pages Search and Templates ask them, and what they show."""
