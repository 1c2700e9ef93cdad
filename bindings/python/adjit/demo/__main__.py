"""``python -m adjit.demo [--output FOLDER] [--quiet]``: train, deblur, show what was derived."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import adjit as aj
from adjit import runtime

try:
    import skimage  # noqa: F401
    import sklearn  # noqa: F401

    from . import deblur, digits
    from .progress import Progress
except ImportError as error:
    sys.exit(f"the demo needs scikit-learn and scikit-image ({error}); pip install 'adjit[demo]'")


def compilations_table() -> str:
    """One row a compilation: where it came from and what each step cost."""
    columns = ("trace_ms", "derive_ms", "schedule_ms", "compile_ms", "load_ms")
    head = "from    kernels" + "".join(f"{c[:-3]:>10}" for c in columns) + "   (ms)  what"
    rows = []
    for report in aj.compilations:
        # On a hit only tracing and loading happened now.
        hit = report["cache"] != "miss"
        cells = [0.0 if hit and c not in ("trace_ms", "load_ms") else report[c] for c in columns]
        rows.append(
            f"{report['cache']:<8}{report['kernels']:>7}"
            + "".join(f"{cell:>10.2f}" for cell in cells)
            + f"         {report['title']}"
        )
    return "\n".join([head, *rows])


def main() -> None:
    """Runs the demo."""
    parser = argparse.ArgumentParser(prog="adjit.demo", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="for the pictures")
    parser.add_argument("--quiet", action="store_true", help="leave out derived text and schedule")
    options = parser.parse_args()
    try:
        options.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"{options.output} cannot be made ({error.strerror}); choose another --output")
    started = time.perf_counter()
    progress = Progress()

    accuracy = digits.train(progress)
    print(f"accuracy on the held-out quarter: {100 * accuracy:.2f} %\n")

    before, after = deblur.run(progress, options.output)
    print(
        f"PSNR {before:.2f} dB before, {after:.2f} dB after: gain {after - before:.2f} dB "
        f"({options.output / 'before.png'}, {options.output / 'after.png'})\n"
    )

    if not options.quiet:
        p, images, labels = digits.example()
        lowered = aj.lower(aj.value_and_grad(digits.loss), p, images, labels)
        print("The derived backward of the network, in text notation:\n")
        print(lowered.text)
        print("Its schedule:\n")
        print(lowered.schedule)

    runtime.context()
    print("Compilations:\n")
    print(compilations_table())
    compiled = sum(report["cache"] == "miss" for report in aj.compilations)
    print(f"\n{compiled} compiled, {len(aj.compilations) - compiled} from the cache; ", end="")
    print(f"{time.perf_counter() - started:.1f} s in all")
    aj.runtime.flush()
    if accuracy < 0.97 or after - before < 3:
        sys.exit("the demo missed its goals: 97 % accuracy and 3 dB")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nstopped")
