"""The scores of `rote score`, one file each: how a text compares with its reference or document."""
