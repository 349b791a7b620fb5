"""Models over HTTP: Annif's REST API v1 for suggesting and learning, explanations, and the page, live."""

from hyperlabel.apps.serve.app import Limits, make_app
from hyperlabel.apps.serve.connections import open_port, run_server, server_options
from hyperlabel.apps.serve.served_model import ServedModel

__all__ = ["Limits", "ServedModel", "make_app", "open_port", "run_server", "server_options"]
