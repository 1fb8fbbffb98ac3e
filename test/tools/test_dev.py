"""The script ./dev asks for nothing and removes nothing where it does not know an argument."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def dev(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(ROOT / "dev", folder / "dev")
    (folder / "build").mkdir(exist_ok=True)
    return subprocess.run([folder / "dev", *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("command", ["setup", "build", "demo", "test", "lint", "new-pass", "clean"])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_of_a_command_does_nothing_else(tmp_path: Path, command: str, option: str) -> None:
    done = dev(tmp_path, command, option)
    assert done.returncode == 0 and done.stdout.startswith("usage: ./dev COMMAND") and command in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"dev", "build"}


@pytest.mark.parametrize(("command", "argument"), [("clean", "everything"), ("lint", "src"), ("demo", "--batch=3")])
def test_an_unknown_argument_is_an_error(tmp_path: Path, command: str, argument: str) -> None:
    done = dev(tmp_path, command, argument)
    assert done.returncode == 1 and argument in done.stderr and "hint: " in done.stderr
    assert (tmp_path / "build").is_dir()
