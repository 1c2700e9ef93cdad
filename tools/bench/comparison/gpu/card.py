"""What a card is, as text: lines "number value" for attributes of the driver, and its memory."""

from __future__ import annotations

from typing import Any

from .driver import ATTRIBUTES


def text(facts: dict[str, Any]) -> str:
    """For ADJIT_FAKE_CUDA_CARD (tests/fake_cuda), so that keys of code are those of the card."""
    lines = [f"{ATTRIBUTES[what]} {facts[what]}" for what in ATTRIBUTES]
    return "\n".join([f"memory {facts['memory_bytes']}", *lines]) + "\n"


def described(facts: dict[str, Any], driver: str, assembler: str) -> str:
    """In a line, for people."""
    capability = f"{facts['capability_major']}.{facts['capability_minor']}"
    return (
        f"{facts['name']}, compute capability {capability}, {facts['multiprocessors']} "
        f"multiprocessors, {facts['memory_bytes'] / 2**30:.0f} GB, driver {driver or 'unknown'}, "
        f"{'ptxas ' + assembler if assembler else 'assembled by the driver'}"
    )
