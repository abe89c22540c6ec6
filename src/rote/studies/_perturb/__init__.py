"""Whether perturbed items still say the same, and what the change did to answers."""
