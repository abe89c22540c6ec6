"""The query language behind `rote search`: tree, plan, matching."""
