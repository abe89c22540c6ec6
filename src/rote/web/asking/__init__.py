"""Questions to an index, as the pages Search and Templates ask them; nothing here knows HTTP."""
