"""What docs/howto/bring-an-operator.md shows works as it stands there: pasted in order into one folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import perpend

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/howto/bring-an-operator.md"


def test_blocks_in_order(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/operator", tmp_path / "examples/operator")
    (tmp_path / "runtime").symlink_to(ROOT / "runtime")
    (tmp_path / "build").symlink_to(os.environ.get("PERPEND_BUILD", ROOT / "build"))
    environment = {**os.environ, "PYTHONPATH": str(Path(perpend.__file__).parents[1])}
    printed = []
    for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        assert language in ("", "python")
        command = [sys.executable, "-c", text] if language else ["bash", "-e", "-c", text]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, text + done.stderr
        expected = re.findall(r"print\(.*#  *(.*)$", text, re.MULTILINE)
        assert not expected or done.stdout.splitlines() == expected
        printed += expected
    assert len(printed) == 3
    assert (tmp_path / "model.so").exists()
