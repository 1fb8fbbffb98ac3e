"""The commands that docs/howto shows are for the project's environment, and tests that they name exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/howto").glob("*.md"))
PYTHON = ".venv/bin/python"
WORDS = re.compile(r"(?:^|[`\n] *)(?:[A-Z_]+=\S+ +)*([^`\s]*(?:python3?|lit|pytest)) ([^`\n]*)")


def commands(page: Path) -> list[tuple[str, str]]:
    """The program and the arguments of those that run Python."""
    return [
        (program, arguments)
        for program, arguments in WORDS.findall(page.read_text())
        if ".py" in arguments or "-" in arguments
    ]


def pytest_commands() -> list[str]:
    all_arguments = [arguments for page in PAGES for _, arguments in commands(page)]
    return [text.partition("-m pytest ")[2] for text in all_arguments if text.startswith("-m pytest ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_programs_of_the_environment(page: Path) -> None:
    assert [program for program, _ in commands(page) if not program.startswith(".venv/bin/")] == []


def test_there_are_such_commands() -> None:
    assert len(pytest_commands()) >= 2


@pytest.mark.parametrize("arguments", pytest_commands())
def test_tests_are_selected(arguments: str) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", *shlex.split(arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == pytest.ExitCode.OK, done.stdout
