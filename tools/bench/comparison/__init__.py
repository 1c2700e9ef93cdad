"""Gradient steps of adjit beside those of its peers: what compare.py is made of."""
