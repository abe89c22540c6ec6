"""What a comparison was asked for."""
