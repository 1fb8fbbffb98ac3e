"""The line of Targets.def that docs/howto/add-a-target.md shows compiles."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/howto/add-a-target.md"
BUILD = Path(os.environ.get("PERPEND_BUILD", ROOT / "build"))
LIST = ROOT / "src/target/Targets.def"
USER = ROOT / "src/target/TargetInfo.cpp"


def shown_line() -> str:
    lines = re.findall(r"^    (PERPEND_TARGET\(.*\))$", PAGE.read_text(), re.MULTILINE)
    assert len(lines) == 1
    return str(lines[0])


def command_for(source: Path) -> list[str]:
    """How the build compiles a file, without its output."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    command = shlex.split(next(entry["command"] for entry in entries if entry["file"] == str(source)))
    return command[: command.index("-o")]


def compile_with(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Checks TargetInfo.cpp with one line more at the end of the list."""
    changed = folder / "target" / LIST.name
    changed.parent.mkdir()
    changed.write_text(LIST.read_text().replace("#undef PERPEND_TARGET", f"{line}\n#undef PERPEND_TARGET"))
    command = command_for(USER)
    first_option = next(i for i, word in enumerate(command) if word.startswith("-"))
    command[first_option:first_option] = [f"-I{folder}", "-fsyntax-only"]
    command.append(str(USER))
    return subprocess.run(command, cwd=BUILD, capture_output=True, text=True)


def test_the_line_compiles(tmp_path: Path) -> None:
    done = compile_with(shown_line(), tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_line_with_another_number_of_values_does_not(tmp_path: Path) -> None:
    done = compile_with(shown_line().replace(")", ", 1)"), tmp_path)
    assert done.returncode != 0 and "excess elements" in done.stderr


def test_the_name_is_new() -> None:
    name = shown_line().split('"')[1]
    assert f'"{name}"' not in LIST.read_text()
    assert f"--target {name}" in PAGE.read_text()
