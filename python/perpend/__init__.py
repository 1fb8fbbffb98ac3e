"""Perpend compiles machine-learning models into small native libraries.

``model = perpend.compile("model.onnx")`` or ``perpend.compile(net, example_inputs=(x,))`` compiles,
``perpend.load("model.so")`` loads what was compiled before, ``model(x)`` runs it on numpy arrays or torch tensors.
"""

from __future__ import annotations

import difflib
import os
import shutil
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from . import _perpend, results, tokenizer
from ._perpend import CompileError, GraphBuilder, Module, Report, ScheduleError
from .artifact import Artifact, ForeignModel, refusal_of
from .chat import ChatTemplate, TemplateError
from .operators import Operator, Operators, import_source, in_python
from .temporary_folders import TemporaryFolder

__version__ = _perpend.version()
__all__ = [
    "ChatTemplate",
    "CompileError",
    "ForeignModel",
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
    "tokenizer",
    "tune",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class TensorInfo(NamedTuple):
    """What a model declares about an input or output. Symbolic extents are text, such as "2*n"."""

    name: str
    dtype: str
    shape: list[int | str]


class Model(Artifact, _perpend.Model):
    """A compiled model. Call it with arrays, by position or by name; torch tensors in give torch tensors out.

    Returns one output as an array, several as a tuple, and a sequence of maps (an ONNX type) as a list of dicts.
    An input that is a map takes a dict. Of a model with several entries, a call runs the first; `model["decode"]` is
    the model of another one, which shares code, weights and states, and `model.entries` lists the names.
    States: a model that has some (`states`) continues with each call where the last one ended, whichever entry that
    was. reset() gives the first values again, truncate(length) shortens what has grown, save_states() and
    load_states(data) are them as bytes, session() is the model, with its entries, with states of its own, and fork()
    one with a copy of these.
    Threads: calls from several Python threads may run at once; those of a model with states take turns.
    """

    entry = ""  # the name of the entry, if it is not the first

    def __init__(self, path: str | Model, threads: int = 0, weights: str = "", entry: str = "") -> None:
        if isinstance(path, Model):
            entry = entry or path.entry
            super().__init__(path, entry or path.entries[0])
            weights = path.weights
        else:
            super().__init__(path, threads, weights)
        self.weights, self.entry = weights, entry
        self._of_entries: dict[str, Model] = {}
        if '"labels"' in self.descriptor:
            for number, output in enumerate(self.interface["outputs"]):
                if "labels" in output:
                    self.present_as_maps(number, output["labels"])
        if '"map"' in self.descriptor:
            maps = [entry.get("map") for entry in self.interface["inputs"]]
            for name in dict.fromkeys(filter(None, maps)):
                self.take_map(name, maps.index(name))

    def __getitem__(self, entry: str) -> Model:
        """The model of an entry. Errors: ValueError, which lists the names."""
        if entry not in self._of_entries:
            model = self._of_entry(entry)
            model.report, model.operators, model.folder = self.report, self.operators, self.folder
            self._of_entries[entry] = model
        return self._of_entries[entry]

    def _of_entry(self, entry: str) -> Model:
        return type(self)(self, entry=entry)

    @property
    def inputs(self) -> list[TensorInfo]:
        return [TensorInfo(*info) for info in self.input_list]

    @property
    def outputs(self) -> list[TensorInfo]:
        return [TensorInfo(*info) for info in self.output_list]

    @property
    def interface(self) -> dict[str, Any]:
        """The part of the description that is about this entry: symbols, inputs, outputs."""
        whole = self.description
        named = {entry["name"]: entry for entry in whole.get("entries", ())}
        part: dict[str, Any] = named.get(self.entry, whole)
        return part

    def _again(self) -> Model:
        return type(self)(self, entry=self.entry)

    def _separate(self, copies_states: bool) -> Model:
        copy = self._again()
        copy.separate(copies_states)
        copy.report, copy.operators, copy.folder = self.report, self.operators, self.folder
        return copy

    def session(self) -> Model:
        """The model with states of its own, at their first values; it shares the code, which never changes."""
        return self._separate(copies_states=False)

    def fork(self) -> Model:
        """The model with a copy of the states, which goes its own way from here."""
        return self._separate(copies_states=True)

    def __copy__(self) -> Model:
        return self.fork()

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self.fork()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled\nhint: use save(path) and perpend.load(path)")

    def __repr__(self) -> str:
        def signature(tensors: list[TensorInfo]) -> str:
            return ", ".join(f"{t.name}: {t.dtype}[{', '.join(map(str, t.shape))}]" for t in tensors)

        return f"<perpend.Model '{self.name}' ({signature(self.inputs)}) -> ({signature(self.outputs)})>"


M = TypeVar("M", bound=Artifact)


class _NestedModel(Model):
    """A model loaded from a file. Its call returns what the original module returned, such as a dict."""

    def __init__(self, path: str | Model, threads: int = 0, weights: str = "", entry: str = "") -> None:
        super().__init__(path, threads, weights, entry)
        nesting = self.interface.get("results")
        self.results = None if nesting is None else results.reader(nesting)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        outputs = super().__call__(*inputs, **named)
        if self.results is None:
            return outputs
        return self.results(outputs if isinstance(outputs, tuple) else (outputs,))


class _EntriesModel(Model):
    """A model with entries that were modules of PyTorch. A call of an entry returns what its module did."""

    def __init__(
        self, path: str | Model, threads: int = 0, structures: Mapping[str, Any] | None = None, entry: str = ""
    ) -> None:
        super().__init__(path, threads, entry=entry)
        self.structures = structures or {}

    def _of_entry(self, entry: str) -> Model:
        from .torch.module import CompiledModule

        if entry in self.structures:
            return CompiledModule(self, self.threads, self.structures[entry], entry)
        return Model(self, entry=entry)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        first = self.entries[0]
        return self[first](*inputs, **named) if first in self.structures else super().__call__(*inputs, **named)

    def _again(self) -> Model:
        return _EntriesModel(self, self.threads, self.structures)


def load(path: str | PathLike[str], threads: int | None = None, *, weights: str | PathLike[str] | None = None) -> Model:
    """Loads a compiled model; `threads` limits each call (None: all cores). weights: a folder in which the files of
    weights that it may need are looked for first; then beside it, and in the folders of the variable PERPEND_WEIGHTS.
    """
    if _perpend.is_program(os.fsdecode(path)):
        return cast(Model, _accelerator_model(os.fsdecode(path), None))
    model = Model(os.fsdecode(path), _limit(threads), os.fsdecode(weights or ""))
    return _NestedModel(model.path, model.threads, model.weights) if '"results"' in model.descriptor else model


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
    states: Mapping[str, str] | None = None,
    cache: int = 0,
    cache_type: str = "f32",
    texts: int = 1,
) -> Module:
    """The model as a module at graph level, before compilation. Arguments: as `compile`."""
    if cache < 0:
        raise CompileError(f"cache: expected a number of tokens, got {cache}\nhint: 0 keeps nothing")
    if cache and not (isinstance(model, (str, PathLike, Mapping)) or hasattr(model, "named_buffers")):
        raise CompileError(
            "cache: only for checkpoints and torch.nn.Modules of language models\n"
            "hint: of an ONNX model, name inputs and outputs: states={'past_*': 'present_*'}"
        )
    if cache_type != "f32" and not (cache and isinstance(model, (str, PathLike))):
        raise CompileError(
            "cache_type: only for a checkpoint with a cache\nhint: give the most tokens, too: cache=4096"
        )
    if texts != 1 and not (cache and isinstance(model, (str, PathLike))):
        raise CompileError("texts: only for a checkpoint with a cache\nhint: give the most tokens, too: cache=4096")
    module = _imported(model, dims, operators, example_inputs, dynamic_shapes, (cache, cache_type, texts))
    if states and getattr(module, "structure", None):
        raise CompileError("states: only for ONNX models\nhint: a torch.nn.Module keeps them in its buffers")
    if states:
        module.make_states([f"{name}={output}" for name, output in states.items()])
    return module


