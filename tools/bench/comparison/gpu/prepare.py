"""The code of all rows made without a GPU, into a cache that travels to one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..workloads import gpu
from .benchmark import chosen
from .driver import ptxas
from .rates import H100
from .run import BUDGET, limit_ms
from .session import Session


class CannotPrepareError(Exception):
    """Says in one line what is missing."""


def stand_in(library: Path) -> Path:
    """A driver that shows a card and runs nothing, built beside the library with its tests."""
    path = library.resolve().parent / "libadjit_card_cuda.so"
    if not path.exists():
        raise CannotPrepareError(f"no {path}: build the target adjit_card_cuda")
    return path


def prepared(
    library: Path, cache: Path, card: Path | None, rows: str, only: list[str] | None
) -> bool:
    """Compiles for the card that a file describes (card.text), else an H100; whether all went.

    What the model of costs predicts stands beside each row; of an H100 also how many times that is
    of the limit.
    """
    os.environ["ADJIT_CUDA_LIBRARY"] = str(stand_in(library))
    os.environ.update(ADJIT_CACHE_DIR=str(cache), ADJIT_CACHE="rw")
    if card is not None:
        os.environ["ADJIT_FAKE_CUDA_CARD"] = str(card)
    assembler = ptxas()
    print(f"cubins by ptxas {assembler}" if assembler else "PTX alone: there is no ptxas")
    whole = True
    with Session("adjit", rows, BUDGET, patience=30) as session:
        for workload in chosen(gpu.SETS[rows](), only):
            answer = session.ask({"do": "lower", "row": workload.name}, BUDGET)
            whole = whole and "error" not in answer
            shown = answer.get("error") or _line(answer, None if card else limit_ms(workload, H100))
            print(f"  {workload.name:<20}{shown}", flush=True)
    return whole


def _line(answer: dict[str, Any], limit: float | None) -> str:
    predicted = f"{answer['predicted']:9.4f} ms predicted, {answer['kernels']:2d} kernels"
    if limit is not None:
        predicted += f", {answer['predicted'] / limit:6.2f} of the limit"
    return f"{predicted}; compiled in {answer['seconds']:.2f} s, {answer['cache']}"
