"""Random models as host programs in the interpreter: python random_plans.py --first 0 --count 10000.

Each model is lowered to the phase `plan`, with one of the levels, targets and strategies of memory planning, and runs
on bytes that are poisoned where nothing was written. The results must be those of ONNX Runtime, as in differential.py;
where they are not, not much further from those of the graph in the interpreter, in which no memory is shared. Many
models also get states: an input that is the last run's value of a result, a cache that grows, a ring that is
overwritten. These run several times.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import perpend
from differential import FIXED_EXTENTS_ONLY, problem_beyond_rounding, problem_of
from onnx import helper, numpy_helper
from perpend._perpend import Module
from random_graph import FLOAT, INT32, INT64, MOST_ELEMENTS, Graph
from random_models import grow

LIST = Path(__file__).parents[2] / "runtime" / "Strategies.h"
STRATEGIES = re.findall(r'STRATEGY\(\w+, "([^"]+)"', LIST.read_text())
TARGETS = ["host", "x86-64-v3", "x86-64"]
RUNS = 3  # of a model with states


@dataclass(frozen=True)
class State:
    input: str
    output: str
    first: np.ndarray
    axis: int = 0  # that grows, or is updated: it comes first in the state
    capacity: int | None = None  # of one that grows

    @property
    def option(self) -> str:
        return f"{self.input}={self.output}" + (f":{self.capacity}" if self.capacity else "")


def info(name: str, kind: Any, shape: Any) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)


class States:
    """Adds states to the model of a random graph."""

    def __init__(self, graph: Graph, model: onnx.ModelProto) -> None:
        self.g, self.graph, self.states = graph, model.graph, []
        shapes = {x.name: x.type.tensor_type.shape.dim for x in self.graph.input}
        computed = {name for node in self.graph.node for name in node.output}
        self.inputs = [v for v in graph.values if v.name in shapes and not any(d.dim_param for d in shapes[v.name])]
        self.results = [v for v in graph.values if v.name in computed]
        # In a graph with symbols, shapes of results may depend on them.
        self.known = self.inputs + ([] if graph.is_symbolic else self.results)

    def node(self, op: str, operands: list[str], result: str, **attributes: Any) -> str:
        self.graph.node.append(helper.make_node(op, operands, [result], f"of_{result}", **attributes))
        return result

    def constant(self, name: str, value: Any) -> str:
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(value, np.int64), name))
        return name

    def declare(self, state: State, kind: Any, before: list[Any], after: list[Any]) -> None:
        self.graph.input.append(info(state.input, kind, before))
        self.graph.output.append(info(state.output, kind, after))
        self.states.append(state)

    def carry(self) -> None:
        """The value of a result is that of an input in the next run."""
        pairs = [(a, b) for a in self.inputs for b in self.results if (a.type, a.shape) == (b.type, b.shape)]
        if not pairs:
            return
        before, after = self.g.choose(pairs)
        self.node("Identity", [after.name], "carried")
        self.graph.output.append(info("carried", before.type, before.shape))
        self.states.append(State(before.name, "carried", self.g.feeds[before.name]))
        self.inputs.remove(before)

    def append(self) -> None:
        """A cache, to which the rows of a value are appended; the sum of the squares of all is a result."""
        values = [v for v in self.known if v.type in (FLOAT, INT32, INT64) and v.rank]
        if not values:
            return
        value = self.g.choose(values)
        axis, capacity = self.g.number(0, value.rank - 1), RUNS * max(value.shape) + self.g.number(0, 3)
        before, after = list(value.shape), list(value.shape)
        before[axis], after[axis] = "length", None
        first = np.zeros([0 if i == axis else extent for i, extent in enumerate(value.shape)], value.type)
        is_first = all(extent == 1 for extent in value.shape[:axis])  # in memory, so that nothing is transposed
        self.node("Concat", ["cache", value.name], "more", axis=axis)
        self.node("Mul", ["more", "more"], "squares")
        self.node("ReduceSum", ["squares", self.constant("cache_axis", [axis])], "total", keepdims=0)
        self.graph.output.append(info("total", value.type, None))
        self.declare(State("cache", "more", first, 0 if is_first else axis, capacity), value.type, before, after)

    def ring(self) -> None:
        """Slices of the last runs, each in the place of the oldest."""
        values = [v for v in self.known if v.type is FLOAT and 3 * np.prod(v.shape) <= MOST_ELEMENTS]
        if not values:
            return
        value, count = self.g.choose(values), self.g.number(1, 3)
        shape = [count, *value.shape]
        self.node("Mod", ["turn", self.constant("ring_count", [count])], "at")
        self.node("Reshape", ["at", self.constant("ring_position", [1, 1])], "position")
        self.node("Unsqueeze", [value.name, self.constant("ring_axis", [0])], "slice")
        self.node("ScatterND", ["ring", "position", "slice"], "ring_next")
        self.node("Mul", ["ring_next", "ring_next"], "ring_squares")  # whose sum does not cancel
        self.node("ReduceSum", ["ring_squares", "ring_axis"], "ring_sum", keepdims=0)
        self.node("Add", ["turn", self.constant("ring_one", [1])], "turn_next")
        self.graph.output.append(info("ring_sum", FLOAT, None))
        self.declare(State("ring", "ring_next", self.g.array(shape)), FLOAT, shape, shape)
        self.declare(State("turn", "turn_next", np.array([self.g.number(0, 5)])), INT64, [1], [1])


def random_model(seed: int) -> tuple[onnx.ModelProto, Graph, list[State]]:
    graph = grow(seed)
    model = graph.model()
    adder = States(graph, model)
    for add in (adder.carry, adder.append, adder.ring):
        if graph.chance(0.4):
            add()
    return model, graph, adder.states


class Reference:
    def __init__(self, model: onnx.ModelProto) -> None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self.names = {x.name for x in self.session.get_inputs()}

    def run(self, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
        return self.session.run(None, {name: value for name, value in feeds.items() if name in self.names})


def imported(model: onnx.ModelProto, states: list[State], dims: dict[str, int]) -> Module:
    module = Module.from_onnx(model.SerializeToString(), dims)
    if states:
        module.make_states([state.option for state in states])
    return module


def planned(seed: int, model: onnx.ModelProto, states: list[State], dims: dict[str, int]) -> Module:
    module = imported(model, states, dims)
    options = {
        "plan": STRATEGIES[seed % len(STRATEGIES)],
        "opt_level": seed // 5 % 4,
        "target": TARGETS[seed // 20 % 3],
    }
    module.lower("plan", options)
    return module


def evaluated(module: Module, model: onnx.ModelProto, states: list[State], feeds: dict[str, np.ndarray]) -> list[Any]:
    """The results in the model's order. States come behind all other inputs and outputs."""
    kept, results = [state.input for state in states], [state.output for state in states]
    inputs = [feeds[x.name] for x in model.graph.input if x.name not in kept]
    inputs += [np.ascontiguousarray(np.moveaxis(feeds[state.input], state.axis, 0)) for state in states]
    values = module.evaluate(*inputs)
    names = [x.name for x in model.graph.output if x.name not in results] + results
    named = dict(zip(names, values, strict=True))
    for state in states:
        named[state.output] = np.moveaxis(named[state.output], 0, state.axis)
    return [np.asarray(named[x.name]) for x in model.graph.output]


