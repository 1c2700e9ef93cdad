"""From a function to compiled code, and its calls."""
