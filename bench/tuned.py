"""Times models with and without a database of tuning, in turns, and writes JSON and Markdown.

usage: tuned.py DATABASE=MODEL.onnx ... [--dim n=1] [--before OLD_PERPEND] [--budget TEXT] [--threads 1]

Each artifact runs in a process of its own, after the tuner has ended; outputs are compared with ONNX Runtime's.
--before is the `perpend` program of another build, with its Python package, whose own schedules are measured in the
same turns: what rules have learnt since. --dim is for the models that have such a dimension.
"""

import argparse
import datetime
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import models
import numpy as np
import onnx
import turns
import worker

COLUMNS = ("before", "untuned", "tuned")


@dataclass
class Row:
    model: str
    timings: dict[str, turns.Timing]
    records: int
    trials: int

    def gain(self, slow: str, fast: str) -> float | None:
        if slow not in self.timings:
            return None
        return turns.ratio(self.timings[slow], self.timings[fast]).value


def dims_of(model: Path, dims: dict[str, int]) -> dict[str, int]:
    """Those that the model has."""
    inputs = onnx.load(model, load_external_data=False).graph.input
    named = {
        name
        for value in inputs
        for i in range(len(value.type.tensor_type.shape.dim))
        for name in models.names_of(value, i)
    }
    return {name: extent for name, extent in dims.items() if name in named}


def compile_with(program: Path, model: Path, library: Path, how: list[str]) -> None:
    done = subprocess.run([program, "compile", model, "-o", library, *how], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{program}: {done.stderr.strip().splitlines()[0]}")


def measure(model: Path, database: Path, options: argparse.Namespace, folder: Path) -> Row:
    case = models.find_case(model, dims_of(model, options.dims), seed=0)
    np.savez(folder / "inputs.npz", *case.inputs)
    candidates = []
    for name in COLUMNS:
        program = options.before if name == "before" else models.PERPEND
        if program is None:
            continue
        library = folder / f"{model.stem}-{name}.so"
        compile_with(program, model, library, ["--database", str(database)] if name == "tuned" else [])
        command = worker.command("perpend", library, folder / "inputs.npz", options.threads)
        if name == "before":  # artifacts run with the package that they were made with
            command = ["env", f"PYTHONPATH={program.resolve().parents[1] / 'python'}", *command]
        candidates.append(turns.Candidate(name, command))
    timings = turns.measure(
        candidates, deviation=lambda outputs: turns.largest_deviation(outputs, case.reference), turns=options.turns
    )
    for name, timing in timings.items():
        tolerance = models.TOLERANCES["f32"] * (10 if name == "before" else 1)  # it may have had other approximations
        if timing.error or timing.excess > tolerance:
            raise RuntimeError(f"{model.stem}, {name}: {timing.error or f'wrong by {timing.deviation}'}")
    with closing(sqlite3.connect(database)) as records:
        count, trials = records.execute("select count(*), coalesce(sum(trials), 0) from records").fetchone()
    return Row(model.stem, timings, count, trials)


def table(rows: list[Row]) -> list[str]:
    def ms(row: Row, name: str) -> str:
        return f"{row.timings[name].median_s * 1e3:.4g}" if name in row.timings else "—"

    def ratio(value: float | None) -> str:
        return f"{value:.3f}" if value else "—"

    lines = [
        "| model | before | untuned | tuned | untuned / tuned | before / untuned | before / tuned | records |",
        "|---|---|---|---|---|---|---|---|",
    ]
    pairs = (("untuned", "tuned"), ("before", "untuned"), ("before", "tuned"))
    for row in rows:
        cells = [row.model, *(ms(row, name) for name in COLUMNS), *(ratio(row.gain(*pair)) for pair in pairs)]
        lines.append("| " + " | ".join([*cells, str(row.records)]) + " |")
    lines.append("")
    for slow, fast in pairs:
        values = [value for row in rows if (value := row.gain(slow, fast))]
        if values:
            lines.append(
                f"{slow} / {fast}: geometric mean {statistics.geometric_mean(values):.3f}, lowest {min(values):.3f}."
            )
    return lines


def write(rows: list[Row], options: argparse.Namespace) -> None:
    machine: dict[str, Any] = {
        "processor": turns.processor(),
        "threads": options.threads,
        "budget": options.budget,
        "before": options.before_name,
        "command": turns.command_line(),
        "date": datetime.date.today().isoformat(),
    }
    heading = [
        "# Tuned models",
        "",
        f"Written by `{machine['command']}`, {machine['date']}. Processor: {machine['processor']}.",
        f"f32, threads: {options.threads}. Times in ms, median of the medians of {options.turns} turns.",
        f"Each model was tuned alone, {options.budget or 'for ten minutes'}.",
        f"Before: the schedules of {options.before_name or 'no other build'}.",
        "",
    ]
    text = "\n".join([*heading, *table(rows), ""])
    options.out.mkdir(parents=True, exist_ok=True)
    described = [
        {
            "model": row.model,
            "records": row.records,
            "timings": {name: vars(timing) for name, timing in row.timings.items()},
        }
        for row in rows
    ]
    (options.out / "tuned.json").write_text(json.dumps({"machine": machine, "rows": described}, indent=1) + "\n")
    (options.out / "tuned.md").write_text(text)
    print(text)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="DATABASE=MODEL.onnx")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N")
    parser.add_argument("--before", type=Path, help="the perpend program of another build")
    parser.add_argument("--before-name", default="", help="what that is")
    parser.add_argument("--budget", default="", help="what the tuner was given, for the heading")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=turns.TURNS)
    parser.add_argument("--out", type=Path, default=models.ROOT / "build" / "bench", help="for the table")
    options = parser.parse_args()
    options.dims = {name: int(value) for name, value in (text.split("=") for text in options.dim)}
    return options


def main() -> int:
    options = parse_arguments()
    models.require_perpend()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in options.pairs:
            database, model = pair.split("=", 1)
            print(Path(model).stem, file=sys.stderr, flush=True)
            rows.append(measure(Path(model), Path(database), options, Path(folder)))
    write(rows, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
