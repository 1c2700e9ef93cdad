"""aj.checkpoint: derivatives that compute intermediates again instead of keeping them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import pytree
from .._run.computation import tensor_specs
from .._trace import calls
from .._trace.trace import current_trace
from .leaves import as_traced
from .transformed import Transformed


class Checkpoint(Transformed):
    """A function whose derivative starts again from its arguments."""

    def inline(self, function: Callable[..., Any], args: Any) -> Any:
        trace = current_trace()
        assert trace is not None
        leaves, structure = pytree.flatten(args)
        leaves = [as_traced(trace, leaf) for leaf in leaves]
        traced_call = self.build(function, pytree.unflatten(structure, leaves))
        arguments = [trace.resolve(v) for v in [*leaves, *traced_call.traced.captured]]
        count = len(tensor_specs(traced_call.computation, True))
        trace.mark(self.title)
        return traced_call.spliced(
            calls.checkpoint(trace, traced_call.computation, arguments, count)
        )


def checkpoint(f: Callable[..., Any], static_argnums: Any = ()) -> Any:
    """``f`` with another trade of memory for time: same values, same gradients.

    The derivative of ``checkpoint(f)`` keeps the arguments of ``f`` (and what it closes over), and
    computes the intermediates of ``f`` again when it needs them. As jax.checkpoint with its default
    policy; for loops over time see the ``checkpoint`` argument of scan.
    """
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    return Checkpoint(f, f"checkpoint({getattr(f, '__name__', 'f')})", None, numbers)
