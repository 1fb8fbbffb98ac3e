"""A worker for turns.py that runs one model in one engine.

usage: worker.py ENGINE MODEL INPUTS.npz THREADS PRECISION

The inputs are arr_0, arr_1, … in the model's order. Each engine uses its own recommended settings for latency.
All inputs begin with a line of the cache, as tensors of models do; those of NumPy do so by chance, and rows that cross
lines cost twice in some kernels.
PRECISION is the type of a model's products: ONNX Runtime has no choice; Perpend's was made at compilation. torch and
inductor (torch.compile) run the module of architectures.py or selections.py that has the model's name, or a model that
is one product or convolution with constant weights; in bf16 and f16 with weights and inputs of this type.
"""

import importlib.metadata
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from turns import Arrays, serve

Run = Callable[[], Arrays]


def onnxruntime_engine(model: Path, inputs: Arrays, threads: int, precision: str) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {value.name: array for value, array in zip(session.get_inputs(), inputs, strict=True)}
    return lambda: session.run(None, feed)


def openvino_engine(model: Path, inputs: Arrays, threads: int, precision: str) -> Run:
    import openvino

    core = openvino.Core()
    network = core.read_model(model)
    network.reshape({port: list(array.shape) for port, array in zip(network.inputs, inputs, strict=True)})
    name = {"f16": "FP16", "bf16": "BF16"}.get(precision)
    has_precision = name in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": precision if has_precision else "f32",  # else f16 would be bf16
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,  # else products with narrow weights round their left operand to bytes
        "INFERENCE_NUM_THREADS": threads,
        "ENABLE_CPU_PINNING": False,
    }
    compiled = core.compile_model(network, "CPU", settings)
    return lambda: list(compiled(inputs, share_inputs=True, share_outputs=True).values())


def perpend_engine(model: Path, inputs: Arrays, threads: int, precision: str) -> Run:
    import perpend

    loaded = perpend.load(str(model), threads=threads)

    def run() -> Arrays:
        result = loaded(*inputs)
        return [result] if isinstance(result, np.ndarray) else list(result)

    return run


def torch_module(model: Path) -> Any:
    import onnx
    import torch
    from architectures import ARCHITECTURES
    from selections import MODULES

    if model.stem in ARCHITECTURES:
        return ARCHITECTURES[model.stem].model()
    if model.stem in MODULES:
        return MODULES[model.stem]()
    graph = onnx.load(model).graph
    node = graph.node[0]
    if len(graph.node) > 1 or len(graph.initializer) != 1 or node.op_type not in ("MatMul", "Conv"):
        raise ValueError(f"'{model.stem}' is no module of bench/architectures.py, and not one product or convolution")
    weights = torch.from_numpy(onnx.numpy_helper.to_array(graph.initializer[0]).copy())
    if node.op_type == "MatMul":
        module: Any = torch.nn.Linear(*weights.shape, bias=False)
        weights = weights.T.contiguous()
    else:
        options = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        outputs, inputs, *window = weights.shape
        module = torch.nn.Conv2d(
            inputs * options["group"], outputs, tuple(window), options["strides"][0], options["pads"][0],
            groups=options["group"], bias=False,
        )  # fmt: skip
    module.weight = torch.nn.Parameter(weights, requires_grad=False)
    return module


def torch_engine(model: Path, inputs: Arrays, threads: int, precision: str, compiles: bool = False) -> Run:
    import torch

    torch.set_num_threads(threads)
    kind = {"f16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
    module = torch_module(model).to(kind)
    if compiles:
        module = torch.compile(module)
    values = [torch.from_numpy(array) for array in inputs]
    values = [value.to(kind) if value.is_floating_point() else value for value in values]

    def run() -> Arrays:
        with torch.inference_mode():
            results = module(*values)
            results = results if isinstance(results, tuple) else (results,)
            return [(x.float() if x.is_floating_point() else x).numpy() for x in results]

    return run


def inductor_engine(model: Path, inputs: Arrays, threads: int, precision: str) -> Run:
    return torch_engine(model, inputs, threads, precision, compiles=True)


ENGINES = {
    "onnxruntime": onnxruntime_engine,
    "openvino": openvino_engine,
    "torch": torch_engine,
    "inductor": inductor_engine,
    "perpend": perpend_engine,
}


def version(engine: str) -> str:
    return importlib.metadata.version("torch" if engine == "inductor" else engine)


def aligned(array: NDArray[Any], line: int = 64) -> NDArray[Any]:
    """A copy whose elements begin with a line."""
    memory = np.empty(array.nbytes + line, np.uint8)
    start = -memory.ctypes.data % line
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def command(engine: str, model: Path, inputs: Path, threads: int, precision: str = "f32") -> list[str]:
    """The command line of a worker."""
    return [sys.executable, __file__, engine, str(model), str(inputs), str(threads), precision]


def main() -> None:
    engine, model, inputs, threads, precision = sys.argv[1:]

    def load() -> Run:
        with np.load(inputs) as arrays:
            ordered = [aligned(arrays[f"arr_{i}"]) for i in range(len(arrays.files))]
        return ENGINES[engine](Path(model), ordered, int(threads), precision)

    serve(load)


if __name__ == "__main__":
    main()
