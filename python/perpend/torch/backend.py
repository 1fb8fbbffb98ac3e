"""torch.compile(net, backend="perpend"): graphs of Dynamo through the table of operators.

Inference only: graphs that need gradients, and those with unsupported operators, run in PyTorch. Parameters and buffers
are constants of the artifact (frozen) and are compiled again when they change; those that change a second time, such as
a counter or a cache, are inputs from then on. Each call reads them to see that; `options={"freeze": "unchecked"}`
trusts PyTorch's counters of changes instead, and `{"freeze": False}` makes all of them inputs.
"""

from __future__ import annotations

import hashlib
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._dynamo import list_backends, register_backend
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

from .. import CompileError, Model, Module, check_options, compile
from .._perpend import content_hashes
from .call import Complex, has_effect
from .frontend import Converter, check_operators
from .operators import decompositions
from .types import extent_of, naming

Function = Callable[..., Any]
State = tuple[int, ...]

# Artifacts in use, by program text, frozen tensors and options. Their users keep the tensors, so no identity is reused.
_artifacts: weakref.WeakValueDictionary[tuple[Any, ...], Model] = weakref.WeakValueDictionary()


def perpend_backend(
    graph: torch.fx.GraphModule, example_inputs: Sequence[Any], options: dict[str, Any] | None = None, **others: Any
) -> Function:
    """A Dynamo backend. options: freeze, threads, and those of perpend.compile.

    Errors: CompileError for an option that does not exist.
    """
    settings = {**(options or {}), **{name: value for name, value in others.items() if name != "mode"}}
    check_options(settings, ("freeze", "target", "threads"))
    freeze = settings.pop("freeze", True)
    if freeze not in (True, False, "unchecked"):
        raise CompileError(f"option 'freeze': expected True, False or 'unchecked', got {freeze!r}")
    frozen = [index for index, value in enumerate(example_inputs) if freeze and _is_static(value)]
    if frozen and not all(_is_plain(example_inputs[index]) for index in frozen):
        frozen = []

    def compile_inference(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Function:
        function: Function = module.forward
        try:
            check_operators(module)
            function = _Compiled(module, frozen, settings, _versions_of if freeze == "unchecked" else _states_of)
        except CompileError as error:
            warn_of_pytorch(error)
        boxed: Function = make_boxed_func(function)
        return boxed

    compiled: Function = aot_autograd(
        fw_compiler=_run_in_pytorch,
        bw_compiler=_run_in_pytorch,
        inference_compiler=compile_inference,
        decompositions=dict(decompositions()),
    )(graph, example_inputs)
    return compiled


def warn_of_pytorch(error: CompileError) -> None:
    problem = str(error).partition("\nhint: ")[0]
    warnings.warn(f"perpend: this graph runs in PyTorch, because {problem}", stacklevel=3)


def _run_in_pytorch(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Function:
    warnings.warn("perpend compiles inference only; this graph needs gradients and runs in PyTorch", stacklevel=2)
    boxed: Function = make_boxed_func(module.forward)
    return boxed


def _is_static(value: Any) -> bool:
    if isinstance(value, torch.nn.Parameter):
        return True
    return isinstance(value, torch.Tensor) and getattr(value, "_dynamo_static_input_type", None) is not None


def _is_plain(value: torch.Tensor) -> bool:
    return value.is_cpu and not isinstance(value, torch._subclasses.FakeTensor)


def is_view_of_input(node: torch.fx.Node) -> bool:
    while node.op == "call_function" and getattr(node.target, "is_view", False):
        source = node.args[0]
        if not isinstance(source, torch.fx.Node):
            return False
        node = source
    return node.op == "placeholder" and isinstance(node.meta.get("val"), torch.Tensor)


def is_token(node: torch.fx.Node) -> bool:
    """An input that only orders effects: None is given for it."""
    return bool(node.users) and all(has_effect(user) and user.args[0] is node for user in node.users)


@dataclass(frozen=True)
class _Version:
    """The model for some values of the frozen tensors. Never changed: calls on other threads may be using it."""

    model: Model
    frozen: Sequence[int]
    states: Sequence[State]  # of the frozen tensors, as they are checked
    tensors: Sequence[int]
    sizes: Sequence[int]
    outputs: Sequence[tuple[str, Any]]
    kept: Sequence[torch.Tensor]  # the frozen tensors: nothing else takes their places in memory


def _versions_of(tensors: Sequence[torch.Tensor]) -> list[State]:
    """Whether tensors were changed in place, or are others. Changes through `.data` do not show."""
    return [(tensor.data_ptr(), tensor._version) for tensor in tensors]


def _states_of(tensors: Sequence[torch.Tensor]) -> list[State]:
    """What _versions_of says, and a hash of the memory, which shows every change."""
    storages = [tensor.untyped_storage() for tensor in tensors]  # stay while they are read
    memory = [(storage.data_ptr(), storage.nbytes()) for storage in storages]
    hashes = content_hashes(memory)
    return [(*version, value) for version, value in zip(_versions_of(tensors), hashes, strict=True)]


class _Compiled:
    """One graph. It is compiled at its first call, and again when a frozen tensor has changed. Threads: any."""

    def __init__(
        self,
        module: torch.fx.GraphModule,
        frozen: Sequence[int],
        settings: dict[str, Any],
        states_of: Callable[[Sequence[torch.Tensor]], list[State]],
    ) -> None:
        self.states_of = states_of
        self.module = module
        self.settings = settings
        self.is_refused = False
        self.placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self.lock = threading.Lock()  # of what follows; `version` is read without it
        self.version: _Version | None = None
        self.frozen = list(frozen)
        self.changed: set[int] = set()  # frozen tensors that have changed once; the second time, they become inputs

    def _sizes_without_tensor(self, tensors: Sequence[int]) -> list[int]:
        """Integer inputs whose symbol is no extent of a tensor: an empty-handed input of that extent brings it."""
        known = {str(e) for i in tensors for e in self.placeholders[i].meta["val"].shape}
        symbols = [i for i, node in enumerate(self.placeholders) if isinstance(node.meta.get("val"), torch.SymInt)]
        return [i for i in symbols if str(self.placeholders[i].meta["val"].node.expr) not in known]

    def _current(self, inputs: Sequence[Any]) -> _Version | None:
        """None: the graph cannot be compiled."""
        version = self.version
        if version and not self._changes(version, inputs):
            return version
        with self.lock:
            version = self.version
            changed = self._changes(version, inputs) if version else set()
            if self.is_refused or (version and not changed):
                return version
            self.frozen = [index for index in self.frozen if index not in changed & self.changed]
            self.changed |= changed
            try:
                self.version = self._compile(inputs)
            except CompileError as error:
                warn_of_pytorch(error)
                self.is_refused = True
                self.version = None
            return self.version

    def _changes(self, version: _Version, inputs: Sequence[Any]) -> set[int]:
        states = self.states_of([inputs[index] for index in version.frozen])
        return {i for i, old, new in zip(version.frozen, version.states, states, strict=True) if old != new}

    def __call__(self, *inputs: Any) -> list[Any]:
        version = None if self.is_refused else self._current(inputs)
        if version is None:
            return self._in_pytorch(*inputs)
        values = [inputs[index] for index in version.tensors]
        values += [torch.empty(int(inputs[index]), dtype=torch.bool) for index in version.sizes]
        results = version.model(*(values or [torch.empty(0, dtype=torch.bool)]))
        results = results if isinstance(results, tuple) else (results,)
        return [self._output(kind, value, results, inputs) for kind, value in version.outputs]

    def _in_pytorch(self, *inputs: Any) -> list[Any]:
        results: list[Any] = self.module.forward(*inputs)
        return results

    def _output(self, kind: str, value: Any, results: Sequence[Any], inputs: Sequence[Any]) -> Any:
        if kind == "tensor":
            return results[value]
        if kind == "input":
            return inputs[value]
        if kind == "view":
            return self._view(value, inputs)
        return int(results[value].item()) if kind == "size" else value

    def _view(self, argument: Any, inputs: Sequence[Any]) -> Any:
        """A view of an input in PyTorch: its strides say how to make it again from the caller's tensor."""

        def evaluate(node: torch.fx.Node) -> Any:
            if node.op == "placeholder":
                return inputs[self.placeholders.index(node)]
            target: Any = node.target
            return target(*self._view(node.args, inputs), **self._view(node.kwargs, inputs))

        return torch.fx.map_arg(argument, evaluate)

    def _compile(self, inputs: Sequence[Any]) -> _Version:
        frozen = self.frozen
        kept = [inputs[index] for index in frozen]
        states, contents = self.states_of(kept), _states_of(kept)  # before they are read
        tensors = [
            index
            for index, node in enumerate(self.placeholders)
            if index not in frozen and isinstance(node.meta.get("val"), torch.Tensor) and not is_token(node)
        ]
        sizes = self._sizes_without_tensor(tensors)
        converter = Converter("compiled")
        for index, node in enumerate(self.placeholders):
            if index in frozen:
                converter.values[node] = converter.constant(inputs[index])
            elif index in tensors:
                converter.input(node, node.name)
        for index in sizes:
            node = self.placeholders[index]
            converter.graph.input(node.name, [extent_of(node.meta["val"])], "bool")
        if not tensors and not sizes:
            converter.graph.input("nothing", [0], "bool")  # torch tensors out need torch tensors in
        with naming({}):
            converter.convert(self.module, list(self.module.graph.nodes))
            names, values, outputs = self._collect_outputs(converter)
        identity = tuple((id(tensor), *state) for tensor, state in zip(kept, contents, strict=True))
        model = self._artifact(converter.graph.finish(names, values), identity)
        return _Version(model, frozen, states, tensors, sizes, outputs, kept)

    def _artifact(self, program: Module, identity: tuple[Any, ...]) -> Model:
        text = hashlib.sha256(str(program).encode()).hexdigest()
        key = (text, identity, tuple(sorted(self.settings.items())))
        model = _artifacts.get(key)
        if model is None:
            _artifacts[key] = model = compile(program, **self.settings)
        return model

    def _collect_outputs(self, converter: Converter) -> tuple[list[str], list[Any], list[tuple[str, Any]]]:
        results = next(node for node in reversed(self.module.graph.nodes) if node.op == "output").args[0]
        outputs: list[tuple[str, Any]] = []
        names: list[str] = []
        values: list[Any] = []
        for node in results:
            if isinstance(node, torch.fx.Node) and node.op == "placeholder":
                outputs.append(("input", self.placeholders.index(node)))
            elif isinstance(node, torch.fx.Node) and is_view_of_input(node):
                outputs.append(("view", node))
            elif isinstance(node, torch.fx.Node):
                value = converter.map_argument(node)
                if isinstance(value, Complex):
                    raise CompileError(
                        f"output '{node.name}': complex numbers are not supported\nhint: return torch.view_as_real(...)"
                    )
                if isinstance(value, int) or value is None:
                    outputs.append(("number", value))
                    continue
                kind = "size" if isinstance(value, str) else "tensor"
                outputs.append((kind, len(values)))
                names.append(f"output{len(values)}")
                values.append(converter.graph.dims([value], scalar=True) if kind == "size" else value)
            else:
                outputs.append(("number", node))
        return names, values, outputs


if "perpend" not in list_backends(exclude_tags=()):  # otherwise the package's entry point registers it
    register_backend(name="perpend", compiler_fn=perpend_backend)
__all__ = ["CompileError", "perpend_backend"]
