"""Models with a symbol for each dimension of each input, run with extents of 1 in some of them, against ONNX Runtime.

python random_repeats.py --first 0 --count 300. A run may be refused; a result that differs is wrong. The interpreter
runs every draw of extents, a compiled model those of every eighth model.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from typing import Any

import numpy as np
import onnx
import onnxruntime
import perpend
from onnx import TensorProto, helper, numpy_helper

LABELS = ["p", "q", "r", "s"]
RUNS = 8
Value = tuple[str, list[str]]


class Graph:
    """Values are names with a label for each dimension: dimensions with one label broadcast, "1" is one."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: dict[str, list[str]] = {}
        self.values: list[Value] = []
        for number in range(self.rng.randint(2, 4)):
            dims = LABELS[self.rng.choice([0, 0, 0, 1, 1, 2]) :]
            dims = [label if self.rng.random() < 0.9 else "1" for label in dims[-self.rng.randint(1, 3) :]]
            self.inputs[f"x{number}"] = dims
            self.values.append((f"x{number}", dims))
        for _ in range(self.rng.randint(2, 7)):
            self.rng.choice(STEPS)(self)

    def add(self, operation: str, operands: list[str], dims: list[str], **attributes: Any) -> Value:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, operands, [name], f"node_{name}", **attributes))
        self.values.append((name, dims))
        return name, dims

    def hide(self, operation: str, operands: list[str], **attributes: Any) -> str:
        """A node whose result no other step draws."""
        name, _ = self.add(operation, operands, [], **attributes)
        self.values.pop()
        return name

    def constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def pick(self) -> Value:
        values = [value for value in self.values if value[1]]
        return self.rng.choice(values[-4:] if self.rng.random() < 0.6 else values)

    def axis(self, dims: list[str]) -> int:
        return self.rng.randrange(len(dims))

    def model(self) -> onnx.ModelProto:
        read = {name for node in self.nodes for name in node.input}
        results = [name for name, _ in self.values if name not in read and name not in self.inputs] or [
            self.values[-1][0]
        ]
        declared = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}_{i}" for i in range(len(dims))])
            for name, dims in self.inputs.items()
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in results]
        graph = helper.make_graph(self.nodes, "repeats", declared, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def merged(a: list[str], b: list[str]) -> list[str]:
    rank = max(len(a), len(b))
    left, right = ["1"] * (rank - len(a)) + a, ["1"] * (rank - len(b)) + b
    return [y if x == "1" else x for x, y in zip(left, right, strict=True)]


def binary(g: Graph) -> None:
    (a, left), (b, right) = g.pick(), g.pick()
    g.add(g.rng.choice(["Add", "Mul", "Sub", "Max"]), [a, b], merged(left, right))


def with_constant(g: Graph) -> None:
    a, dims = g.pick()
    g.add("Add", [a, g.constant(np.float32(g.rng.choice([[0.5], [[1.0], [2.0]], [1.0, 2.0, 3.0]])))], dims)


def where(g: Graph) -> None:
    (a, left), (b, right), (c, other) = g.pick(), g.pick(), g.pick()
    condition = g.hide("Greater", [c, g.constant(np.float32(0))])
    g.add("Where", [condition, a, b], merged(merged(left, right), other))


def unary(g: Graph) -> None:
    a, dims = g.pick()
    g.add(g.rng.choice(["Relu", "Neg", "Identity", "Tanh"]), [a], dims)


def transpose(g: Graph) -> None:
    a, dims = g.pick()
    order = g.rng.sample(range(len(dims)), len(dims))
    g.add("Transpose", [a], [dims[i] for i in order], perm=order)


def unsqueeze(g: Graph) -> None:
    a, dims = g.pick()
    axis = g.rng.randint(0, len(dims))
    g.add("Unsqueeze", [a, g.constant([axis])], [*dims[:axis], "1", *dims[axis:]])


def reduce(g: Graph) -> None:
    a, dims = g.pick()
    axis, keep = g.axis(dims), g.rng.random() < 0.6
    rest = [*dims[:axis], *(["1"] if keep else []), *dims[axis + 1 :]]
    g.add(g.rng.choice(["ReduceSum", "ReduceMax", "ReduceProd"]), [a, g.constant([axis])], rest, keepdims=int(keep))


def product(g: Graph) -> None:
    (a, left), (b, right) = g.pick(), g.pick()
    if g.rng.random() < 0.5 and len(right) > 1:
        b, right = g.hide("Transpose", [b], perm=[*range(len(right) - 2), len(right) - 1, len(right) - 2]), right
    g.add("MatMul", [a, b], [*merged(left, right)[:-1], "1"])


def concat(g: Graph) -> None:
    (a, dims), (b, _) = g.pick(), g.pick()
    g.add("Concat", [a, b if g.rng.random() < 0.5 else a], dims, axis=g.axis(dims))


def reshape_by_shape(g: Graph) -> None:
    (a, dims), (b, _) = g.pick(), g.pick()
    first = g.hide("Gather", [g.hide("Shape", [b]), g.constant([0])])
    sizes = g.hide("Concat", [first, g.constant([-1])], axis=0)
    g.add("Reshape", [a, sizes], [*dims[:1], "1"])


def reshape(g: Graph) -> None:
    a, dims = g.pick()
    sizes = g.rng.choice([[0, -1], [-1], [-1, 1], [0, 0, -1], [1, -1]])
    g.add("Reshape", [a, g.constant(sizes)], (dims + ["1"] * 3)[: len(sizes)])


def expand(g: Graph) -> None:
    (a, left), (b, right) = g.pick(), g.pick()
    g.add("Expand", [a, g.hide("Shape", [b])], merged(left, right))


def filled(g: Graph) -> None:
    (a, dims), (b, other) = g.pick(), g.pick()
    ones = g.hide("ConstantOfShape", [g.hide("Shape", [a])], value=helper.make_tensor("", TensorProto.FLOAT, [1], [1]))
    g.add("Add", [ones, b], merged(dims, other))


def size(g: Graph) -> None:
    a, dims = g.pick()
    g.add("Mul", [a, g.hide("Cast", [g.hide("Size", [a])], to=TensorProto.FLOAT)], dims)


def cut(g: Graph) -> None:
    a, dims = g.pick()
    start, end = g.rng.choice([(0, 1), (0, -1), (1, 1000), (-1, 1000), (0, 1000)])
    g.add("Slice", [a, g.constant([start]), g.constant([end]), g.constant([g.axis(dims)])], dims)


def gather(g: Graph) -> None:
    a, dims = g.pick()
    axis = g.axis(dims)
    g.add("Gather", [a, g.constant(g.rng.choice([0, -1]))], dims[:axis] + dims[axis + 1 :], axis=axis)


def along(g: Graph) -> None:
    a, dims = g.pick()
    if g.rng.random() < 0.5:
        g.add("Softmax", [a], dims, axis=g.axis(dims))
    else:
        g.add("CumSum", [a, g.constant(g.axis(dims))], dims)


def pad(g: Graph) -> None:
    a, dims = g.pick()
    amounts = [0] * (2 * len(dims))
    amounts[g.rng.randrange(len(amounts))] = g.rng.choice([0, 1])
    g.add("Pad", [a, g.constant(np.int64(amounts))], dims)


def tile(g: Graph) -> None:
    a, dims = g.pick()
    g.add("Tile", [a, g.constant(np.int64([g.rng.choice([1, 1, 2]) for _ in dims]))], dims)


def largest(g: Graph) -> None:
    a, dims = g.pick()
    axis = g.axis(dims)
    found = g.hide("ArgMax", [a], axis=axis)
    g.add("Cast", [found], [*dims[:axis], "1", *dims[axis + 1 :]], to=TensorProto.FLOAT)


def branch(g: Graph) -> None:
    (a, dims), (b, _) = g.pick(), g.pick()
    bodies = {}
    for label, nodes in {
        "then_branch": [helper.make_node("Add", [a, b], ["t"])],
        "else_branch": [
            helper.make_node("ReduceSum", [b], ["sum"], keepdims=1),
            helper.make_node("Add", [a, "sum"], ["t"]),
        ],
    }.items():
        bodies[label] = helper.make_graph(nodes, label, [], [onnx.ValueInfoProto(name="t")])
    total = g.hide("ReduceMax", [b], keepdims=0)
    g.add("If", [g.hide("Greater", [total, g.constant(np.float32(0))])], dims, **bodies)


def normalise(g: Graph) -> None:
    a, dims = g.pick()
    scale, _ = g.rng.choice([x for x in g.values if len(x[1]) == 1] or [g.pick()])
    g.add("LayerNormalization", [a, scale], dims, axis=-1, epsilon=1.0)


def einsum(g: Graph) -> None:
    (a, left), (b, right) = g.pick(), g.pick()
    if len(left) == len(right) == 2:
        g.add("Einsum", [a, b], left, equation=g.rng.choice(["ij,ij->ij", "ij,kj->ik", "ij,ij->i", "ij,ji->ij"]))


STEPS = [binary] * 8 + [
    where, where, unary, unary, transpose, transpose, unsqueeze, reduce, reduce, product, product, concat, einsum,
    reshape_by_shape, reshape, expand, filled, size, cut, gather, along, pad, tile, largest, branch, normalise,
    with_constant]  # fmt: skip


def draw(g: Graph, rng: random.Random, likelihood: float) -> list[np.ndarray]:
    """Inputs whose dimensions have the extent of their label, or 1."""
    sums = any(node.op_type in ("MatMul", "Einsum", "Reshape") for node in g.nodes)  # no meaning where empty
    extents = {label: rng.choice([2, 3, 4 if sums else 0, 5, 4]) for label in LABELS}
    numbers = np.random.default_rng(rng.randrange(2**32))
    shapes = [
        [1 if label == "1" or rng.random() < likelihood else extents[label] for label in dims]
        for dims in g.inputs.values()
    ]
    return [numbers.standard_normal(shape).astype(np.float32) for shape in shapes]


def reference(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def same(got: list[Any], expected: list[Any]) -> bool:
    return all(
        np.shape(a) == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-4, equal_nan=True)
        for a, b in zip(got, expected, strict=True)
    )


def check(seed: int, seen: Counter[str], compiled: bool) -> list[str]:
    """What is wrong; `seen` counts runs, and how many of them had inputs of other extents than the first run."""
    g = Graph(seed)
    rng, problems = random.Random(seed + 1), []
    model = g.model()
    try:
        session = reference(model)
        module = perpend.Module.from_onnx(model.SerializeToString())
        runner = perpend.compile(model, opt_level=seed // 8 % 4) if compiled else module.evaluate
    except Exception as error:
        seen["no model"] += 1
        return [f"seed {seed}: {error}"] if "perpend bug" in str(error) else []
    for run in range(RUNS):
        inputs = draw(g, rng, 0.0 if run == 0 else 0.35)
        try:
            expected = session.run(None, dict(zip(g.inputs, inputs, strict=True)))
        except Exception:
            seen["rejected by ONNX Runtime"] += 1
            continue
        try:
            got = runner(*inputs)
        except (perpend.CompileError, ValueError) as error:
            seen["refused"] += 1
            if "perpend bug" in str(error):
                problems.append(f"seed {seed}, run {run}: {error}")
            continue
        got = list(got) if isinstance(got, (list, tuple)) else list(got.values()) if isinstance(got, dict) else [got]
        seen["agree"] += 1
        if not same(got, expected):
            shapes = [x.shape for x in inputs]
            problems.append(f"seed {seed}, run {run}: inputs {shapes}: got {[np.shape(x) for x in got]}, "
                            f"expected {[x.shape for x in expected]}")  # fmt: skip
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    arguments = parser.parse_args()
    seen: Counter[str] = Counter()
    problems = []
    for seed in range(arguments.first, arguments.first + arguments.count):
        problems += check(seed, seen, compiled=seed % 8 == 0)
        if seed % 200 == 199 or seed == arguments.first + arguments.count - 1:
            print(seed, dict(seen), *problems, sep="\n", flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
