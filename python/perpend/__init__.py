"""Perpend compiles machine-learning models into small native libraries.

``model = perpend.compile("model.onnx")`` or ``perpend.compile(net, example_inputs=(x,))`` compiles,
``perpend.load("model.so")`` loads what was compiled before, ``model(x)`` runs it on numpy arrays or torch tensors.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from . import _perpend, results
from ._perpend import CompileError, GraphBuilder, Module, Report, ScheduleError
from .chat import ChatTemplate, TemplateError
from .operators import Operator, Operators, import_onnx, in_python
from .temporary_folders import TemporaryFolder

__version__ = _perpend.version()
__all__ = [
    "ChatTemplate",
    "CompileError",
    "GraphBuilder",
    "Model",
    "Module",
    "Operator",
    "Report",
    "Schedule",
    "ScheduleError",
    "TemplateError",
    "TensorInfo",
    "Tuned",
    "compile",
    "import_model",
    "load",
    "tune",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class TensorInfo(NamedTuple):
    """What a model declares about an input or output. Symbolic extents are text, such as "2*n"."""

    name: str
    dtype: str
    shape: list[int | str]


class Model(_perpend.Model):
    """A compiled model. Call it with arrays, by position or by name; torch tensors in give torch tensors out.

    Returns one output as an array, several as a tuple, and a sequence of maps (an ONNX type) as a list of dicts.
    An input that is a map takes a dict.
    Threads: calls from several Python threads may run at once.
    """

    report: Report | None = None
    operators: Sequence[Operator] = ()
    folder: TemporaryFolder | None = None  # holds the file; kept as long as a model needs it

    def __init__(self, path: str, threads: int = 0) -> None:
        super().__init__(path, threads)
        if '"labels"' in self.descriptor:
            for number, output in enumerate(self.description["outputs"]):
                if "labels" in output:
                    self.present_as_maps(number, output["labels"])
        if '"map"' in self.descriptor:
            maps = [entry.get("map") for entry in self.description["inputs"]]
            for name in dict.fromkeys(filter(None, maps)):
                self.take_map(name, maps.index(name))

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
        if self.report and self.report.is_of_process:
            raise ValueError(
                "save: the model's weights are in this process, as torch.compile leaves them, and not in its file\n"
                "hint: perpend.compile(net, example_inputs=...) makes a model to save"
            )
        if self.operators:
            names = ", ".join(operator.label for operator in self.operators)
            raise ValueError(
                f"save: the model calls Python functions of this process ({names}), which a file cannot hold\n"
                "hint: bring a C function (docs/howto/bring-an-operator.md)"
            )
        if target.suffix != ".so":
            raise ValueError(
                f"save: expected a path that ends in .so, got '{target}'\nhint: use `perpend compile` for .a"
            )
        _copy(Path(self.path), target)
        header = Path(self.path).with_suffix(".h")
        if header.exists():
            _copy(header, target.with_suffix(".h"))

    def _again(self) -> Model:
        return type(self)(self.path, self.threads)

    def __copy__(self) -> Model:
        """A model with its own sessions; it shares the code, which never changes."""
        copy = self._again()
        copy.report, copy.operators, copy.folder = self.report, self.operators, self.folder
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled\nhint: use save(path) and perpend.load(path)")

    def __repr__(self) -> str:
        def signature(tensors: list[TensorInfo]) -> str:
            return ", ".join(f"{t.name}: {t.dtype}[{', '.join(map(str, t.shape))}]" for t in tensors)

        return f"<perpend.Model '{self.name}' ({signature(self.inputs)}) -> ({signature(self.outputs)})>"


M = TypeVar("M", bound=Model)


class _NestedModel(Model):
    """A model loaded from a file. Its call returns what the original module returned, such as a dict."""

    def __init__(self, path: str, threads: int = 0) -> None:
        super().__init__(path, threads)
        self.results = results.reader(self.description["results"])

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        outputs = super().__call__(*inputs, **named)
        return self.results(outputs if isinstance(outputs, tuple) else (outputs,))


def load(path: str | PathLike[str], threads: int | None = None) -> Model:
    """Loads a compiled model; `threads` limits each call (None: all cores)."""
    model = Model(os.fsdecode(path), _limit(threads))
    return _NestedModel(model.path, model.threads) if '"results"' in model.descriptor else model


def _limit(threads: int | None) -> int:
    if threads is not None and not isinstance(threads, int):
        raise TypeError(f"threads: expected a whole number or None (all cores), got {threads!r}")
    if abs(threads or 0) >= 2**31:
        raise ValueError(f"threads: expected a number of threads, got {threads}\nhint: None stands for all cores")
    return threads or 0


def import_model(
    model: Any,
    *,
    dims: Mapping[str, int | str] | None = None,
    operators: Operators = (),
    example_inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
) -> Module:
    """The model as a module at graph level, before compilation. Arguments: as `compile`."""
    if isinstance(model, Module):
        return model
    if isinstance(model, (str, PathLike)) and fspath(model).endswith(".mlir"):
        return Module.from_text(Path(model).read_text())
    if isinstance(model, (str, PathLike)):
        return import_onnx(fspath(model), dims or {}, operators)
    if hasattr(model, "SerializeToString"):
        return import_onnx(model.SerializeToString(), dims or {}, operators)
    if "torch" in sys.modules and not isinstance(model, _perpend.Model):
        from .torch import frontend

        if frontend.accepts(model):
            if dims:
                raise CompileError("dims: only for ONNX models\nhint: use dynamic_shapes, as in torch.export.export")
            return frontend.import_model(model, example_inputs, dynamic_shapes)
    hint = ""
    if isinstance(model, bytes):
        hint = "\nhint: read a model from bytes with onnx.load_from_string"
    elif isinstance(model, _perpend.Model):
        hint = "\nhint: it is compiled already"
    elif isinstance(model, type):
        hint = f"\nhint: give an instance, such as {model.__name__}()"
    elif callable(model):
        hint = '\nhint: make a function the forward of a torch.nn.Module, or use torch.compile(f, backend="perpend")'
    raise TypeError(
        "compile: expected the path of an .onnx file, an onnx.ModelProto, a torch.export.ExportedProgram or a "
        f"torch.nn.Module, got {type(model).__name__}{hint}"
    )


def _copy(source: Path, target: Path) -> None:
    """Replaces the file and does not overwrite it: models that were loaded from it keep working."""
    written = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        shutil.copyfile(source, written)
        written.replace(target)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(target)) from None
    finally:
        written.unlink(missing_ok=True)


def target_text(target: str | Sequence[str]) -> str:
    """One target, or several, as the compiler's option `target`."""
    return target if isinstance(target, str) or not isinstance(target, Sequence) else ",".join(target)


