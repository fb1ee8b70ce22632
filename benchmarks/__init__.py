"""Measurements: ratios within one run, since machines differ and are shared."""
