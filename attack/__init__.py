"""Attacks on everything hyperlabel reads: `make attack`, see docs/reliability.md."""
