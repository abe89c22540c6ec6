"""Arms of a repetition study, their models and texts, and the tables of their scores."""
