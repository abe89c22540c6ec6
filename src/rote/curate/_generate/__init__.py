"""What `generate` is made of: prompts, the grid of settings, the plan, and the file."""
