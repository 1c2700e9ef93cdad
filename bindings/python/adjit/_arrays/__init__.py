"""Arrays of NumPy, PyTorch and JAX as memory with a layout, and memory for results."""
