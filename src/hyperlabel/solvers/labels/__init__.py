"""Kernels over label sets: decoding, trees, stratification, nested metrics, histograms of scores."""
