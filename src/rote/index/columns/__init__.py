"""What a segment is made of: packed columns, vocabularies, the parts that kernels read."""
