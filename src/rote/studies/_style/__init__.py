"""Does a model go on as its training text did, word for word or in the same grammar?"""
