"""Compares `perpend tune` with MetaSchedule of Apache TVM on six kernels, and writes JSON and Markdown.

usage: metaschedule.py --tvm-python PYTHON --tune-tvm FOLDER [--only TEXT]
       metaschedule.py --tvm-python PYTHON --tvm FOLDER [--only TEXT] [--core N] [--out FOLDER] [--name metaschedule]

The first form tunes with MetaSchedule, 1,000 trials a kernel, some twenty minutes each, and keeps what was found in
FOLDER; PYTHON is one that has TVM (metaschedule_worker.py says what else). The second tunes the same kernels with
Perpend, anew, and then times TVM's best kernel, the compiler's own and the tuned one side by side, in turns.

One thread, f32. Activations have channels last on both sides: Perpend's models of convolutions are Transpose, Conv,
Transpose, which leaves a convolution. Weights are constants for Perpend, and arguments in their plain layout for TVM.
Every output is checked against ONNX Runtime's. Side by side, each call is one from Python that makes a new array for
the output, on both sides.

Times that a tuner tells while it runs are of its own clock and its own way to measure; only the ratios are measured
side by side. When Perpend had TVM's kernel is when its best so far, in the proportion that the tuner tells, was no
slower than TVM's last one. The goal: the kernel that MetaSchedule has after 1,000 trials in at most 100 trials and
in a tenth of its seconds.
"""

import argparse
import datetime
import html
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import kernels
import models
import numpy as np
import onnx
import onnxruntime
import turns
import worker
from onnx import TensorProto, helper, numpy_helper

WORKER = Path(__file__).with_name("metaschedule_worker.py")
THEIR_POINTS = (64, 256, 1000)  # trials of theirs, and of ours, that the table has
OUR_POINTS = (16, 32, 64, 100)
TRIALS_GOAL = OUR_POINTS[-1]
TIME_GOAL = 0.1  # of MetaSchedule's seconds
TOLERANCE = kernels.TOLERANCES["f32"]


@dataclass
class Problem:
    """One kernel, as a model and as TVM gets it."""

    name: str  # as in metaschedule_worker.py
    model: onnx.ModelProto
    inputs: turns.Arrays
    arguments: turns.Arrays  # TVM's: the inputs, and the weights


@dataclass
class Point:
    """How far a tuner is."""

    trials: int
    seconds: float
    best_s: float | None  # of a call, as the tuner measures it


@dataclass
class Row:
    problem: Problem
    theirs: list[Point]
    ours: list[Point]  # the first one is the compiler's own schedule
    tuning_s: float  # of the whole program, from start to end
    tuning_processor_s: float
    their_trials: int  # of the kernel that is timed; 0: there is none
    their_processor_s: float | None
    timings: dict[str, turns.Timing]


# Models


def product(m: int, k: int, n: int) -> Problem:
    kernel = kernels.operator_kernel("", "", "f32", "MatMul", [m, k], [k, n], [m, n], 0.0, 1, {})
    weights = numpy_helper.to_array(kernel.model.graph.initializer[0])
    return Problem(f"product-{m}x{k}x{n}", kernel.model, kernel.inputs, [*kernel.inputs, weights])


