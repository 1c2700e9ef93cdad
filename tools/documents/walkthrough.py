"""The printed blocks of docs/walkthrough.

A block of a page is fenced, and the line before it names it:

    <!-- printed: program -->
    ```text
    ...
    ```

`blocks` makes each by its name: the example is run, what it dumps goes through print_documents
(tests/documents), and adjit-cache looks at the cache that it left. None depends on the machine:
programs are made for one processor, code for the least one, and what differs from run to run is
replaced by dots. Those of the page on GPUs are made for an H100.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "walkthrough"
EXAMPLE = PAGES / "example.py"
GRAPHS = tuple(PAGES / f"{name}.txt" for name in ("strided", "masked", "softmax", "dense"))
BLOCK = re.compile(r"(<!-- printed: (.+?) -->\n```\w*\n)(.*?)(```\n)", re.DOTALL)


def blocks(build: Path) -> dict[str, str]:
    """Every block by its name; `build` holds libadjit.so, print_documents and adjit-cache."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        runs = [_run_example(build, folder) for _ in range(2)]
        (traced,) = (folder / "dump").glob("*/1-traced.txt")
        found = {
            "example": _function_of(EXAMPLE.read_text()),
            "run": runs[0],
            "run again": runs[1],
            "traced": traced.read_text(),
            **{graph.stem: graph.read_text() for graph in GRAPHS},
            "dump files": "".join(f"{f.name}\n" for f in sorted(traced.parent.iterdir())),
            **_cache_blocks(build, folder / "cache"),
            **_inside_blocks(build, traced),
        }
    return {name: text.strip("\n") + "\n" for name, text in found.items()}


def with_blocks(page: str, found: dict[str, str]) -> str:
    """The page with every block as it is printed now; KeyError for a name that nothing prints."""
    return BLOCK.sub(lambda block: block[1] + found[block[2]] + block[4], page)


def _function_of(source: str) -> str:
    return source[source.index("def loss") : source.index("\n\n\n", source.index("def loss"))]


def _run_example(build: Path, folder: Path) -> str:
    (folder / "cache").mkdir(mode=0o700, exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "bindings" / "python"),
        "ADJIT_LIBRARY": str(build / "libadjit.so"),
        "ADJIT_CACHE": "rw",
        "ADJIT_CACHE_DIR": str(folder / "cache"),
        "ADJIT_DUMP": str(folder / "dump"),
        "ADJIT_CPU": "x86-64-v2",  # which every processor is that adjit runs on
    }
    for name in ("ADJIT_CACHE_SHARED", "ADJIT_CHECK_NAN", "ADJIT_VERIFY_PLANS", "ADJIT_SUBNORMALS"):
        environment.pop(name, None)
    core = min(os.sched_getaffinity(0))
    return subprocess.run(
        [sys.executable, EXAMPLE.name],
        cwd=EXAMPLE.parent, env=environment, text=True, stdout=subprocess.PIPE, check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    ).stdout  # fmt: skip


def _inside_blocks(build: Path, traced: Path) -> dict[str, str]:
    printed = subprocess.run(
        [build / "print_documents", "walkthrough", traced, *GRAPHS],
        text=True, stdout=subprocess.PIPE, check=True,
    ).stdout  # fmt: skip
    found: dict[str, str] = json.loads(printed)
    for machine in ("", "gpu ", "product "):
        sections = _sections(found.pop(f"{machine}passes"))
        found[f"{machine}passes"] = "".join(f"{name}\n" for name in sections)
        for name, text in sections.items():
            graph, _, loops = text.partition("kernel 0:")
            found[f"{machine}pass {name}: graph"] = graph
            found[f"{machine}pass {name}: loops"] = f"kernel 0:{loops}"
    for name in [name for name in found if name.endswith((" before", " clean-up"))]:
        for pass_name, text in _sections(found[name]).items():
            found[f"{name}: {pass_name}"] = text
    return {name: _splats(text) for name, text in found.items()}


def _sections(text: str) -> dict[str, str]:
    """By the heading "# name"."""
    parts = re.split(r"^# (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _splats(ir: str) -> str:
    """Constant vectors of one value as newer versions of LLVM print them."""
    return re.sub(r"<(\w+ [\w.+-]+)(?:, \1)+>", r"splat (\1)", ir)


def _cache_blocks(build: Path, directory: Path) -> dict[str, str]:
    def tool(*arguments: str) -> str:
        command = [build / "adjit-cache", "--dir", directory, *arguments]
        return subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True).stdout

    listed = tool("list")
    identifier = listed.splitlines()[1].split()[0]
    shown = tool("show", identifier)
    end = shown.index("\nschedule\n")
    return {"cache list": _table(_lasting(listed)), "cache show": _lasting(shown[:end])}


def _table(text: str) -> str:
    """Columns as wide as they now are."""
    rows = [re.split(r"  +", line.strip()) for line in text.splitlines()]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def _lasting(text: str) -> str:
    """Without what differs from run to run, or from one version of the sources to the next."""
    for pattern, shown in (
        (r"\b[0-9a-f]{8}(?:[0-9a-f]{24})?\b", "........"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "<date>"),
        (r"\d[\d.]* (?:ms|us|s)\b", "<time>"),
        (r"\d[\d.]* (?:KiB|B)\b", "<size>"),
        (r"(?<=by adjit )[\d.]+|(?<=^    )[\d.]+(?=/\.)", "<version>"),
        (r"(?<=^  features\n    ).*", "<features>"),
        (r"(?<=^  llvm\n    )[\d.]+", "<version>"),
        (re.escape(f"{PAGES}/"), ""),
    ):
        text = re.sub(pattern, shown, text, flags=re.MULTILINE)
    return text
