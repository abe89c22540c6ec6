"""Kernels over sorted positions: ranges, longest matches, what follows, what is frequent."""
