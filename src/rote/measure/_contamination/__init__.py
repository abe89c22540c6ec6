"""Test items in a corpus: their instances, and the passages that come nearest to them."""
