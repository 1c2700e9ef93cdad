"""Transformations: jit, derivatives, batches and loops, in files of their public names."""
