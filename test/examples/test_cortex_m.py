"""The example of a program for a Cortex-M4: what it prints in the emulator."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from examples.demos import EXAMPLES, load

BUILD = Path(os.environ.get("PERPEND_BUILD", Path(__file__).resolve().parents[2] / "build"))
TOOLS = ("qemu-system-arm", "arm-none-eabi-gcc")
ABSENT = [name for name in TOOLS if not shutil.which(name)]


@pytest.mark.skipif(bool(ABSENT), reason=f"not installed: {', '.join(ABSENT)}")
def test_the_program_reads_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES / "digits"))
    sys.modules.pop("dataset", None)
    from dataset import load as load_digits

    demo, split = load("cortex-m"), load_digits()
    program = demo.build(tmp_path, BUILD / "bin/perpend", split.holdout_images[:6])
    lines = demo.run(program).split("\n")
    assert lines[:-1] == [f"digit {label}" for label in split.holdout_labels[:6]]
    of = demo.sizes(program)
    header = (tmp_path / "digits.h").read_text()
    weights, arena = (int(re.findall(text, header)[0]) for text in (r"Weights: (\d+)", r"ARENA_BYTES_DIGITS (\d+)"))
    assert weights < of["flash"] < weights + 16_000, "code of the model, start-up code and six pictures"
    assert arena < of["RAM"] < arena + 1_000, "the probabilities"
