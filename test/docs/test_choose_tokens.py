"""What docs/howto/choose-tokens.md shows runs, and the program in C chooses what Python chooses."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from perpend.sampling import Sampler

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/howto/choose-tokens.md"
BUILD = Path(os.environ.get("PERPEND_BUILD", ROOT / "build"))
COMPILER = shutil.which("clang-19") or shutil.which("cc")


def part(language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(text)


def test_python(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(compile(part("python"), str(PAGE), "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip() for line in lines[1:3]] == ["Hello.", "User:"]
    assert lines[3].startswith("Beam(tokens=[1, 1, 1], score=-0.69")
    assert np.isclose(np.asarray(names["probabilities"]).sum(), 1)


def test_every_option_is_explained() -> None:
    options = set(Sampler.__init__.__annotations__) - {"return"}
    rows = " ".join(line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `"))
    assert options == set(re.findall(r"`(\w+)`", rows)) - {"allowed", "choice", "position"}


def test_c(tmp_path: Path) -> None:
    assert COMPILER
    (tmp_path / "main.c").write_text(part("c"))
    (line,) = re.findall(r"^(clang-19 .*)$", PAGE.read_text(), re.MULTILINE)
    command, run = line.split("&&")
    words = [word.replace("build/lib", str(BUILD / "lib")) for word in shlex.split(command)]
    words[0] = COMPILER
    words[words.index("runtime/include")] = str(ROOT / "runtime/include")
    subprocess.run([*words, "-std=c99", "-Wall", "-Wextra", "-Werror"], cwd=tmp_path, check=True, timeout=120)
    done = subprocess.run([tmp_path / run.strip()], capture_output=True, text=True, check=True, timeout=60)
    sampler = Sampler(temperature=0.8, top_p=0.9, repetition_penalty=1.1, seed=7)
    logits = np.array([-2.3, -0.7, -1.4, -1.9], np.float32)
    assert int(done.stdout) == sampler.sample(logits, [2, 1, 1], prompt=1).token
