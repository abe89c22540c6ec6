"""What can be asked: fields made from options dataclasses, read from an address or a form."""
