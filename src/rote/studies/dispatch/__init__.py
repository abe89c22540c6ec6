"""One way to run every command: from names of options and inputs to a Result, as a function."""
