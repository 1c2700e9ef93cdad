"""``python -m adjit.info``: version, target, threads, cache."""

from __future__ import annotations

import json

from ._run.context import context


def info() -> dict[str, object]:
    """What the library says of itself, its target and its cache."""
    return dict(json.loads(context().text("adjit_context_info")))


if __name__ == "__main__":
    print(json.dumps(info(), indent=2))
