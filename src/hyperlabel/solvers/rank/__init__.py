"""Rank-SVM and its relatives."""
