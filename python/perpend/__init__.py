"""Perpend compiles machine-learning models into small native libraries.

``model = perpend.compile("model.onnx")`` or ``perpend.compile(net, example_inputs=(x,))`` compiles,
``perpend.load("model.so")`` loads what was compiled before, ``model(x)`` runs it on numpy arrays or torch tensors.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from . import _perpend
from ._perpend import CompileError, GraphBuilder, Module, Report

__version__ = "0.1.0"
__all__ = ["CompileError", "GraphBuilder", "Model", "Module", "Report", "TensorInfo", "compile", "import_model", "load"]


class TensorInfo(NamedTuple):
    """What a model declares about an input or output: symbolic extents are text, such as "2*n"."""

    name: str
    dtype: str
    shape: list[int | str]


class Model(_perpend.Model):
    """A compiled model. Call it with arrays by position or by name; torch tensors in give torch tensors out.

    One output comes back as an array, several as a tuple. Threads: calls from several Python threads run at once.
    """

    report: Report | None = None

    @property
    def inputs(self) -> list[TensorInfo]:
        return [TensorInfo(*info) for info in self.input_list]

    @property
    def outputs(self) -> list[TensorInfo]:
        return [TensorInfo(*info) for info in self.output_list]

    @property
    def description(self) -> dict[str, Any]:
        """The artifact's descriptor: inputs, outputs, symbols, target, versions, checksum."""
        parsed: dict[str, Any] = json.loads(self.descriptor)
        return parsed

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the shared library to `path`, and its C header beside it."""
        target = Path(path)
        if target.suffix != ".so":
            raise ValueError(
                f"save: expected a path that ends in .so, got '{target}'\nhint: use `perpend compile` for .a"
            )
        shutil.copyfile(self.path, target)
        header = Path(self.path).with_suffix(".h")
        if header.exists():
            shutil.copyfile(header, target.with_suffix(".h"))

    def __repr__(self) -> str:
        def signature(tensors: list[TensorInfo]) -> str:
            return ", ".join(f"{t.name}: {t.dtype}[{', '.join(map(str, t.shape))}]" for t in tensors)

        return f"<perpend.Model '{self.name}' ({signature(self.inputs)}) -> ({signature(self.outputs)})>"


def load(path: str | PathLike[str], threads: int | None = None) -> Model:
    """Loads a compiled model; `threads` limits each call (None: all cores)."""
    return Model(fspath(path), threads or 0)


def import_model(
    model: Any,
    *,
    dims: Mapping[str, int | str] | None = None,
    operators: Sequence[str | PathLike[str]] = (),
    example_inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
) -> Module:
    """The model as a module at graph level, before compilation. Arguments: as `compile`."""
    if isinstance(model, Module):
        return model
    if isinstance(model, (str, PathLike)):
        return Module.from_onnx(fspath(model), dict(dims or {}), [fspath(path) for path in operators])
    if hasattr(model, "SerializeToString"):
        return Module.from_onnx(model.SerializeToString(), dict(dims or {}), [fspath(path) for path in operators])
    if "torch" in sys.modules:
        from . import torch_frontend

        if torch_frontend.accepts(model):
            if dims:
                raise CompileError("dims: only for ONNX models\nhint: use dynamic_shapes, as in torch.export.export")
            return torch_frontend.import_model(model, example_inputs, dynamic_shapes)
    raise TypeError(
        "compile: expected the path of an .onnx file, an onnx.ModelProto, a torch.export.ExportedProgram or a "
        f"torch.nn.Module, got {type(model).__name__}"
    )


def compile(
    model: Any,
    target: str = "host",
    *,
    dims: Mapping[str, int | str] | None = None,
    operators: Sequence[str | PathLike[str]] = (),
    example_inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    threads: int | None = None,
    **options: bool | int | str,
) -> Model:
    """Compiles a model.

    model: path of an .onnx file, onnx.ModelProto, torch.export.ExportedProgram, or torch.nn.Module (in eval mode).
    target: the machine to compile for.
    dims: values or names for symbolic dimensions of an ONNX model, such as {"batch": 1, "x:0": "n"}.
    operators: paths of descriptions of operators that the user brings (docs/howto/bring-an-operator.md).
    example_inputs, dynamic_shapes: for a torch.nn.Module, as in torch.export.export; inputs by name as a dict.
    threads: limit for each call. options: those of `perpend compile`, by their names in Python (opt_level, ...).
    Errors: CompileError with the compiler's text.
    """
    module = import_model(
        model, dims=dims, operators=operators, example_inputs=example_inputs, dynamic_shapes=dynamic_shapes
    )
    folder = tempfile.TemporaryDirectory(prefix="perpend-")
    try:
        path = str(Path(folder.name) / "model.so")
        report = module.compile(path, {"target": target, **_native_names(options)})
        compiled = Model(path, threads or 0)
    except BaseException:
        folder.cleanup()
        raise
    compiled.report = report
    weakref.finalize(compiled, folder.cleanup)
    return compiled


def _native_names(options: Mapping[str, bool | int | str]) -> dict[str, bool | int | str]:
    """opt_level to optLevel, and so on: the names of Options.def."""
    names = {}
    for name, value in options.items():
        first, *rest = name.split("_")
        names[first + "".join(word.capitalize() for word in rest)] = value
    return names
