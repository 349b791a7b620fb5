"""The generalised eigenproblem behind supervised projections, and SVDs of labels."""
