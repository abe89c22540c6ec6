"""The forward pass of a Llama decoder in numpy: small models without torch.

`shape` reads config.json, `safetensors` the file of weights, `weights` puts them in order,
`layers` computes, `reading` scores whole sequences, `writing` goes on token by token.
"""
