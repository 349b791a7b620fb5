"""Applications on top of the library: command line, reports, server, comparisons. Nothing imports them."""
