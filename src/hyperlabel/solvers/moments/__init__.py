"""Moments of rows (sufficient statistics XᵀX, XᵀF, FᵀF): added, subtracted, updated by one row."""
