"""Segments, in memory and on disk: written once, mapped, merged, never changed."""
