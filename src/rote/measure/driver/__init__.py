"""The way from texts to results: read, prepare, measure each facet, resample, correct."""
