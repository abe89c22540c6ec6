"""From a stream of numbers to its suffixes in order."""
