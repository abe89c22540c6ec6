"""`python -m rote`: the command line without the script on the path."""

from rote.cli.main import main

if __name__ == "__main__":
    main()
