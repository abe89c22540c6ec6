"""The forward pass of a Llama decoder in numpy: small models without torch.

`weights` reads config.json and the file of weights, `gguf` a GGUF file; `forward` scores whole
sequences and goes on token by token.
"""
