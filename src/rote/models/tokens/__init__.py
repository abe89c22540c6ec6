"""Texts to token numbers and back, as a model's own `tokenizer.json` says.

Byte-level BPE without Unicode classes, such as that of rote's open model, is read here, in the
base install; every other kind by the `tokenizers` package.
"""