def _imported(
    model: Any,
    dims: Mapping[str, int | str] | None,
    operators: Operators,
    example_inputs: Sequence[Any] | Mapping[str, Any] | None,
    dynamic_shapes: Any,
    cache: tuple[int, str, int],
) -> Module:
    if isinstance(model, Module):
        return model
    if isinstance(model, Mapping):
        return _joined(model, dims, operators, example_inputs, dynamic_shapes, cache[0])
    if isinstance(model, (str, PathLike)):
        return import_source(fspath(model), dims or {}, operators, cache)
    if hasattr(model, "SerializeToString"):
        return import_source(model.SerializeToString(), dims or {}, operators)
    if "torch" in sys.modules and not isinstance(model, _perpend.Model):
        from .torch import frontend

        if frontend.accepts(model):
            if dims:
                raise CompileError(
                    "dims: only for models in files\nhint: use dynamic_shapes, as in torch.export.export"
                )
            return frontend.import_model(model, example_inputs, dynamic_shapes, cache[0])
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
        "compile: expected the path of an .onnx or .gguf file or of a folder with config.json, an onnx.ModelProto, "
        f"a torch.export.ExportedProgram or a torch.nn.Module, got {type(model).__name__}{hint}"
    )


def _joined(
    models: Mapping[str, Any],
    dims: Mapping[str, int | str] | None,
    operators: Operators,
    example_inputs: Any,
    dynamic_shapes: Any,
    cache: int,
) -> Module:
    """A module with one entry for each of some models."""
    for what, given in [("example_inputs", example_inputs), ("dynamic_shapes", dynamic_shapes)]:
        if given is not None and not (isinstance(given, Mapping) and set(given) <= set(models)):
            raise TypeError(f"{what}: expected a dict with those of entries, by the names {', '.join(models)}")
    parts = {
        name: import_model(
            model,
            dims=dims,
            operators=operators,
            example_inputs=(example_inputs or {}).get(name),
            dynamic_shapes=(dynamic_shapes or {}).get(name),
            cache=cache,
        )
        for name, model in models.items()
    }
    if not parts:
        raise CompileError("compile: expected at least one entry, got an empty dict")
    module = Module.join(parts)
    module.operators = [operator for part in parts.values() for operator in getattr(part, "operators", [])]
    structures = {name: structure for name, part in parts.items() if (structure := getattr(part, "structure", None))}
    module.structure = structures or None
    return module


