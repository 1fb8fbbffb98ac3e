"""./dev compiles what a subcommand needs: tests only for those who run them."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PERPEND_BUILD", ROOT / "build"))
RECORD = '#!/bin/sh\necho "$(basename "$0") $*" >> "$RECORD"\n'


def prepared(folder: Path) -> None:
    """A copy in which everything is installed and configured, and which notes what would be run."""
    shutil.copy(ROOT / "dev", folder / "dev")
    (folder / "requirements.txt").write_text("")
    packages = '#!/bin/sh\nfor last; do :; done\nfor name; do echo "$name installed"; done\n'
    for path, text in {
        ".venv/bin/python": RECORD,
        "bin/ninja": RECORD,
        "bin/cmake": RECORD,
        "bin/dpkg-query": packages,
        "build/build.ninja": "",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
        (folder / path).chmod(0o755)
    wanted = f"{hashlib.sha256(b'').hexdigest()} {folder}\n"
    (folder / ".venv" / "setup.stamp").write_text(wanted)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("build", ["ninja -C build"]),
        ("demo", ["ninja -C build perpend _perpend", "python examples/digits/demo.py"]),
    ],
)
def test_what_is_built(tmp_path: Path, command: str, expected: list[str]) -> None:
    prepared(tmp_path)
    record = tmp_path / "record"
    environment = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "RECORD": str(record)}
    done = subprocess.run(["./dev", command], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "==> Building\n" in done.stderr and "\033" not in done.stderr, "a pipe is no terminal"
    assert [line.rstrip() for line in record.read_text().splitlines()] == expected


def test_what_the_demo_needs_has_the_runtime_and_no_tests() -> None:
    command = ["ninja", "-C", str(BUILD), "-t", "inputs", "perpend", "_perpend"]
    inputs = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for needed in ["libperpend_runtime.a", "libperpend_library.a", "libperpend_main.a", "libc-stubs/libc.so.6"]:
        assert any(needed in path for path in inputs), needed
    assert not [path for path in inputs if "/test/" in path or path.startswith("test/")]
