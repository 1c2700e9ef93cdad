"""The rows of the comparison: what each computes in every framework, and the sets of them."""
