"""Params, results and stream items of the 48 methods, one module per family."""