def target_text(target: str | Sequence[str]) -> str:
    """One target, or several, as the compiler's option `target`."""
    return target if isinstance(target, str) or not isinstance(target, Sequence) else ",".join(target)


ARGUMENTS = (
    "target",
    "dims",
    "operators",
    "example_inputs",
    "dynamic_shapes",
    "states",
    "cache",
    "cache_type",
    "texts",
    "threads",
)


def compile(
    model: Any,
    target: str | Sequence[str] = "host",
    *,
    dims: Mapping[str, int | str] | None = None,
    operators: Operators = (),
    example_inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    states: Mapping[str, str] | None = None,
    cache: int = 0,
    cache_type: str = "f32",
    texts: int = 1,
    threads: int | None = None,
    **options: bool | int | str,
) -> Model:
    """Compiles a model.

    model: path of an .onnx, .gguf or .mlir file or of a folder with config.json and safetensors files (a checkpoint of
        a language model), onnx.ModelProto, torch.export.ExportedProgram, or torch.nn.Module (in eval mode); or a dict
        of such, by the names of entries: one artifact, which has equal weights once. model["decode"] runs an entry; a
        call of the model runs the one called main, or the first. example_inputs and dynamic_shapes are dicts then.
    target: the machine to compile for, or several for one artifact (docs/howto/run-on-several-machines.md). For another
        architecture than this machine's, the result is a ForeignModel, which can be saved but not called
        (docs/targets.md). For an accelerator, its simulator runs the model in this process (docs/quoin).
    dims: values or names for symbolic dimensions of a model in a file, such as {"batch": 1, "x:0": "n"}.
    operators: the user's own operators: paths of descriptions, or Operator with a kernel in Python; one or a list
        (docs/howto/bring-an-operator.md).
    example_inputs, dynamic_shapes: for a torch.nn.Module, as in torch.export.export; a dict gives inputs by name.
    states: inputs of an ONNX model and the outputs that are their next values, which the model keeps from call to call:
        {"past_*": "present_*"}, or "present_*:4096" with the most rows. Buffers that a torch.nn.Module changes are
        states, too.
    cache: of a checkpoint, the most tokens whose keys and values the model keeps from call to call, so that each call
        continues the text: tokens [n] to the logits of the last of them. 0: it takes whole texts. Of a torch.nn.Module
        that takes past_key_values (those of transformers), likewise; a call takes and returns all but the cache.
    cache_type: of keys and values in a checkpoint's cache: f32, f16, bf16 or int8.
    texts: with a cache, the number of texts that a call continues together, each by as many tokens as it is given:
        texts times tokens [n] to logits [texts, vocabulary], of NaN for a text that is given none.
    threads: limit for each call. options: those of `perpend compile`, by their names in Python (opt_level, ...).
    Returns a model whose call gives, for a torch.nn.Module, what the module returns: the same tuples, lists, dicts,
        dataclasses, numbers and texts. It is a torch.nn.Module itself then, on the CPU and without parameters.
    Errors: CompileError with the compiler's text; FileNotFoundError for a path that leads nowhere.
    """
    check_options(options, ARGUMENTS)
    limit = _limit(threads)
    module = import_model(
        model,
        dims=dims,
        operators=operators,
        example_inputs=example_inputs,
        dynamic_shapes=dynamic_shapes,
        states=states,
        cache=cache,
        cache_type=cache_type,
        texts=texts,
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
    ending = _perpend.artifact_ending(str(options.get("target", "host")))
    model = in_folder(lambda path: write(module, path, options), lambda path: _loaded(module, path, threads), ending)
    model.operators = own
    return model


def in_folder(write: Callable[[str], Report], load: Callable[[str], M], ending: str = ".so") -> M:
    """A model in a folder that goes with it. write: makes the artifact at a path; ending: of its name."""
    folder = TemporaryFolder()
    try:
        path = str(Path(folder.name) / f"model{ending}")
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
    if _perpend.is_program(path):
        return cast(Model, _accelerator_model(path, structure))
    if refusal := refusal_of(path):
        return cast(Model, ForeignModel(path, refusal))
    if structure is None:
        return Model(path, threads)
    from .torch.module import CompiledModule

    if isinstance(structure, dict):
        return _EntriesModel(path, threads, structure)
    return CompiledModule(path, threads, structure)


def _accelerator_model(path: str, structure: Any) -> Any:
    if structure is None:
        from .accelerators import AcceleratorModel

        return AcceleratorModel(path)
    from .torch.module import AcceleratorModule

    return AcceleratorModule(path, structure)


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
