"""The example of a program for a Cortex-M4: what it prints in the emulator."""

from __future__ import annotations

import os
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
    weights = 100_000  # of the model, as f32
    assert weights < of["flash"] < 2 * weights and 0 < of["RAM"] < 64_000
