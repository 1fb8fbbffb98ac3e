"""The ways in which the suite runs a case: what each makes of the model and what then computes its outputs.

plain: compiled as it is. dynamic: every dimension of every input is a free symbol, ranks are as declared. resizable: as
dynamic, but extents that decide ranks (the lengths of vectors) or that broadcast (those that are 1) are as the case
declares them. constant: every input is an initializer, so that the compiler folds everything. interpreter: plain with
the reference interpreter. aarch64, riscv64: plain, compiled for that architecture and run in an emulator; wasm32
likewise, in Node.js. quoin: plain, for an accelerator, in its simulator.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import onnx
import perpend
from onnx import numpy_helper
from onnx_foreign import ForeignModel

Execute = Callable[[list[Any]], list[Any]]


class Settings(NamedTuple):
    """Arguments of perpend.compile."""

    opt_level: int = 3
    target: str = "host"


DEFAULTS = Settings()


class Unsupported(Exception):
    """The case cannot be expressed in a column."""


def as_list(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple) else [results]


def ranks_of(content: bytes, inputs: Sequence[Any]) -> dict[str, int | str]:
    """The suite declares sequences and optional values without the ranks of their elements; the values have them."""
    ranks: dict[str, int | str] = {}
    for declared, value in zip(free_inputs(onnx.ModelProto.FromString(content).graph), inputs, strict=False):
        elements = value if isinstance(value, list) else [value]
        dimensions = {element.ndim for element in elements if hasattr(element, "ndim")}
        if not declared.type.HasField("tensor_type") and len(dimensions) == 1:
            ranks[f"{declared.name}:rank"] = dimensions.pop()
    return ranks


def prepare_plain(model: bytes, inputs: Sequence[Any], settings: Settings) -> Execute:
    dims = ranks_of(model, inputs)
    compiled = perpend.compile(onnx.ModelProto.FromString(model), dims=dims, **settings._asdict())
    return lambda values: as_list(compiled(*values))


def prepare_interpreter(model: bytes, inputs: Sequence[Any], settings: Settings) -> Execute:
    module = perpend.import_model(onnx.ModelProto.FromString(model), dims=ranks_of(model, inputs))
    return lambda values: list(module.evaluate(*values))


def forget_extents(graph: onnx.GraphProto) -> None:
    """What the model says about extents of results follows from its inputs, which change; ranks stay."""
    for value in [*graph.value_info, *graph.output]:
        if value.type.HasField("tensor_type"):
            for extent in value.type.tensor_type.shape.dim:
                extent.Clear()


def free_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    weights = {tensor.name for tensor in graph.initializer}
    return [declared for declared in graph.input if declared.name not in weights]


def with_symbols(content: bytes, is_free: Callable[[Sequence[int], int], bool]) -> onnx.ModelProto:
    """`is_free` of a shape and a position in it says whether that extent becomes a symbol."""
    model = onnx.ModelProto.FromString(content)
    for number, declared in enumerate(free_inputs(model.graph)):
        if declared.type.HasField("tensor_type"):
            dims = declared.type.tensor_type.shape.dim
            shape = [extent.dim_value for extent in dims]
            for position, extent in enumerate(dims):
                if is_free(shape, position):
                    extent.dim_param = f"d{number}_{position}"
    forget_extents(model.graph)
    return model


def prepare_dynamic(model: bytes, inputs: Sequence[Any], settings: Settings) -> Execute:
    symbolic = with_symbols(model, lambda shape, position: True)
    compiled = perpend.compile(symbolic, dims=ranks_of(model, inputs), **settings._asdict())
    return lambda values: as_list(compiled(*values))


def prepare_resizable(model: bytes, inputs: Sequence[Any], settings: Settings) -> Execute:
    symbolic = with_symbols(model, lambda shape, position: len(shape) > 1 and shape[position] != 1)
    compiled = perpend.compile(symbolic, dims=ranks_of(model, inputs), **settings._asdict())
    return lambda values: as_list(compiled(*values))


def with_constants(content: bytes, inputs: Sequence[Any]) -> onnx.ModelProto:
    model = onnx.ModelProto.FromString(content)
    declared = free_inputs(model.graph)
    if any(not each.type.HasField("tensor_type") for each in declared):
        raise Unsupported("an input that is no tensor cannot be an initializer")
    for each, value in zip(declared, inputs, strict=False):
        model.graph.initializer.append(numpy_helper.from_array(value, each.name))
        model.graph.input.remove(each)
    forget_extents(model.graph)
    return model


def prepare_constant(model: bytes, inputs: Sequence[Any], settings: Settings) -> Execute:
    compiled = perpend.compile(with_constants(model, inputs), **settings._asdict())
    return lambda values: as_list(compiled())


def prepare_foreign(architecture: str, model: bytes, inputs: Sequence[Any], settings: Settings) -> Execute:
    module = perpend.import_model(onnx.ModelProto.FromString(model), dims=ranks_of(model, inputs))
    target = settings.target if settings.target != "host" else architecture
    folder = TemporaryDirectory()
    path = str(Path(folder.name) / "model.so")
    report = module.compile(path, {**settings._asdict(), "target": target})
    facts = json.loads(report.descriptor)

    def execute(values: list[Any]) -> list[Any]:
        assert folder.name  # it goes with this function
        with ForeignModel(path, facts, architecture) as compiled:
            return compiled(*values)

    return execute


units: list[str] = []  # of the last model for an accelerator: what its units compute, and what they do not


def prepare_accelerator(target: str, model: bytes, inputs: Sequence[Any], settings: Settings) -> Execute:
    own = {**settings._asdict(), "target": target}
    compiled = perpend.compile(onnx.ModelProto.FromString(model), dims=ranks_of(model, inputs), **own)
    units[:] = compiled.report.units
    return lambda values: as_list(compiled(*values))


PREPARE: dict[str, Callable[[bytes, Sequence[Any], int], Execute]] = {
    "plain": prepare_plain,
    "dynamic": prepare_dynamic,
    "resizable": prepare_resizable,
    "constant": prepare_constant,
    "interpreter": prepare_interpreter,
}
# Of other machines than the one that runs the suite; docs/onnx-coverage.md has no column for them.
EMULATED: dict[str, Callable[[bytes, Sequence[Any], int], Execute]] = {
    **{architecture: partial(prepare_foreign, architecture) for architecture in ("aarch64", "riscv64", "wasm32")},
    "quoin": partial(prepare_accelerator, "quoin:t1"),
}
