"""No fault of the cache fails a call: each in a process of its own, which calls and calls on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import adjit as aj
from adjit.info import info
for n in (2, 3):
    x = np.arange(float(n))
    np.testing.assert_allclose(aj.jit(lambda x: x * 2)(x), 2 * x)
    np.testing.assert_allclose(aj.grad(lambda x: aj.sum(x * x))(x), 2 * x)
    aj.runtime.flush()
report = aj.compilations[-1]
assert report["cache"] in ("miss", "disk", "memory"), report
lowered = aj.lower(aj.jit(lambda x: x + 1), x)
assert lowered.text and lowered.explain()
assert info()["cache"]["directory"]
print(*[r["cache"] for r in aj.compilations])
"""


def call(directory: str | bytes | Path, user: int | None = None, **more: str) -> list[str]:
    """Runs the program with this cache; where its compilations came from."""
    environment = {**os.environb, b"ADJIT_CACHE": b"rw", b"ADJIT_CACHE_DIR": os.fsencode(directory)}
    environment |= {os.fsencode(k): os.fsencode(v) for k, v in more.items()}
    # Another user may not be able to read the package: what is needed is there before.
    become = f"import adjit.info, numpy.testing, os; os.setuid({user})\n" if user else ""
    done = subprocess.run(
        [sys.executable, "-c", become + PROGRAM], env=environment, capture_output=True,
        check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done.stdout.decode().split()


def is_file(path: Path) -> None:
    path.write_text("no directory")


def below_a_file(path: Path) -> None:
    path.parent.joinpath("file").write_text("no directory")
    path.symlink_to(path.parent / "file" / "below")


def dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere" / "at" / "all")


def loop_of_links(path: Path) -> None:
    path.symlink_to(path)


def open_to_others(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/null")


@pytest.mark.parametrize(
    "fault", [is_file, below_a_file, dangling_link, loop_of_links, open_to_others, a_device]
)
def test_what_is_no_private_directory(tmp_path: Path, fault: Callable[[Path], None]) -> None:
    fault(tmp_path / "cache")
    assert "disk" not in call(tmp_path / "cache")


@pytest.mark.parametrize("name", [b"caf\xe9", b"\xff\xfe", "caf\u00e9".encode(), b"a" * 255])
def test_any_name_of_a_directory(tmp_path: Path, name: bytes) -> None:
    directory = os.fsencode(tmp_path) + b"/" + name
    call(directory)
    assert "disk" in call(directory)


@pytest.mark.parametrize("name", [b"caf\xe9", b"a" * 256, b"x/" * 3000])
def test_any_name_of_what_cannot_be_one(tmp_path: Path, name: bytes) -> None:
    tmp_path.joinpath("file").write_text("")
    assert "disk" not in call(os.fsencode(tmp_path / "file") + b"/" + name)
    os.mkdir(os.fsencode(tmp_path) + b"/caf\xe9", 0o777)
    os.chmod(os.fsencode(tmp_path) + b"/caf\xe9", 0o777)
    assert "disk" not in call(os.fsencode(tmp_path) + b"/caf\xe9")


def replaced_by_directories(entry: Path) -> None:
    entry.unlink()
    entry.mkdir()
    entry.joinpath("mine").write_text("precious")


def replaced_by_dangling_links(entry: Path) -> None:
    entry.unlink()
    entry.symlink_to("nowhere")


def replaced_by_pipes(entry: Path) -> None:
    entry.unlink()
    os.mkfifo(entry)


def emptied(entry: Path) -> None:
    entry.write_bytes(b"")


def garbled(entry: Path) -> None:
    bytes_ = bytearray(entry.read_bytes())
    for k in range(len(bytes_) // 3, len(bytes_), 97):
        bytes_[k] ^= 0x55
    entry.write_bytes(bytes(bytes_))


def opened_to_others(entry: Path) -> None:
    entry.chmod(0o666)


def of_the_future(entry: Path) -> None:
    os.utime(entry, (2**33, 2**33))


@pytest.mark.parametrize(
    "fault",
    [
        replaced_by_directories, replaced_by_dangling_links, replaced_by_pipes, emptied, garbled,
        opened_to_others, of_the_future,
    ],
)  # fmt: skip
def test_what_is_no_entry(cache_directory: Path, fault: Callable[[Path], None]) -> None:
    call(cache_directory)
    for path in list(cache_directory.iterdir()):
        fault(path)  # the journals, too
    call(cache_directory)
    assert set(call(cache_directory)) <= {"disk", "memory"}, "entries take the places again"


def test_a_directory_that_may_only_be_read(cache_directory: Path) -> None:
    call(cache_directory)
    cache_directory.chmod(0o500)
    try:
        assert "disk" in call(cache_directory)
        for path in cache_directory.iterdir():
            if path.suffix == ".entry":
                path.write_bytes(b"damaged")
        call(cache_directory)
    finally:
        cache_directory.chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the rights to become another user")
def test_a_directory_of_another_user(cache_directory: Path) -> None:
    call(cache_directory)
    nobody = 65534
    assert "disk" not in call(cache_directory, user=nobody, HOME="/nonexistent")
    with tempfile.TemporaryDirectory() as own:  # the user's, and yet closed to it
        os.chown(own, nobody, -1)
        Path(own).chmod(0o000)
        assert "disk" not in call(own, user=nobody)


@pytest.mark.skipif(shutil.which("mount") is None, reason="needs mount")
@pytest.mark.parametrize("size", ["16k", "200k"])
def test_a_full_disk(tmp_path: Path, size: str) -> None:
    options = f"size={size},mode=0700"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "adjit-test", str(tmp_path)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("may not mount a small disk")
    try:
        call(tmp_path)
        tmp_path.joinpath("filler").write_bytes(b"")
        with tmp_path.joinpath("filler").open("ab", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"x" * 1024)
            except OSError:
                pass
        call(tmp_path)
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        call(tmp_path)
        call(tmp_path / "below")
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_source_file_of_any_name(tmp_path: Path, cache_directory: Path) -> None:
    """Its name is in errors, reports and entries."""
    program = os.fsencode(tmp_path) + b"/caf\xe9.py"
    with open(program, "w") as file:
        file.write(PROGRAM + "try: x @ np.ones((7, 7))\nexcept Exception as e: pass\n")
        file.write("try: aj.matmul(x, np.ones((7, 7)))\nexcept aj.ShapeError as e: print(e)\n")
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, program],
            env={**os.environ, "ADJIT_CACHE": "rw", "ADJIT_CACHE_DIR": str(cache_directory)},
            capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        assert b"py:" in done.stdout


def test_variables_that_cannot_be_read(cache_directory: Path) -> None:
    def run(**environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "import adjit as aj, numpy as np; aj.exp(np.ones(3))"],
            env={**os.environ, "ADJIT_CACHE": "off", **environment},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    for wrong in ("abc", "0", "-1", "2x", "99999999999"):
        done = run(ADJIT_NUM_THREADS=wrong)
        assert done.returncode != 0
        assert f"ADJIT_NUM_THREADS is '{wrong}'" in done.stderr
    for right in ("", "1", "4096"):
        assert run(ADJIT_NUM_THREADS=right).returncode == 0
    done = run(ADJIT_LOG="bogus")
    assert done.returncode == 0
    assert done.stderr.count("ADJIT_LOG: 'bogus' cannot be read") == 1
    assert run(ADJIT_LOG="debug,cache=off").stderr.count("ADJIT_LOG") == 0
