"""Who runs a model: every file is a backend with `open_model(name, options, reporter)`."""
