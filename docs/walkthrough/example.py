"""The example of docs/walkthrough: softmax cross-entropy of 12 rows of 10 logits."""

import adjit as aj
import numpy as np


def loss(logits, labels):
    """The mean of -log(softmax(logits)) at the labels."""
    n, classes = logits.shape
    k = aj.reduce_axis(classes)
    top = aj.compute((n,), lambda i: aj.max(logits[i, k], axis=k))
    total = aj.compute((n,), lambda i: aj.sum(aj.exp(logits[i, k] - top[i]), axis=k))
    cost = aj.compute((n,), lambda i: aj.log(total[i]) + top[i] - logits[i, labels[i]])
    return aj.mean(cost)


rng = np.random.default_rng(0)
logits = rng.normal(size=(12, 10)).astype(np.float32)
labels = rng.integers(0, 10, 12)

executable = aj.lower(aj.value_and_grad(loss), logits, labels).compile()
value, slope = executable(logits, labels)
print(f"{value:.4f}, from {executable.cache}")
print(slope[0].round(4))
