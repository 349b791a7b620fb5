"""The papers: printed figures, protocols, and what we get."""
