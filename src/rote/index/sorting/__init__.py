"""From a stream of numbers to its places in sorted order."""
