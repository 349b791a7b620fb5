"""Ridge regression for all labels at once: routes, paths of λ, and the evidence that chooses it."""
