"""The templates of all pages, and the code that gets ready what they show."""
