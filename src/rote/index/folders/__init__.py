"""An index folder: manifest, lock, building, adding, merging, checking."""
