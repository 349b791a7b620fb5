"""Arrays in, result and certificate out. Compiled code lives here; scikit-learn never does."""
