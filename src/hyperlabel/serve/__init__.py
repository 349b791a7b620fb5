"""Models over HTTP: Annif's REST API v1 for suggesting and learning, explanations, and the page, live."""

from hyperlabel.serve.app import Limits, Project, make_app

__all__ = ["Limits", "Project", "make_app"]
