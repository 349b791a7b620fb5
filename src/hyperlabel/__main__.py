"""``python -m hyperlabel``: the command line."""

from hyperlabel.apps.cli import main

if __name__ == "__main__":
    main()
