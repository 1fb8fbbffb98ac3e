"""The kernel's trace in the README is what the command above it prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PERPEND_BUILD", ROOT / "build"))


def test_the_trace_is_real() -> None:
    shown = re.search(
        r"^```\n\$ build/bin/(perpend .*)\n(schedule .*?^})$", (ROOT / "README.md").read_text(), re.M | re.S
    )
    assert shown
    program, *arguments = shlex.split(shown[1])
    done = subprocess.run([BUILD / "bin" / program, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(shown[2]), done.stdout
