"""Models of the transformers library: `loading` brings one here, `tokens` is its tokenizer,
`computing` runs it. Only these files import torch, inside their functions."""
