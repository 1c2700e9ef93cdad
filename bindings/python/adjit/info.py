"""``python -m adjit.info``: version, target, threads, cache."""

from __future__ import annotations

import json

from . import runtime


def info() -> dict[str, object]:
    """What the library says of itself, its target and its cache."""
    return dict(json.loads(runtime.context().text("adjit_context_info")))


if __name__ == "__main__":
    print(json.dumps(info(), indent=2))
