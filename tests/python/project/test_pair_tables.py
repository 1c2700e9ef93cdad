"""The tables of functions without a library are what their script derives."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

MATH = Path(__file__).resolve().parents[3] / "jit" / "emit" / "math"


def numbers(text: str) -> list[str]:
    """Declared names and numbers in turn, whatever the layout."""
    code = re.sub(r"//.*", "", text)
    return re.findall(r"k[A-Z]\w+|-?0x[0-9a-f.]+(?:p[+-]\d+)?", code)


def test_header_holds_what_the_script_prints() -> None:
    pytest.importorskip("mpmath")
    printed = subprocess.run(
        [sys.executable, str(MATH / "pair_tables.py")], capture_output=True, text=True, check=True
    ).stdout
    assert numbers((MATH / "pair_tables.hpp").read_text()) == numbers(printed)
    assert len(numbers(printed)) > 500
