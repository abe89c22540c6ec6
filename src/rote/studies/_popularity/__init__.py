"""How popular test items are in a corpus, and whether the popular ones are answered better."""