ARGUMENTS = ("target", "dims", "operators", "example_inputs", "dynamic_shapes", "threads")


def compile(
    model: Any,
    target: str | Sequence[str] = "host",
    *,
    dims: Mapping[str, int | str] | None = None,
    operators: Operators = (),
    example_inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    threads: int | None = None,
    **options: bool | int | str,
) -> Model:
    """Compiles a model.

    model: path of an .onnx file, onnx.ModelProto, torch.export.ExportedProgram, or torch.nn.Module (in eval mode).
    target: the machine to compile for, or several for one artifact (docs/howto/run-on-several-machines.md).
    dims: values or names for symbolic dimensions of an ONNX model, such as {"batch": 1, "x:0": "n"}.
    operators: the user's own operators: paths of descriptions, or Operator with a kernel in Python; one or a list
        (docs/howto/bring-an-operator.md).
    example_inputs, dynamic_shapes: for a torch.nn.Module, as in torch.export.export; a dict gives inputs by name.
    threads: limit for each call. options: those of `perpend compile`, by their names in Python (opt_level, ...).
    Returns a model whose call gives, for a torch.nn.Module, what the module returns: the same tuples, lists, dicts,
        dataclasses, numbers and texts. It is a torch.nn.Module itself then, on the CPU and without parameters.
    Errors: CompileError with the compiler's text; FileNotFoundError for a path that leads nowhere.
    """
    check_options(options, ARGUMENTS)
    limit = _limit(threads)
    module = import_model(
        model, dims=dims, operators=operators, example_inputs=example_inputs, dynamic_shapes=dynamic_shapes
    )
    return _made(Module.compile, module, limit, {"target": target_text(target), **options})


def compile_in_process(
    module: Module, target: str = "host", threads: int | None = None, **options: bool | int | str
) -> Model:
    """For torch.compile: the weights stay in this process, and models that have the same ones share them
    (docs/decisions/0040-weights-in-the-process.md). Nobody can save the model."""
    return _made(_perpend.compile_in_process, module, _limit(threads), {"target": target, **options})


def _made(
    write: Callable[[Module, str, dict[str, bool | int | str]], Report],
    module: Module,
    threads: int,
    options: dict[str, bool | int | str],
) -> Model:
    own = in_python(module)
    model = in_folder(lambda path: write(module, path, options), lambda path: _loaded(module, path, threads))
    model.operators = own
    return model


def in_folder(write: Callable[[str], Report], load: Callable[[str], M]) -> M:
    """A model in a folder that goes with it. write: makes the artifact at a path."""
    folder = TemporaryFolder()
    try:
        path = str(Path(folder.name) / "model.so")
        report = write(path)
        model = load(path)
    except BaseException:
        folder.cleanup()
        raise
    model.report, model.folder = report, folder
    weakref.finalize(folder, shutil.rmtree, folder.name, ignore_errors=True)
    return model


def _loaded(module: Module, path: str, threads: int) -> Model:
    structure: Any = getattr(module, "structure", None)
    if structure is None:
        return Model(path, threads)
    from .torch.module import CompiledModule

    return CompiledModule(path, threads, structure)


def check_options(names: Iterable[str], arguments: Sequence[str]) -> None:
    """Errors: CompileError for a name that is neither one of `arguments` nor that of an option of the compiler."""
    options = [option.name for option in _perpend.compile_options()]
    for name in names:
        if name in arguments or name in options:
            continue
        guess = difflib.get_close_matches(name, [*arguments, *options], n=1)
        known = dict.fromkeys([*arguments, *options])
        hint = f"did you mean '{guess[0]}'?" if guess else f"the options are {' '.join(known)}"
        raise CompileError(f"there is no option '{name}'\nhint: {hint}")


from .schedule import Schedule  # noqa: E402  (it compiles with what stands above)
from .tuning import Tuned, tune  # noqa: E402
