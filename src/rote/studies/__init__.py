"""Commands that are no measure of texts, one file each: questions about items, models, results."""
