"""Reads digits on a Cortex-M4: compiles the model of examples/digits, builds a program without an operating system
around it, and runs that in qemu-system-arm. Prints the digits, and the size of the program.

python examples/cortex-m/demo.py [--tool build/bin/perpend] [--pictures 2]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
MODEL = HERE.parent / "digits" / "digits.onnx"
COMPILER = ["arm-none-eabi-gcc", "--specs=picolibc.specs", "-mcpu=cortex-m4", "-mfloat-abi=hard", "-Os", "-Wall"]
EMULATOR = ["qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "none"]
SEMIHOSTING = ["-semihosting-config", "enable=on,target=native"]


def header(pictures: NDArray[np.float32]) -> str:
    numbers = ", ".join(f"{float(number)!r}f" for number in pictures.ravel())
    return f"enum {{ PICTURES = {len(pictures)} }};\nstatic const float pictures[] = {{{numbers}}};\n"


def build(folder: Path, tool: Path, pictures: NDArray[np.float32]) -> Path:
    """Writes the program into the folder."""
    model = folder / "digits.o"
    dims = ["--dim", f"n={len(pictures)}"]
    subprocess.run([tool, "compile", MODEL, "-o", model, "--target", "cortex-m4", *dims], check=True)
    (folder / "pictures.h").write_text(header(pictures))
    program = folder / "digits.elf"
    script = ["-nostartfiles", "-L", HERE, "-T", HERE / "memory.ld", "-Wl,-e,reset,--gc-sections,-z,noexecstack"]
    sources = [HERE / "start.c", HERE / "main.c"]
    command = [*COMPILER, "-I", folder, *script, *sources, model, "-o", program]
    subprocess.run([str(word) for word in command], check=True)
    return program


def sizes(program: Path) -> dict[str, int]:
    """Bytes in flash and in RAM, without the stack."""
    table = subprocess.run(["arm-none-eabi-size", "-A", program], check=True, capture_output=True, text=True).stdout
    of = {name: int(size) for name, size in re.findall(r"^(\.\w+)\s+(\d+)", table, re.MULTILINE)}
    flash = sum(of.get(name, 0) for name in (".vectors", ".text", ".data"))
    return {"flash": flash, "RAM": of.get(".data", 0) + of.get(".bss", 0)}


def run(program: Path) -> str:
    done = subprocess.run([*EMULATOR, *SEMIHOSTING, "-kernel", program], capture_output=True, text=True, timeout=60)
    if done.returncode:
        sys.exit(f"the program ended with status {done.returncode}: {done.stderr}")
    return done.stdout + done.stderr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", type=Path, default=HERE.parents[1] / "build/bin/perpend", help="the command perpend")
    parser.add_argument("--pictures", type=int, default=2, help="how many of the pictures kept from training")
    parsed = parser.parse_args()
    sys.path.insert(0, str(HERE.parent / "digits"))
    from dataset import load

    split = load()
    with TemporaryDirectory() as folder:
        program = build(Path(folder), parsed.tool, split.holdout_images[: parsed.pictures])
        print(run(program), end="")
        print("truth:", *split.holdout_labels[: parsed.pictures])
        print(", ".join(f"{size:,} bytes of {memory}" for memory, size in sizes(program).items()))


if __name__ == "__main__":
    main()
