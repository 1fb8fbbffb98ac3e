"""Times compiled models against peers in turns, checks every output, and writes JSON and a Markdown table.

usage: models.py [MODEL.onnx ...] [--models FOLDER] [--peers onnxruntime,openvino] [--threads 1,2] [--dim n=64]
                 [--precision bf16|f16|int8] [--processor-time]

A model with a description golden/<stem>.json beside it runs on those inputs and is checked against those outputs. Any
other runs on random inputs of its signature (symbolic dimensions are 2 unless --dim says otherwise) and is checked
against ONNX Runtime, which computes in f32 at every --precision. --dim takes the names of dimensions as `perpend
inspect` shows them, or INPUT:DIMENSION. The peers torch and inductor know the models of architectures.py and
selections.py. --processor-time is for a machine that others use: the time that an engine keeps its one thread busy.
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

try:
    import numpy as np
    import onnx
    import onnxruntime
    import turns
    import worker
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
except ImportError as problem:
    sys.exit(
        f"error: Python at {sys.executable} cannot import {problem.name}: {problem}\n"
        "hint: ./dev setup makes one that can, or set PERPEND_PYTHON to one"
    )

ROOT = Path(__file__).resolve().parents[1]
PERPEND = ROOT / "build" / "bin" / "perpend"


DEFAULT_EXTENT = 2  # of a dimension without a value, as in `perpend run`
TOLERANCES = {"f32": 1e-4, "f16": 0.004, "bf16": 0.03, "int8": 0.13}  # by precision, as in `perpend check`
BETWEEN_BYTES = 0.25  # of models that quantise values: where engines round apart by a step, all behind it is others


@dataclass
class Case:
    """One model with its inputs and the outputs to expect."""

    model: Path
    inputs: turns.Arrays
    reference: turns.Arrays
    oracle: str  # where the reference is from


@dataclass
class Row:
    """What is known of one model at one number of threads."""

    model: str
    threads: int
    oracle: str
    compile_s: float = 0.0
    library_bytes: int = 0
    timings: dict[str, turns.Timing] = field(default_factory=dict)
    error: str | None = None
    shapes: str = ""  # of the inputs
    tolerance: float = 0.0  # the largest deviation that counts as right


def golden_case(model: Path, description: Path) -> Case:
    facts = json.loads(description.read_text())

    def arrays(kind: str) -> turns.Arrays:
        return [np.load(description.parent / value["file"]) for value in facts[kind]]

    return Case(model, arrays("inputs"), arrays("outputs"), facts.get("runtime", "golden"))


def names_of(value: Any, position: int) -> list[str]:
    """What --dim may call a dimension of an input."""
    dimension = value.type.tensor_type.shape.dim[position]
    from perpend._perpend import symbol_of_dimension

    symbol = symbol_of_dimension(value.name, position, dimension.dim_param)
    is_unnamed = symbol == symbol_of_dimension(value.name, position)
    return [f"{value.name}:{position}", symbol, *([] if is_unnamed else [dimension.dim_param])]


def extent_of(value: Any, position: int, dims: Mapping[str, int]) -> int:
    dimension = value.type.tensor_type.shape.dim[position]
    first, *others = names_of(value, position)
    if first in dims or dimension.HasField("dim_value"):
        return dims.get(first, dimension.dim_value)
    return next((dims[name] for name in others if name in dims), DEFAULT_EXTENT)


def random_input(value: Any, dims: Mapping[str, int], generator: np.random.Generator) -> Any:
    tensor = value.type.tensor_type
    shape = [extent_of(value, position, dims) for position in range(len(tensor.shape.dim))]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if np.issubdtype(dtype, np.integer) or dtype == np.bool_:
        return generator.integers(0, 2, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


def check_names(dims: Mapping[str, int], inputs: Sequence[Any]) -> None:
    """Errors: a name of --dim that no dimension has."""
    every = [names_of(value, i) for value in inputs for i in range(len(value.type.tensor_type.shape.dim))]
    if wrong := [name for name in dims if not any(name in names for names in every)]:
        known = ", ".join(dict.fromkeys(names[1] for names in every)) or "none"
        raise ValueError(f"no dimension has the name '{wrong[0]}'; the names are {known}")


def random_case(model: Path, dims: dict[str, int], seed: int) -> Case:
    try:
        graph = onnx.load(model, load_external_data=False).graph
    except DecodeError:
        sys.exit(f"error: '{model}': no ONNX model\nhint: is it text, or cut off?")
    weights = {weight.name for weight in graph.initializer}
    generator = np.random.default_rng(seed)
    free = [value for value in graph.input if value.name not in weights]
    check_names(dims, free)
    inputs = [random_input(value, dims, generator) for value in free]
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    feed = {value.name: array for value, array in zip(session.get_inputs(), inputs, strict=True)}
    return Case(model, inputs, session.run(None, feed), f"onnxruntime {onnxruntime.__version__}")


def find_case(model: Path, dims: dict[str, int], seed: int) -> Case:
    """golden/MODEL.json beside the model says which inputs and outputs; where sizes are asked for, they are random."""
    description = model.parent / "golden" / f"{model.stem}.json"
    return golden_case(model, description) if description.exists() and not dims else random_case(model, dims, seed)


def compile_model(model: Path, library: Path, options: Sequence[str] = ()) -> float:
    """Seconds that it took."""
    start = time.perf_counter()
    done = subprocess.run([PERPEND, "compile", model, "-o", library, *options], capture_output=True, text=True)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise RuntimeError(f"perpend compile: {lines[0]}")
    return time.perf_counter() - start


def measure(case: Case, library: Path | None, options: argparse.Namespace, threads: int) -> dict[str, turns.Timing]:
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs.npz"
        np.savez(inputs, *case.inputs)
        engines = ([("perpend", library)] if library else []) + [(peer, case.model) for peer in options.peers]
        return turns.measure(
            [
                turns.Candidate(name, worker.command(name, path, inputs, threads, options.precision))
                for name, path in engines
            ],
            deviation=lambda outputs: turns.largest_deviation(outputs, case.reference),
            progress=lambda text: turns.print_progress(f"{case.model.stem}, threads {threads}: {text}" if text else ""),
        )


def run_model(model: Path, options: argparse.Namespace) -> list[Row]:
    rows = [Row(model.stem, threads, "") for threads in options.threads]
    with tempfile.TemporaryDirectory() as folder:
        library: Path | None = Path(folder) / f"{model.stem}.so"
        try:
            case = find_case(model, options.dim, options.seed)
        except Exception as error:
            for row in rows:
                row.error = f"{type(error).__name__}: {error}".splitlines()[0]
            return rows
        try:
            arguments = ["--precision", options.precision, *options.compile_option]
            seconds = compile_model(model, Path(folder) / f"{model.stem}.so", arguments)
        except (RuntimeError, OSError) as error:
            library, seconds = None, 0.0
            for row in rows:
                row.error = str(error)
        for row in rows:
            row.oracle = case.oracle
            row.tolerance = tolerance_of(model, options)
            row.shapes = " ".join("x".join(map(str, array.shape)) or "scalar" for array in case.inputs)
            row.compile_s = seconds
            row.library_bytes = library.stat().st_size if library else 0
            row.timings = measure(case, library, options, row.threads)
    return rows


def tolerance_of(model: Path, options: argparse.Namespace) -> float:
    """What is asked for; else by precision, by types of outputs, and by whether values become bytes on the way."""
    if options.tolerance is not None:
        return float(options.tolerance)
    graph = onnx.load(model, load_external_data=False).graph
    if any("Quantize" in node.op_type and not node.op_type.startswith("Dequantize") for node in graph.node):
        return BETWEEN_BYTES
    names = {onnx.TensorProto.FLOAT16: "f16", onnx.TensorProto.BFLOAT16: "bf16"}
    types = [names.get(output.type.tensor_type.elem_type, "f32") for output in graph.output]
    return max(TOLERANCES[name] for name in [options.precision, *types])


def verdict(timing: turns.Timing, tolerance: float) -> str | None:
    """Why a timing does not count, or None."""
    if timing.error:
        return "fails"
    return f"wrong ({timing.deviation:.0e})" if timing.excess > tolerance else None


def cell(timing: turns.Timing | None, tolerance: float) -> str:
    if timing is None:
        return "—"
    return verdict(timing, tolerance) or f"{timing.median_s * 1e3:.4g}"


def compared(row: Row, peer: str) -> turns.Ratio | None:
    """The peer's time over ours, when both are right."""
    ours, theirs = row.timings.get("perpend"), row.timings.get(peer)
    if ours is None or theirs is None or verdict(ours, row.tolerance) or verdict(theirs, row.tolerance):
        return None
    return turns.ratio(theirs, ours)