def check_runs(
    plan: Module, graph: Module, model: onnx.ModelProto, inputs: dict[str, Any], states: list[State], seen: Counter[str]
) -> str | None:
    """What is wrong; None where ONNX Runtime rejects the model. The states of each run are those of ONNX Runtime."""
    try:
        reference = Reference(model)
        expected = reference.run(feeds := inputs | {state.input: state.first for state in states})
    except Exception:
        return None
    for run in range(RUNS if states else 1):
        expected = reference.run(feeds)
        got = evaluated(plan, model, states, feeds)
        for number, (output, mine, theirs) in enumerate(zip(model.graph.output, got, expected, strict=True)):
            problem = problem_beyond_rounding(mine, theirs, model, feeds, output.name, seen)
            if problem and problem_of(mine, theirs, evaluated(graph, model, states, feeds)[number]):
                return f"run {run}: {output.name}: {problem}"
            seen["results told apart by the interpreter"] += bool(problem)
        seen["runs"] += 1
        results = {x.name: value for x, value in zip(model.graph.output, expected, strict=True)}
        feeds |= {state.input: results[state.output] for state in states}
    return ""


def check(seed: int, seen: Counter[str]) -> str:
    """What is wrong with the model of this seed. `seen` counts what was run, and how."""
    model, graph, states = random_model(seed)
    used = {x.dim_param for x in model.graph.input for x in x.type.tensor_type.shape.dim}
    numbers = {symbol: extent for symbol, extent in graph.symbols.items() if symbol in used}
    dims: dict[str, int] = {}
    try:
        Reference(model)
    except Exception:
        seen["rejected"] += 1
        return ""
    for _ in range(3):
        try:
            plan, definition = planned(seed, model, states, dims), imported(model, states, dims)
            problem = check_runs(plan, definition, model, graph.feeds, states, seen)
        except (perpend.CompileError, ValueError) as error:
            if states and "state" in str(error):  # one that would be copied
                seen["states refused"] += 1
                states = []
                model, graph, _ = random_model(seed)
                model = graph.model()
                continue
            if numbers and not dims and any(reason in str(error) for reason in FIXED_EXTENTS_ONLY):
                seen["runs that refused an extent"] += 1
                dims = numbers
                continue
            problem = str(error)
        break
    seen["rejected" if problem is None else "bad" if problem else "good"] += 1
    if problem == "":
        for state in states:
            seen["caches" if state.capacity else "rings" if state.input == "ring" else "other states"] += 1
    return problem or ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    arguments = parser.parse_args()
    seen: Counter[str] = Counter()
    for seed in range(arguments.first, arguments.first + arguments.count):
        problem = check(seed, seen)
        if problem:
            print(f"seed {seed}: {problem}", flush=True)
        if (seed + 1) % 500 == 0:
            print(seed, dict(seen), flush=True)
    print(dict(seen))
    return 1 if seen["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
