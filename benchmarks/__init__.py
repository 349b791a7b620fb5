"""Side-by-side timings; ``python -m benchmarks`` prints the table of peers."""