def convolution(size: int, c: int, o: int, is_depthwise: bool = False) -> Problem:
    """3x3, from channels last to channels last."""
    groups = c if is_depthwise else 1
    weights = kernels.random_numbers([o, c // groups, 3, 3]) / np.float32(np.sqrt(9 * c / groups))
    nodes = [
        helper.make_node("Transpose", ["x"], ["planes"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["planes", "w"], ["sums"], pads=[1] * 4, group=groups, kernel_shape=[3, 3]),
        helper.make_node("Transpose", ["sums"], ["y"], perm=[0, 2, 3, 1]),
    ]
    ends = [kernels.tensor(name, TensorProto.FLOAT, [1, size, size, n]) for name, n in (("x", c), ("y", o))]
    model = kernels.make_model(nodes, ends[:1], ends[1], {"w": weights})
    x = kernels.random_numbers([1, size, size, c])
    plain = weights.transpose(2, 3, 1, 0)
    if is_depthwise:
        return Problem(f"depthwise-{size}x{size}x{c}", model, [x], [x, np.ascontiguousarray(plain[:, :, 0])])
    return Problem(f"convolution-{size}x{size}x{c}", model, [x], [x, np.ascontiguousarray(plain)])


def softmax(rows: int, columns: int) -> Problem:
    node = helper.make_node("Softmax", ["x"], ["y"], axis=-1)
    ends = [kernels.tensor(name, TensorProto.FLOAT, [rows, columns]) for name in "xy"]
    x = kernels.random_numbers([rows, columns])
    return Problem(f"softmax-{rows}x{columns}", kernels.make_model([node], ends[:1], ends[1], {}), [x], [x])


def problems() -> list[Problem]:
    return [
        product(128, 768, 768),
        product(512, 512, 512),
        convolution(56, 64, 64),
        convolution(14, 256, 256),
        convolution(112, 32, 32, is_depthwise=True),
        softmax(512, 1024),
    ]


# What tuners tell

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
KERNEL = re.compile(r"<h2>(?P<kernel>[^<]*)</h2>(?P<chart>\s*<svg.*?</svg>)", re.DOTALL)
EVENT = re.compile(
    r'fill="(?P<colour>#\w+)"><title>(?P<when>[\d.]+) s: (?P<outcome>[a-z ]+)(?:, (?P<time>[\d.]+) (?P<unit>[num]?s))?'
    r"(?P<rest>[^<]*)</title>"
)
BEST = "#080"  # colour of a candidate that is the best so far
OWN = "the compiler's own trace"


def points_of_page(page: str) -> list[Point]:
    """The best so far before and after each trial, all kernels of the model together, from a page of `perpend tune`."""
    events = [
        (float(event["when"]), chart["kernel"], event)
        for chart in KERNEL.finditer(page)
        for event in EVENT.finditer(chart["chart"])
    ]
    events.sort(key=lambda event: event[0])
    of_kernels = {kernel for _, kernel, _ in events}
    best: dict[str, float] = {}
    points: list[Point] = []
    trials = 0
    for when, kernel, event in events:
        is_own = OWN in html.unescape(event["rest"])
        trials += not is_own
        if event["time"] and event["colour"] == BEST:
            best[kernel] = float(event["time"]) * UNITS[event["unit"]]
        total = sum(best.values()) if len(best) == len(of_kernels) else None
        if points and points[-1].trials == trials:
            points[-1] = Point(trials, when, total)
        else:
            points.append(Point(trials, when, total))
    return points


def their_points(folder: Path, name: str) -> list[Point]:
    path = folder / f"{name}.json"
    rows = json.loads(path.read_text()) if path.exists() else []
    return [Point(int(row["trials"]), row["seconds"], row["best"]) for row in rows]


def processor_s(folder: Path, name: str) -> float | None:
    path = folder / f"{name}.json"
    value = json.loads(path.read_text())[-1].get("processor_seconds") if path.exists() else None
    return float(value) if value is not None else None


def at(points: list[Point], trials: int) -> Point | None:
    return next((point for point in points if point.trials == trials), None)


# Measuring


def children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tune(model: Path, database: Path, options: argparse.Namespace) -> tuple[list[Point], float, float]:
    """What the tuner tells, and the seconds and the processor's seconds of the program."""
    page = database.with_suffix(".html")
    command = [
        models.PERPEND, "tune", model, "-o", database, "--html", page, "--trials", str(options.trials),
        "--budget", options.budget, "--threads", "1", "--seed", str(options.seed),
    ]  # fmt: skip
    start, start_processor = time.perf_counter(), children_s()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds, processor = time.perf_counter() - start, children_s() - start_processor
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise RuntimeError(f"perpend tune: {lines[-1]}")
    if not (points := points_of_page(page.read_text())):
        raise RuntimeError("perpend tune: no trial on its page")
    return points, seconds, processor


def measure(problem: Problem, options: argparse.Namespace) -> Row:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "kernel.onnx"
        onnx.save(problem.model, model)
        np.savez(folder / "inputs.npz", *problem.inputs)
        np.savez(folder / "arguments.npz", *problem.arguments)
        session = onnxruntime.InferenceSession(problem.model.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_inputs()]
        reference = session.run(None, dict(zip(names, problem.inputs, strict=True)))
        ours, seconds, processor = tune(model, folder / "kernel.db", options)
        models.compile_model(model, folder / "untuned.so")
        models.compile_model(model, folder / "tuned.so", ["--database", str(folder / "kernel.db")])
        candidates = [
            turns.Candidate(kind, worker.command("perpend", folder / f"{kind}.so", folder / "inputs.npz", 1))
            for kind in ("untuned", "tuned")
        ]
        theirs = their_points(options.tvm, problem.name)
        there = [point for point in THEIR_POINTS if (options.tvm / f"{problem.name}-{point}.so").exists()]
        if there:
            command = [options.tvm_python, WORKER, "time", options.tvm, problem.name, there[-1]]
            command += [folder / "arguments.npz"]
            candidates.append(turns.Candidate("tvm", [str(word) for word in command]))
        timings = turns.measure(
            candidates,
            deviation=lambda outputs: turns.largest_deviation(outputs, reference),
            turns=options.turns,
            fill_s=options.fill,
        )
        return Row(
            problem, theirs, ours, seconds, processor, there[-1] if there else 0,
            processor_s(options.tvm, problem.name), timings,
        )  # fmt: skip


# Tables


def is_right(row: Row, name: str) -> bool:
    timing = row.timings.get(name)
    return bool(timing and not timing.error and timing.excess <= TOLERANCE)


def ratio(row: Row, name: str) -> turns.Ratio | None:
    """TVM's time over ours."""
    if not is_right(row, "tvm") or not is_right(row, name):
        return None
    return turns.ratio(row.timings["tvm"], row.timings[name])


def arrival(row: Row) -> Point | None:
    """When ours was no slower than TVM's last kernel, by the times side by side; none: never, or not known."""
    found = ratio(row, "tuned")
    last = row.ours[-1].best_s
    if found is None or last is None:
        return None
    return next((p for p in row.ours if p.best_s is not None and p.best_s <= last * found.value), None)


def is_reached(row: Row) -> bool | None:
    """The goal; none where there is no kernel of TVM after all its trials."""
    theirs = at(row.theirs, THEIR_POINTS[-1])
    if theirs is None or row.their_trials != THEIR_POINTS[-1] or ratio(row, "tuned") is None:
        return None
    ours = arrival(row)
    return ours is not None and ours.trials <= TRIALS_GOAL and ours.seconds <= TIME_GOAL * theirs.seconds


def seconds_text(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def point_cell(point: Point | None) -> str:
    if point is None or point.best_s is None:
        return "—"
    return f"{point.best_s * 1e3:.4g} ms, {seconds_text(point.seconds)}"


def ratio_cell(row: Row, name: str) -> str:
    for kind in ("tvm", name):
        timing = row.timings.get(kind)
        if timing and not is_right(row, kind):
            return f"{kind} fails" if timing.error else f"{kind} wrong: {timing.deviation:.0e}"
    found = ratio(row, name)
    if found is None:
        return "—"
    return str(found) + f" after {row.their_trials}" * (row.their_trials != THEIR_POINTS[-1])


def time_cell(row: Row, name: str) -> str:
    return f"{row.timings[name].median_s * 1e3:.4g}" if is_right(row, name) else "—"


def table(rows: list[Row]) -> list[str]:
    lines = [
        "## What the tuners tell",
        "",
        "| kernel | " + " | ".join(f"TVM after {n}" for n in THEIR_POINTS) + " | ours untuned | "
        + " | ".join(f"ours after {n}" for n in OUR_POINTS) + " | processor, TVM | processor, ours |",
        "|---|" + "---|" * (len(THEIR_POINTS) + 1 + len(OUR_POINTS) + 2),
    ]  # fmt: skip
    for row in rows:
        cells = [row.problem.name, *(point_cell(at(row.theirs, n)) for n in THEIR_POINTS), point_cell(row.ours[0])]
        cells += [point_cell(at(row.ours, n)) for n in OUR_POINTS]
        cells.append(seconds_text(row.their_processor_s) if row.their_processor_s is not None else "—")
        lines.append("| " + " | ".join([*cells, seconds_text(row.tuning_processor_s)]) + " |")
    lines += [
        "",
        "## Side by side",
        "",
        "| kernel | TVM | ours untuned | ours tuned | TVM / untuned | TVM / tuned | as fast as TVM after | goal |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        point, goal = arrival(row), is_reached(row)
        cells = [row.problem.name, *(time_cell(row, name) for name in ("tvm", "untuned", "tuned"))]
        cells += [ratio_cell(row, name) for name in ("untuned", "tuned")]
        cells.append(f"{point.trials} trials, {seconds_text(point.seconds)}" if point else "—")
        cells.append({True: "reached", False: "missed", None: "—"}[goal])
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    return lines


def describe(row: Row) -> dict[str, Any]:
    return {
        "kernel": row.problem.name,
        "tvm": [asdict(point) for point in row.theirs],
        "tvm_processor_s": row.their_processor_s,
        "tvm_timed_after": row.their_trials,
        "perpend": [asdict(point) for point in row.ours],
        "perpend_tuning_s": row.tuning_s,
        "perpend_tuning_processor_s": row.tuning_processor_s,
        "reached": is_reached(row),
        "timings": {name: vars(timing) for name, timing in row.timings.items()},
    }


def tvm_version(python: Path) -> str:
    code = "import importlib.metadata as m; print(m.version('apache-tvm'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def perpend_version() -> str:
    return (
        subprocess.run([models.PERPEND, "--version"], capture_output=True, text=True, check=True)
        .stdout.split(maxsplit=1)[1]
        .strip()
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tvm-python", type=Path, required=True, metavar="PYTHON", help="a Python that has TVM")
    forms = parser.add_mutually_exclusive_group(required=True)
    forms.add_argument("--tune-tvm", type=Path, metavar="FOLDER", help="tune with MetaSchedule, into FOLDER")
    forms.add_argument("--tvm", type=Path, metavar="FOLDER", help="compare with what --tune-tvm left in FOLDER")
    parser.add_argument("--trials", type=int, default=TRIALS_GOAL, help="of Perpend")
    parser.add_argument("--budget", default="10m", help="of Perpend, for each kernel (default: 10m)")
    parser.add_argument("--seed", type=int, default=1, help="of both tuners")
    parser.add_argument("--core", type=int, help="run everything on this core alone (default: on all)")
    parser.add_argument("--turns", type=int, default=turns.TURNS, help="of each kernel")
    parser.add_argument("--fill", type=float, default=turns.FILL_S, metavar="SECONDS", help="of one turn")
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels whose name has TEXT")
    parser.add_argument("--out", type=Path, default=models.ROOT / "build" / "bench", help="for the results")
    parser.add_argument("--name", default="metaschedule", help="of the results: NAME.json and NAME.md")
    return parser.parse_args()


def tune_theirs(options: argparse.Namespace, names: list[str]) -> int:
    command = [options.tvm_python, WORKER, "tune", options.tune_tvm, "--seed", options.seed, "--kernels"]
    return subprocess.run([str(word) for word in [*command, ",".join(names)]]).returncode


def main() -> int:
    options = parse_arguments()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    wanted = [problem for problem in problems() if options.only in problem.name]
    if not wanted:
        sys.exit(f"error: no kernel's name has '{options.only}'")
    if options.tune_tvm:
        return tune_theirs(options, [problem.name for problem in wanted])
    models.require_perpend()
    rows: list[Row] = []
    for number, problem in enumerate(wanted, 1):
        print(f"[{number}/{len(wanted)}] {problem.name}", file=sys.stderr, flush=True)
        try:
            rows.append(measure(problem, options))
            for kind, timing in rows[-1].timings.items():
                if timing.error:
                    print(f"  {kind}: {timing.error}", file=sys.stderr)
        except RuntimeError as error:
            print(f"  {error}", file=sys.stderr)
    versions = {"perpend": perpend_version(), "apache-tvm": tvm_version(options.tvm_python)}
    machine = {
        "processor": turns.processor(),
        "versions": versions,
        "command": turns.command_line(),
        "date": datetime.date.today().isoformat(),
    }
    text = "\n".join(
        [
            "# Perpend's tuner and MetaSchedule",
            "",
            f"Written by `{machine['command']}`, {machine['date']}.",
            f"Processor: {machine['processor']}. Versions: {', '.join(f'{n} {v}' for n, v in versions.items())}.",
            "One thread, f32. First: the best time so far, and the seconds that tuning took until then, by each "
            "tuner's own clock.",
            "Processor: its seconds that all of tuning took, which do not grow where other programs run, too.",
            f"Then: times in ms, median of the medians of {options.turns} turns of {options.fill:g} s each, all three "
            "side by side.",
            f"The goal: the kernel that MetaSchedule has after {THEIR_POINTS[-1]} trials, in at most {TRIALS_GOAL} "
            f"trials and {TIME_GOAL:g} of its seconds.",
            "",
            *table(rows),
        ]
    )
    options.out.mkdir(parents=True, exist_ok=True)
    result = {"machine": machine, "rows": [describe(row) for row in rows]}
    (options.out / f"{options.name}.json").write_text(json.dumps(result, indent=1) + "\n")
    (options.out / f"{options.name}.md").write_text(text)
    print(text)
    return 0 if len(rows) == len(wanted) and all(is_right(row, "tuned") for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
