"""Times models in an engine of WebAssembly against the library for x86-64-v2, in turns, with one thread each.

usage: webassembly.py [MODEL.onnx ...] [--models FOLDER] [--turns 3] [--out FOLDER] [--threads]

Each model is compiled for x86-64-v2, for wasm32 and for wasm32 with relaxed SIMD: three kinds of vectors of 16 bytes.
Inputs are those of golden/<stem>.json, as in models.py, or random. A time is the least median of some turns; the part
is the library's time by the engine's: of 1, the engine is as fast. With --threads, the module runs with two threads,
too.
The engine is `node`, of which Perpend's runner switches relaxed SIMD on where it is behind an option.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

import models
import numpy as np
import turns

KINDS = {"x86-64-v2": ".so", "wasm32": ".wasm", "wasm32,+relaxed-simd": ".wasm"}
LIBRARY, PLAIN, RELAXED = KINDS
FILL_MS = 400


@dataclass
class Row:
    model: str
    ms: dict[str, float] = field(default_factory=dict)  # least median, by kind
    note: str = ""

    def part(self, kind: str) -> float | None:
        return self.ms[LIBRARY] / self.ms[kind] if LIBRARY in self.ms and kind in self.ms else None


def perpend(*arguments: object) -> str:
    command = [str(models.PERPEND), *(str(argument) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[0].removeprefix("error: "))
    return done.stdout


def median_ms(artifact: Path, inputs: list[Path], threads: str) -> list[float]:
    """Of each number of threads."""
    report = artifact.with_suffix(".json")
    given = [part for path in inputs for part in ("--input", path)]
    perpend("bench", artifact, *given, "--time", FILL_MS, "--threads", threads, "--json", report)
    return [row["median_ms"] for row in json.loads(report.read_text())["rows"]]


def measure(model: Path, options: argparse.Namespace) -> Row:
    row = Row(model.stem)
    with tempfile.TemporaryDirectory() as folder:
        try:
            case = models.find_case(model, {}, seed=0)
            inputs = [Path(folder) / f"input{i}.npy" for i in range(len(case.inputs))]
            for path, array in zip(inputs, case.inputs, strict=True):
                np.save(path, array)
            artifacts = {}
            for number, (kind, ending) in enumerate(KINDS.items()):
                (place := Path(folder) / str(number)).mkdir()
                artifacts[kind] = place / f"m{ending}"
                perpend("compile", model, "-o", artifacts[kind], "--target", kind)
            for _ in range(options.turns):
                for kind, artifact in artifacts.items():
                    counts = "1,2" if options.threads and kind != LIBRARY else "1"
                    names = [kind, f"{kind}, two threads"]
                    for name, ms in zip(names, median_ms(artifact, inputs, counts), strict=False):
                        row.ms[name] = min(ms, row.ms.get(name, math.inf))
        except Exception as error:
            row.note = str(error).splitlines()[0]
    return row


def mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def cell(part: float | None) -> str:
    return "—" if part is None else f"{part:.2f}"


def markdown(rows: list[Row], engine: str, options: argparse.Namespace) -> str:
    measured = sorted((row for row in rows if row.part(PLAIN)), key=lambda row: -(row.part(PLAIN) or 0))
    kinds = [kind for kind in measured[0].ms if kind != LIBRARY] if measured else []
    lines = [
        "# Models in an engine of WebAssembly",
        "",
        f"Written by `bench/webassembly.py {turns.command_line().partition(' ')[2]}`.",
        f"Processor: {turns.processor()}. Engine: Node.js {engine}.",
        f"One thread unless a column says two. x86-64-v2: ms, the least median of {options.turns} turns; then the part",
        "of its speed.",
        "",
        "| model | x86-64-v2 | " + " | ".join(kinds) + " |",
        "|---" * (len(kinds) + 2) + "|",
    ]
    lines += [
        f"| {row.model} | {row.ms[LIBRARY]:.4g} | {' | '.join(cell(row.part(k)) for k in kinds)} |" for row in measured
    ]
    means = [cell(mean([part for row in measured if (part := row.part(kind))])) for kind in kinds]
    lines += [f"| geometric mean of {len(measured)} | | {' | '.join(means)} |", ""]
    lines += [f"{row.model}: {row.note}." for row in rows if row.note]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="*", type=Path)
    parser.add_argument("--models", type=Path, help="a folder with models in it")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", action="store_true", help="measure the module with two threads, too")
    parser.add_argument("--out", type=Path, help="a folder for webassembly.json and webassembly.md")
    options = parser.parse_args()
    models.require_perpend()
    chosen = [*options.model, *(sorted(options.models.rglob("*.onnx")) if options.models else [])]
    engine = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    rows = []
    for model in chosen:
        rows.append(measure(model, options))
        print(rows[-1].model, {kind: round(ms, 4) for kind, ms in rows[-1].ms.items()}, rows[-1].note, file=sys.stderr)
        if options.out:
            facts = {"processor": turns.processor(), "engine": engine, "rows": [asdict(row) for row in rows]}
            (options.out / "webassembly.json").write_text(json.dumps(facts, indent=1) + "\n")
            (options.out / "webassembly.md").write_text(markdown(rows, engine, options))
    if not options.out:
        print(markdown(rows, engine, options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
