"""What user functions are called with: traces, tensors, expressions, operators."""
