"""The forward pass of a Llama decoder in numpy: small models without torch."""
