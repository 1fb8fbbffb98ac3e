"""Compiles random models and compares the results with ONNX Runtime: python differential.py --first 0 --count 300.

A result may differ by rounding: where it differs by more than the usual tolerance, the model is evaluated in double
precision by onnx.reference, and the compiled model must not be much further from that than ONNX Runtime is.
Failing models are written to --keep DIR, with their inputs.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from random_models import random_model

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("PERPEND_BUILD", ROOT / "build")) / "bin" / "perpend"
CONFIGURATIONS = [("host", 3), ("host", 0), ("x86-64-v3", 3), ("x86-64-v3", 0)]
CPU_SECONDS, WALL_SECONDS = 60, 900  # of a machine that others share, the time of the process counts
# A symbolic extent that happens to be 1 does not broadcast everywhere: the compiler, the binding or the run says so.
# Then the model must do with its extents as numbers.
FIXED_EXTENTS_ONLY = ["cannot broadcast", "cannot expand", "do not fit together", "does not divide",
                      "expected at least", "expected at most", "hint: its shape is", "must be a number",
                      "must be numbers", "the sizes do not fit"]  # fmt: skip


def reference_results(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = {x.name for x in session.get_inputs()}
    return session.run(None, {name: array for name, array in feeds.items() if name in names})


def double_result(model, feeds, name):
    """One result of the model with every f32 as f64; None where the reference evaluator cannot do it."""
    double = cut_to(model, name)
    for tensor in double.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
    for info in [*double.graph.input, *double.graph.output]:
        if info.type.tensor_type.elem_type == TensorProto.FLOAT:
            info.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in double.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
            if node.op_type == "Resize":
                return None
    wide = {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in feeds.items()}
    try:
        from onnx.reference import ReferenceEvaluator

        names = {x.name for x in double.graph.input}
        return ReferenceEvaluator(double).run(None, {x: wide[x] for x in names})[0]
    except Exception:
        return None


def limit_time():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))


def compiled_results(model_path, feeds, names, target, level, folder, extents=None):
    """`extents` are numbers for symbols."""
    arguments = [PROGRAM, "run", model_path, "--target", target, f"-O{level}", "--output-dir", folder, "--threads", "2"]
    for name in feeds:
        arguments += ["--input", f"{name}={model_path.parent / name}.npy"]
    for symbol, extent in (extents or {}).items():
        arguments += ["--dim", f"{symbol}={extent}"]
    done = subprocess.run(
        arguments, capture_output=True, text=True, check=False, timeout=WALL_SECONDS, preexec_fn=limit_time
    )
    if done.returncode == -signal.SIGXCPU:
        raise subprocess.TimeoutExpired(arguments, CPU_SECONDS)
    if done.returncode:
        raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()[-800:]}")
    return [np.load(Path(folder) / f"{name}.npy") for name in names]


def difference(got, expected):
    """Largest distance, as a part of the largest value; infinite where only one is finite."""
    a, b = got.astype(np.float64), expected.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    distance = np.where(same, 0, np.abs(np.where(same, 0, a) - np.where(same, 0, b)))
    finite = np.abs(b[np.isfinite(b)])
    return float(np.nan_to_num(distance, nan=np.inf).max(initial=0)) / (finite.max(initial=0) + 1e-3)


def problem_of(got, expected, exact):
    """What is wrong with a result, or an empty text. `exact` is the double-precision result or None."""
    if (got.dtype, got.shape) != (expected.dtype, expected.shape):
        return f"got {got.dtype}{got.shape}, expected {expected.dtype}{expected.shape}"
    error = difference(got, expected)
    if got.dtype != np.float32:
        return "integers differ" if error else ""
    if error < 1e-4:
        return ""
    if exact is not None and exact.shape == got.shape:
        ours, theirs = difference(got, exact), difference(expected, exact)
        if ours <= 8 * theirs + 1e-5:
            return ""
        return f"differs by {error:.2g}; from double precision by {ours:.2g}, ONNX Runtime by {theirs:.2g}"
    return f"differs by {error:.2g}"


def problem_beyond_rounding(got, expected, model, feeds, name, seen):
    problem = problem_of(got, expected, None)
    if problem:
        problem = problem_of(got, expected, double_result(model, feeds, name))
        seen["results told apart by double precision"] += not problem
    return problem


def check_model(model, feeds, symbols, configurations, folder, seen=None):
    """One text per configuration that fails; None where ONNX Runtime rejects the model.

    `seen` counts what is neither right nor wrong: runs that refuse an extent, and roundings that took a second look.
    """
    seen = Counter() if seen is None else seen
    try:
        expected = reference_results(model, feeds)
    except Exception:
        return None
    path = Path(folder) / "model.onnx"
    onnx.save(model, path)
    used = [x.name for x in model.graph.input]
    feeds = {name: array for name, array in feeds.items() if name in used}
    for name, array in feeds.items():
        np.save(Path(folder) / f"{name}.npy", array)
    names, problems = [x.name for x in model.graph.output], []
    used = {x.dim_param for info in model.graph.input for x in info.type.tensor_type.shape.dim}
    numbers = {symbol: extent for symbol, extent in symbols.items() if symbol in used}

    def run(target, level, extents):
        return compiled_results(path, feeds, names, target, level, folder, extents)

    for target, level in configurations:
        label = f"{target} -O{level}: "
        try:
            try:
                results = run(target, level, {})
            except RuntimeError as error:
                if not any(reason in str(error) for reason in FIXED_EXTENTS_ONLY) or not numbers:
                    raise
                seen["runs that refused an extent"] += 1
                results = run(target, level, numbers)
        except subprocess.TimeoutExpired:
            problems.append(label + f"no end after {CPU_SECONDS} s")
            continue
        except RuntimeError as error:
            problems.append(label + str(error))
            continue
        for position, name in enumerate(names):
            problem = problem_beyond_rounding(results[position], expected[position], model, feeds, name, seen)
            if problem:
                problems.append(f"{label}{name}: {problem}")
                break
    return problems


def cut_to(model, value):
    """The part of the model that computes one value."""
    needed, nodes = {value}, []
    for node in reversed(model.graph.node):
        if needed.intersection(node.output):
            nodes.insert(0, node)
            needed.update(node.input)
    constants = [x for x in model.graph.initializer if x.name in needed]
    inputs = [x for x in model.graph.input if x.name in needed]
    graph = helper.make_graph(nodes, "cut", inputs, [helper.make_empty_tensor_value_info(value)], constants)
    cut = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    inferred = onnx.shape_inference.infer_shapes(cut, data_prop=True)
    return inferred


def reduced(model, feeds, symbols, configurations, folder):
    """The first value, in order, that fails when it is the only result, with what it needs as computed inputs."""
    for node in model.graph.node:
        for value in node.output:
            cut = cut_to(model, value)
            problems = check_model(cut, feeds, symbols, configurations, folder)
            if problems:
                return cut, problems
    return model, []


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--keep", type=Path, default=None)
    parser.add_argument("--configurations", type=int, default=len(CONFIGURATIONS), help="how many of the four, in turn")
    arguments = parser.parse_args()
    seen = Counter()
    for seed in range(arguments.first, arguments.first + arguments.count):
        with tempfile.TemporaryDirectory() as folder:
            model, feeds, symbols = random_model(seed)
            configurations = [CONFIGURATIONS[(seed + i) % len(CONFIGURATIONS)] for i in range(arguments.configurations)]
            problems = check_model(model, feeds, symbols, configurations, folder, seen)
            seen["rejected" if problems is None else "bad" if problems else "good"] += 1
            if sum(seen[x] for x in ("rejected", "bad", "good")) % 100 == 0:
                print(seed, dict(seen), flush=True)
            if not problems:
                continue
            print(f"seed {seed}{' symbolic' if symbols else ''}:", *problems, sep="\n  ", flush=True)
            cut, why = reduced(model, feeds, symbols, configurations, folder)
            print(f"  reduced to {len(cut.graph.node)} nodes:", *why, sep="\n    ", flush=True)
            if arguments.keep:
                arguments.keep.mkdir(parents=True, exist_ok=True)
                onnx.save(cut, arguments.keep / f"{seed}.onnx")
                np.savez(arguments.keep / f"{seed}.npz", **feeds)
    print(dict(seen))
    return 1 if seen["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
