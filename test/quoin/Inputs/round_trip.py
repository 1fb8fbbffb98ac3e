"""Assembles each program of a folder, disassembles it, assembles that, and expects the same file, which is verified."""

import subprocess
import sys
from pathlib import Path

sources, scratch = Path(sys.argv[1]), Path(sys.argv[2])
programs = sorted(sources.glob("*.s"))
assert len(programs) >= 8
for program in programs:
    first, text, second = (scratch / (program.stem + suffix) for suffix in (".qn", ".again.s", ".again.qn"))
    subprocess.run(["quoin-as", program, f"--output={first}"], check=True)
    text.write_text(subprocess.run(["quoin-dis", first], check=True, capture_output=True, text=True).stdout)
    subprocess.run(["quoin-as", text, f"--output={second}"], check=True)
    assert first.read_bytes() == second.read_bytes(), program
    subprocess.run(["quoin-verify", first], check=True)
