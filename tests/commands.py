"""Commands as a user gives them, for every test of the command line."""

from __future__ import annotations

from click.testing import CliRunner

from hyperlabel.apps.cli import main


def run(*arguments, stdin=None):
    """Run a command; what it said and its exit code come back."""
    return CliRunner().invoke(main, [str(a) for a in arguments], input=stdin)


def done(*arguments, stdin=None):
    """Run a command that must succeed."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result
