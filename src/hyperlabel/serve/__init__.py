"""Models over HTTP: Annif's REST API v1 for suggesting and learning, explanations, and the page, live."""

from hyperlabel.serve.app import Limits, make_app

__all__ = ["Limits", "make_app"]
