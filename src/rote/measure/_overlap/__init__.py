"""How close test items are to a training set, and how scores go with that."""
