"""The same comparison on a GPU (docs/performance/how-to-benchmark.md)."""
