"""Work that takes long: in threads beside the pages, or in a process of its own."""
