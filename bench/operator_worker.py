"""A worker for operators.py: one engine that loads one row of operator_products.py after the other, with one thread.

usage: operator_worker.py ENGINE

It hears and says one JSON object per line:
    hears {"load": NUMBER}       says {"ready": SECONDS}: compiled, and run once
    hears {"fill": SECONDS}      says {"least": SECONDS, "runs": COUNT}
    hears {"outputs": NPZ_FILE}  says {}: the results of the last run are in the file
    says  {"error": TEXT} in place of any answer, and goes on with the next row
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from operator_products import ROWS
from operator_rows import DTYPES, Row
from torch import Tensor

Run = Callable[[], Any]


class Function(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Any], weights: Sequence[Tensor]) -> None:
        super().__init__()
        self.function = function
        self.weights = torch.nn.ParameterList([torch.nn.Parameter(weight, requires_grad=False) for weight in weights])

    def forward(self, *operands: Tensor) -> Any:
        return self.function(*operands, *self.weights)


def torch_engine(row: Row) -> Run:
    function, values = row.function, row.draw()

    def run() -> Any:
        with torch.inference_mode():
            return function(*values)

    return run


def perpend_engine(row: Row) -> Run:
    import perpend

    if row.is_imported:
        names, model = onnx_model(row)
        feed = dict(zip(names, row.draw(), strict=False))
        compiled = perpend.compile(model, threads=1)
        return lambda: compiled(**feed)
    values = row.draw()
    operands, weights = values[: len(row.operands)], values[len(row.operands) :]
    model = perpend.compile(Function(row.function, weights).eval(), example_inputs=tuple(operands), threads=1)
    return lambda: model(*operands)


def onnx_model(row: Row) -> tuple[list[str], Any]:
    """The names of the operands, and a model of one node, in which weights are constants."""
    import onnx
    from onnx import helper, numpy_helper

    assert row.node is not None
    values = [value.numpy() for value in row.draw()]
    names = [f"x{place}" for place in range(len(values) + len(row.node.constants))]
    free = [name for place, name in enumerate(names) if place not in row.node.constants]
    constants = {names[place]: np.asarray(value) for place, value in row.node.constants.items()}
    constants |= dict(zip(free[len(row.operands) :], values[len(row.operands) :], strict=True))
    free = free[: len(row.operands)]
    results = [f"y{number}" for number in range(row.node.outputs)]
    graph = helper.make_graph(
        [helper.make_node(row.node.operator, names, results, **row.node.attributes)],
        "row",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in zip(free, values, strict=False)
        ],
        [onnx.ValueInfoProto(name=name) for name in results],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return free, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def onnxruntime_engine(row: Row) -> Run:
    import onnxruntime

    names, model = onnx_model(row)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {name: value.numpy() for name, value in zip(names, row.draw(), strict=False)}
    return lambda: session.run(None, feed)


ENGINES: dict[str, Callable[[Row], Run]] = {
    "perpend": perpend_engine,
    "torch": torch_engine,
    "onnxruntime": onnxruntime_engine,
}


def arrays(result: Any) -> list[Any]:
    """NumPy has no bfloat16."""
    values = list(result) if isinstance(result, tuple | list) else [result]
    narrow = (DTYPES["bf16"], DTYPES["f16"])
    return [
        (value.float() if value.dtype in narrow else value).numpy() if isinstance(value, Tensor) else value
        for value in values
    ]


class Worker:
    """Answers one request after the other."""

    def __init__(self, engine: str) -> None:
        self.load = ENGINES[engine]
        self.run: Run = lambda: None
        self.result: Any = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        start = time.perf_counter()
        if "load" in request:
            self.run = self.load(ROWS[request["load"]])
            self.run()
            return {"ready": time.perf_counter() - start}
        if "outputs" in request:
            np.savez(request["outputs"], *arrays(self.result))
            return {}
        return self.timed(start + request["fill"])

    def timed(self, end: float) -> dict[str, Any]:
        """The shortest of the runs that fill a turn: what other programs on the machine do only adds."""
        self.run()
        times: list[float] = []
        while True:
            start = time.perf_counter()
            self.result = self.run()
            now = time.perf_counter()
            times.append(now - start)
            if now >= end:
                return {"least": min(times), "runs": len(times)}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    torch.set_num_threads(1)
    torch.manual_seed(0)
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
