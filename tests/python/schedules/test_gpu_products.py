"""What NVIDIA's assembler makes of products: registers, nothing in local memory, multiply-adds.

A driver that shows an H100 and runs nothing stands in for the GPU; the rows need ptxas, and
shares of multiply-adds nvdisasm as well.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

CARD = Path(os.environ.get("ADJIT_LIBRARY", "")).parent / "libadjit_card_cuda.so"
PTXAS = shutil.which("ptxas")
NVDISASM = shutil.which("nvdisasm") or os.environ.get("ADJIT_NVDISASM")

pytestmark = [
    pytest.mark.skipif(PTXAS is None, reason="there is no ptxas"),
    pytest.mark.skipif(not CARD.exists(), reason="no driver that shows a card was built"),
]


class Row(NamedTuple):
    function: str  #: of names in the script below
    shapes: list[str]
    #: Of its largest kernel, at most, so that two blocks of a multiprocessor have room.
    registers: int
    #: Of multiply-adds in its innermost loop, at least; 0: it has none.
    percent: int = 0
    dtype: str = "float32"


ROWS = {
    "left transposed": Row("lambda a, b: a.T @ b", ["(4096, 4096)"] * 2, 128, 88),
    "as they lie": Row("lambda a, b: a @ b", ["(4096, 4096)"] * 2, 255, 85),
    "right transposed": Row("lambda a, b: a @ b.T", ["(4096, 4096)"] * 2, 255, 85),
    "both transposed": Row("lambda a, b: a.T @ b.T", ["(4096, 4096)"] * 2, 255, 85),
    "small": Row("lambda a, b: a @ b", ["(1024, 1024)"] * 2, 128, 70),
    "epilogue": Row(
        "lambda x, w, b: aj.nn.relu(x @ w.T + b)", ["(2048, 2048)"] * 2 + ["(2048,)"], 255, 85,
    ),
    "few rows": Row("lambda a, b: a @ b.T", ["(8, 4096)", "(4096, 4096)"], 128, 75),
    "convolution": Row(
        "lambda x, w: aj.nn.conv2d(x, w, padding=1)",
        ["(64, 64, 56, 56)", "(64, 64, 3, 3)"], 168, 85,
    ),
    "of its image": Row(
        "lambda y, x, w: aj.vjp(lambda x: aj.nn.conv2d(x, w, stride=2, padding=1), x)[1](y)",
        ["(64, 256, 28, 28)", "(64, 128, 56, 56)", "(256, 128, 3, 3)"], 168, 85,
    ),
    "shortest paths": Row(
        "lambda a, b: aj.min(a[:, :, None] + b, axis=1)", ["(1024, 1024)"] * 2, 128,
        dtype="float64",
    ),
    "nearest points": Row(
        "lambda a, b: aj.argmin((a[:, None] - b) ** 2, axis=1)", ["(65536,)", "(4096,)"], 64,
    ),
    "where paths go": Row(
        "lambda a, b: aj.argmin(a[:, :, None] + b, axis=1)", ["(1024, 1024)"] * 2, 255,
    ),
}  # fmt: skip


def ptx_of(function: str, shapes: list[str], dtype: str = "float32") -> str:
    script = f"""
import adjit as aj
specs = [aj.ShapeDtype(s, "{dtype}") for s in [{", ".join(shapes)}]]
print(aj.lower({function}, *specs, target="cuda").compile().ptx)
"""
    environment = {**os.environ, "ADJIT_CUDA_LIBRARY": str(CARD), "ADJIT_CACHE": "off"}
    made = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return made.stdout


def assembled(ptx: str, capability: int, folder: Path) -> str:
    """What ptxas says of its kernels; the cubin is in the folder."""
    assert PTXAS is not None
    text = re.sub(r"\.target sm_\d+", f".target sm_{capability}", ptx)
    (folder / "kernels.ptx").write_text(text, encoding="utf-8")
    command = [PTXAS, "-v", "-arch", f"sm_{capability}", "kernels.ptx", "-o", "kernels.cubin"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stderr


def loops_of(cubin: Path) -> list[list[str]]:
    """The instructions of each loop."""
    code = subprocess.run(
        [str(NVDISASM), "-c", str(cubin)], capture_output=True, text=True, check=True
    ).stdout
    all_: list[str] = []
    labels: dict[str, int] = {}
    loops: list[list[str]] = []
    for line in code.splitlines():
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label[1]] = len(all_)
        elif found := re.search(r"/\*[0-9a-f]{4,}\*/\s+(.*?);", line):
            all_.append(found[1])
    for k, one in enumerate(all_):
        to = re.search(r"BRA.*?(\.L_x_\d+)", one)
        if to and labels.get(to[1], k + 1) <= k:
            loops.append(all_[labels[to[1]] : k + 1])
    return loops


@pytest.mark.parametrize("row", ROWS)
def test_products_have_registers_and_spill_nothing(row: str, tmp_path: Path) -> None:
    function, shapes, registers, percent, dtype = ROWS[row]
    ptx = ptx_of(function, shapes, dtype)
    for capability in (80, 90):
        said = assembled(ptx, capability, tmp_path)
        kernels = re.findall(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", said
        )
        assert kernels and all(k == ("0", "0", "0") for k in kernels), said
        used = [int(n) for n in re.findall(r"Used (\d+) registers", said)]
        assert max(used) <= registers, said
        if NVDISASM is None or percent == 0:
            continue
        loops = loops_of(tmp_path / "kernels.cubin")
        shares = [
            100 * sum("FFMA" in one for one in loop) / len(loop) for loop in loops if len(loop) > 64
        ]
        assert max(shares) >= percent, (row, shares)


def test_transposed_operands_are_loaded_in_vectors() -> None:
    ptx = ptx_of("lambda a, b: a @ b.T", ["(4096, 4096)"] * 2)
    assert "cp.async.ca" not in ptx
    loop = ptx[ptx.index("bar.sync") :]
    assert len(re.findall(r"ld\.global(\.nc)?\.v4", loop)) == 8
    assert loop.index("ld.global") < loop.index("fma.rn") < loop.rindex("st.shared")
    lying = ptx_of("lambda a, b: a.T @ b", ["(4096, 4096)"] * 2)
    assert "cp.async.cg" in lying and "cp.async.ca" not in lying and "st.shared" not in lying