def comparisons(row: Row, options: argparse.Namespace) -> list[turns.Ratio]:
    found = [compared(row, peer) for peer in options.peers]
    return [quotient for quotient in found if quotient]


def markdown(rows: list[Row], machine: dict[str, Any], options: argparse.Namespace) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    lines = [
        f"# {options.title}",
        "",
        f"Written by `{machine['command']}`, {machine['date']}.",
        f"Processor: {machine['processor']}. Versions: {versions}.",
        f"{'Processor times' if options.processor_time else 'Times'} in ms, median of medians. Ratio: peer / Perpend, "
        "with its lowest and highest turn; above 1 is faster.",
        "",
        "| model | inputs | threads | Perpend | "
        + " | ".join(f"{peer} | ratio" for peer in options.peers)
        + " | deviation | compile s | library bytes |",
        "|---|---|---|---|" + "---|---|" * len(options.peers) + "---|---|---|",
    ]
    for row in rows:
        ours = row.timings.get("perpend")
        cells = [row.model, row.shapes, str(row.threads), cell(ours, row.tolerance) if ours else "fails"]
        for peer in options.peers:
            quotient = compared(row, peer)
            cells += [cell(row.timings.get(peer), row.tolerance), str(quotient) if quotient else "—"]
        deviation = f"{ours.deviation:.1e}" if ours and not ours.error else "—"
        lines.append("| " + " | ".join([*cells, deviation, f"{row.compile_s:.1f}", f"{row.library_bytes:,}"]) + " |")
    return "\n".join([*lines, "", *summary(rows, options), ""])


