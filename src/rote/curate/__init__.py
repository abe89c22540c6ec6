"""Data sets made from data sets."""
