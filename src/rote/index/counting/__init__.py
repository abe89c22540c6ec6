"""Kernels that ask sorted places: ranges, longest matches, what follows, what is frequent."""