def summary(rows: list[Row], options: argparse.Namespace) -> list[str]:
    lines = []
    for threads in options.threads:
        mine = [row for row in rows if row.threads == threads]
        for peer in options.peers:
            values = [quotient.value for row in mine if (quotient := compared(row, peer))]
            if values:
                mean, faster = statistics.geometric_mean(values), sum(value > 1 for value in values)
                lines.append(
                    f"Threads: {threads}. Against {peer}: geometric mean {mean:.2f}x "
                    f"over {len(values)} of {len(mine)} models, faster on {faster}."
                )
            else:
                lines.append(f"Threads: {threads}. Against {peer}: nothing to compare on {len(mine)} models.")
        best = [min(q.value for q in quotients) for row in mine if (quotients := comparisons(row, options))]
        if best and len(options.peers) > 1:
            lines.append(
                f"Threads: {threads}. Against the best peer of each model: geometric mean "
                f"{statistics.geometric_mean(best):.2f}x, lowest {min(best):.2f}x."
            )
    for row in rows:
        errors = [f"{name}: {timing.error.splitlines()[0]}" for name, timing in row.timings.items() if timing.error]
        lines += [f"- {row.model}: {text}" for text in ([row.error] if row.error else []) + errors]
    return list(dict.fromkeys(lines))


def describe(row: Row) -> dict[str, Any]:
    timings = {
        name: {**vars(timing), "median_s": timing.median_s if timing.turns_s else None}
        for name, timing in row.timings.items()
    }
    return {**vars(row), "timings": timings}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", nargs="*", type=Path, help="ONNX files")
    parser.add_argument("--models", type=Path, help="a folder in which to find them (default: examples)")
    parser.add_argument(
        "--peers", default="onnxruntime", help="comma-separated: onnxruntime, openvino, torch, inductor"
    )
    parser.add_argument("--threads", default="1,2", help="comma-separated numbers of threads")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help="value of a symbolic dimension")
    parser.add_argument("--seed", type=int, default=0, help="of random inputs")
    parser.add_argument("--compile-option", action="append", default=[], metavar="OPTION", help="for perpend compile")
    parser.add_argument(
        "--precision", default="f32", choices=TOLERANCES, help="of products, in the engines that let one choose"
    )
    parser.add_argument(
        "--tolerance", type=float, help="largest deviation that counts as right (default: by precision and model)"
    )
    parser.add_argument("--processor-time", action="store_true", help="not the time that passes; with one thread")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench", help="folder for NAME.json and NAME.md")
    parser.add_argument("--name", default="models", help="of the two files (default: models)")
    parser.add_argument("--title", default="Models", help="of the table")
    options = parser.parse_args()
    options.peers = options.peers.split(",")
    known = [name for name in worker.ENGINES if name != "perpend"]
    for peer in options.peers:
        if peer not in known:
            sys.exit(f"error: no engine '{peer}' to compare with\nhint: the engines are {', '.join(known)}")
    options.threads = [int(number) for number in options.threads.split(",")]
    if options.processor_time:
        if options.threads != [1]:
            parser.error("--processor-time needs --threads 1: several threads are busy at the same time")
        os.environ[turns.CLOCK] = "processor"
    options.dim = {name: int(number) for name, _, number in (text.rpartition("=") for text in options.dim)}
    if options.models or not options.model:
        options.model += sorted((options.models or ROOT / "examples").rglob("*.onnx"))
    if not options.model:
        parser.error(f"no .onnx file in {options.models}")
    return options


def require_perpend() -> None:
    """A message instead of one failure per worker."""
    try:
        import perpend  # noqa: F401
    except ImportError as error:
        sys.exit(
            f"error: {sys.executable} cannot import perpend: {error}\nhint: ./dev build makes the module for .venv"
        )


def main() -> int:
    options = parse_arguments()
    require_perpend()
    machine = {
        "processor": turns.processor(),
        "versions": {name: worker.version(name) for name in options.peers},
        "command": turns.command_line(),
        "date": datetime.date.today().isoformat(),
    }
    rows = []
    for number, model in enumerate(options.model, 1):
        print(f"[{number}/{len(options.model)}] {model.stem}", file=sys.stderr, flush=True)
        rows += run_model(model, options)
    options.out.mkdir(parents=True, exist_ok=True)
    result = {"machine": machine, "rows": [describe(row) for row in rows]}
    (options.out / f"{options.name}.json").write_text(json.dumps(result, indent=1) + "\n")
    table = markdown(rows, machine, options)
    (options.out / f"{options.name}.md").write_text(table)
    print(table)
    ours = [(row.timings.get("perpend"), row.tolerance) for row in rows]
    return 0 if all(timing and not verdict(timing, tolerance) for timing, tolerance in ours) else 1


if __name__ == "__main__":
    sys.exit(main())
