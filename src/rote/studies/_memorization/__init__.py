"""Does a model recall this text? Attacks, what they tell of right answers, and of membership."""
