"""Margin losses: squared hinge, logistic, and the sigmoid of Platt scaling."""
