"""Nearest neighbours and what their labels count."""
