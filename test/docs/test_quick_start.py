"""README's quick start, as a reader types it: commands, the two programs in Python and the one in C."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PERPEND_BUILD", ROOT / "build"))
QUICK_START = (ROOT / "README.md").read_text().partition("\n## Quick start\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", QUICK_START, re.M | re.S)
SEARCH = "--budget 30s"


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


def run(command: str | list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(BUILD / "python"), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def commands(text: str) -> list[tuple[str, str]]:
    """Each command of a block and the comment behind it."""
    lines = [re.split(r"\s+# ", line, maxsplit=1) for line in text.splitlines() if line.strip()]
    return [(line[0], line[1] if len(line) > 1 else "") for line in lines]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like the source tree and keeps what the commands write; they have run in it, in order."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("examples", "runtime"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "build").symlink_to(BUILD)
    (folder / "main.c").write_text(blocks("c")[0])
    for block in blocks(""):
        for command, _ in commands(block):
            done = run(command.replace(SEARCH, "--budget 1s"), folder)
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            (folder / f"{len(list(folder.glob('*.out')))}.out").write_text(f"{command}\n{done.stdout}{done.stderr}")
    return folder


def output_of(tree: Path, word: str) -> str:
    """What the first command with this word printed."""
    texts = (path.read_text().partition("\n") for path in sorted(tree.glob("*.out"), key=lambda path: int(path.stem)))
    return next(text for command, _, text in texts if word in command)


def test_the_page_has_these_blocks() -> None:
    assert [kind for kind, _ in BLOCKS] == ["", "python", "python", "c", "", ""]
    assert SEARCH in QUICK_START and len(commands(blocks("")[0])) >= 9


def test_commands(tree: Path) -> None:
    for name in ("digits.so", "digits.html", "times.json", "tuned.db", "digits-main", "digits"):
        assert (tree / name).stat().st_size > 0, name
    assert "image" in output_of(tree, "inspect")
    assert "usage: " in output_of(tree, "./digits --help")


def test_program_in_c(tree: Path) -> None:
    """The comment behind the command says what it prints."""
    first, last = re.findall(r'"(\d: \d\.\d+)"', blocks("")[1])
    lines = output_of(tree, "digits-main").splitlines()
    assert (len(lines), lines[0], lines[-1]) == (10, first, last)


@pytest.mark.parametrize("position", [0, 1])
def test_programs_in_python(tree: Path, position: int) -> None:
    """The comment behind the last print says what it prints."""
    program = blocks("python")[position]
    expected = re.findall(r"^print\(.*  # (.*)$", program, re.M)
    done = run([sys.executable, "-c", program], tree)
    assert (done.returncode, done.stdout.splitlines()) == (0, expected), done.stderr
