"""The parts of the measure `rouge`: where lines end, what two texts share, precision and recall."""
