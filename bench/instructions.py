"""Counts the instructions of one run of each model on processors that an emulator executes; writes a Markdown table.

usage: instructions.py MODEL.onnx ... [--models FOLDER] [--targets cortex-a76,rv64gcv,cortex-m4] [--out FILE.md]
                       [--tool COMMAND] [--limit SECONDS]

An instruction is no time: what a count says is how much work is left after vectors, and where a change adds some. The
emulator (qemu-user or qemu-system-arm, not the static builds, which take no plugins) loads instructions.c. A run's
count is the difference of programs that run the model twice and once. Inputs are those of golden/<stem>.json beside
the model, or zeros of its signature; outputs are compared with those of golden/.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
PERPEND = ROOT / "build/bin/perpend"
BOARD = ROOT / "examples/cortex-m"
MOST_SECONDS = 120  # of a run, unless --limit says otherwise
TOLERANCE = 1e-2  # of outputs, of the largest one: where values are bytes, engines round apart
#: By the beginning of a target's name: emulator, its options, and the folder of its C library.
EMULATORS = {
    "cortex-a": ["qemu-aarch64", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu"],
    "neoverse-v1": ["qemu-aarch64", "-cpu", "max,sve-default-vector-length=32", "-L", "/usr/aarch64-linux-gnu"],
    "neoverse": ["qemu-aarch64", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu"],
    "aarch64": ["qemu-aarch64", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu"],
    "rv64gcv_zvl256b": ["qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0,vlen=256", "-L", "/usr/riscv64-linux-gnu"],
    "rv64gcv": ["qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0,vlen=128", "-L", "/usr/riscv64-linux-gnu"],
    "riscv64": ["qemu-riscv64", "-cpu", "rv64", "-L", "/usr/riscv64-linux-gnu"],
    "cortex-m4": ["qemu-system-arm", "-M", "mps2-an386"],
}
BARE = ["-display", "none", "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native"]


most_seconds = MOST_SECONDS


class Failed(Exception):
    """Why there is no count: a few words."""


def call(command: list[str | Path], what: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=most_seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"over {most_seconds} s") from None
    if done.returncode:
        print(f"{what}: status {done.returncode}: {done.stderr[-400:].strip()}", file=sys.stderr)
        raise Failed("refused" if what == "compiling" else f"{what} failed")
    return done.stdout + done.stderr


def emulator_of(target: str) -> list[str]:
    return next(words for start, words in EMULATORS.items() if target.startswith(start))


def is_bare(target: str) -> bool:
    return target.startswith("cortex-m")


def counted(command: list[str | Path], plugin: Path, options: list[str | Path]) -> int:
    text = call([*command, "-plugin", plugin, *options], "running")
    return int(re.findall(r"^instructions: (\d+)$", text, re.MULTILINE)[-1])


def golden(model: Path) -> dict[str, list[Path]]:
    description = model.parent / "golden" / f"{model.stem}.json"
    if not description.exists():
        return {"inputs": [], "outputs": []}
    facts = json.loads(description.read_text())
    return {kind: [description.parent / value["file"] for value in facts[kind]] for kind in ("inputs", "outputs")}


def compare(found: list[NDArray[np.generic]], expected: list[Path]) -> None:
    for array, path in zip(found, expected, strict=False):
        truth = np.load(path)
        if truth.dtype.kind != "f":
            continue
        scale = float(np.max(np.abs(truth), initial=1e-6))
        if float(np.max(np.abs(array.reshape(truth.shape) - truth), initial=0)) > TOLERANCE * scale:
            raise Failed("wrong")


def count_program(model: Path, target: str, plugin: Path, folder: Path, tool: Path) -> int:
    """A program for a system, which runs the model as often as it is told."""
    program = folder / "model"
    call([tool, "compile", model, "--exe", "-o", program, "--target", target], "compiling")
    files = golden(model)
    inputs: list[str | Path] = [word for path in files["inputs"] for word in ("--input", path)]
    outputs = folder / "outputs"
    outputs.mkdir()
    options = [program, *inputs, "--threads", "1", "--output-dir", outputs]
    emulator: list[str | Path] = list(emulator_of(target))
    once = counted(emulator, plugin, [*options, "--repeat", "1"])
    written = sorted(outputs.glob("*.npy"), key=lambda path: path.stat().st_mtime_ns)
    if len(files["outputs"]) == 1:
        compare([np.load(path) for path in written], files["outputs"])
    return counted(emulator, plugin, [*options, "--repeat", "2"]) - once


MAIN = """#include "board.h"
#include "model.h"
#include "inputs.h"
int main(void) {{
  int32_t status = 0;
  for (int run = 0; run < RUNS && !status; ++run)
    status = perpend_run_model({arguments});
  return status;
}}
"""


def count_image(model: Path, target: str, plugin: Path, folder: Path, tool: Path) -> int:
    """An image for a board, which runs the model as often as it is compiled for."""
    call([tool, "compile", model, "-o", folder / "model.o", "--target", target], "compiling")
    header = (folder / "model.h").read_text()
    parameters = re.findall(r"perpend_run_model\((.*)\);", header)[0].split(", ")
    texts, names = [], []
    for number, parameter in enumerate(parameters):
        kind, name, count = re.findall(r"^(?:const )?(\w+) \*?(\w+)\[(\d+)\]$", parameter)[0]
        files = golden(model)["inputs"]
        content = ""
        if name.startswith("in_") and number < len(files):
            content = " = {" + ", ".join(f"{value!r}" for value in np.load(files[number]).ravel().tolist()) + "}"
        texts.append(f"static {kind} {name}[{count}]{content};\n")
        names.append(name)
    (folder / "inputs.h").write_text("".join(texts))
    (folder / "main.c").write_text(MAIN.format(arguments=", ".join(names)))
    counts = []
    for runs in (1, 2):
        image = folder / f"image{runs}"
        compiler = ["arm-none-eabi-gcc", "--specs=picolibc.specs", f"-mcpu={target}", "-mfloat-abi=hard", "-Os"]
        script: list[str | Path] = [
            "-nostartfiles",
            "-L",
            BOARD,
            "-T",
            BOARD / "memory.ld",
            "-Wl,-e,reset,--gc-sections,-z,noexecstack",
        ]
        sources: list[str | Path] = [
            "-I",
            folder,
            "-I",
            BOARD,
            BOARD / "start.c",
            folder / "main.c",
            folder / "model.o",
        ]
        call([*compiler, f"-DRUNS={runs}", *script, *sources, "-o", image], "linking")
        counts.append(counted([*emulator_of(target), *BARE], plugin, ["-kernel", image]))
    return counts[1] - counts[0]


def count(model: Path, target: str, plugin: Path, tool: Path) -> str:
    with TemporaryDirectory() as folder:
        try:
            measure = count_image if is_bare(target) else count_program
            return f"{measure(model, target, plugin, Path(folder), tool) / 1e6:,.2f}"
        except Failed as problem:
            return str(problem)


def build_plugin(folder: Path) -> Path:
    plugin = folder / "instructions.so"
    call(["cc", "-O2", "-fPIC", "-shared", ROOT / "bench/instructions.c", "-o", plugin], "building the plugin")
    return plugin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="*", type=Path, help="ONNX files")
    parser.add_argument("--models", type=Path, help="a folder with more of them, below it")
    parser.add_argument("--targets", default="cortex-a76,rv64gcv,cortex-m4", help="separated by commas")
    parser.add_argument("--out", type=Path, help="where the table goes (default: printed only)")
    parser.add_argument("--tool", type=Path, default=PERPEND, help="the command perpend")
    parser.add_argument("--limit", type=int, default=MOST_SECONDS, help="seconds for a run")
    parsed = parser.parse_args()
    global most_seconds
    most_seconds = parsed.limit
    models = parsed.model + (sorted(parsed.models.glob("*/*.onnx")) if parsed.models else [])
    targets = parsed.targets.split(",")
    if not models:
        sys.exit("error: no model\nhint: name an ONNX file, or a folder with --models")
    lines = ["| model | " + " | ".join(targets) + " |", "| --- |" + " --- |" * len(targets)]
    with TemporaryDirectory() as folder:
        plugin = build_plugin(Path(folder))
        print(*lines, sep="\n", flush=True)
        for model in models:
            cells = [count(model, target, plugin, parsed.tool) for target in targets]
            lines.append(f"| {model.stem} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    if parsed.out:
        parsed.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
