"""``python -m hyperlabel``: the command line."""

from hyperlabel.cli import main

if __name__ == "__main__":
    main()
