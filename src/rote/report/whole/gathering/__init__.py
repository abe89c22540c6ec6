"""How a study is gathered: what is read, which measures it allows, what shows it."""
