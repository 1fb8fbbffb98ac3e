"""torch.compile(net, backend="perpend"): graphs of Dynamo through the table of torch_operators.

Inference only: graphs that need gradients, and those with unsupported operators, run in PyTorch. Parameters and buffers
are constants of the artifact (frozen) and are compiled again when they change; those that change a second time, such as
a counter or a cache, are inputs from then on. `options={"freeze": False}` makes all of them inputs.
"""

from __future__ import annotations

import hashlib
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dynamo import list_backends, register_backend
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

from . import CompileError, Model, check_options, compile
from .torch_call import Complex, has_effect
from .torch_frontend import Converter, check_operators
from .torch_operators import decompositions
from .torch_types import extent_of, naming

Function = Callable[..., Any]

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
    is_frozen = settings.pop("freeze", True)
    frozen = [index for index, value in enumerate(example_inputs) if is_frozen and _is_static(value)]
    if frozen and not all(_is_plain(example_inputs[index]) for index in frozen):
        frozen = []

    def compile_inference(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Function:
        function: Function = module.forward
        try:
            check_operators(module)
            function = _Compiled(module, frozen, settings)
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
    return not isinstance(value, torch._subclasses.FakeTensor)


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


class _Compiled:
    """One graph. It is compiled at its first call, and again when a frozen tensor has changed."""

    def __init__(self, module: torch.fx.GraphModule, frozen: Sequence[int], settings: dict[str, Any]) -> None:
        self.module = module
        self.settings = settings
        self.model: Model | None = None
        self.is_refused = False
        self.placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self.changed: set[int] = set()  # frozen tensors that have changed once
        self._freeze(frozen)
        self.outputs: list[Any] = []
        self.kept: list[torch.Tensor] = []

    def _freeze(self, frozen: Sequence[int]) -> None:
        self.frozen = list(frozen)
        self.versions: list[tuple[int, int]] = []
        self.tensors = [
            index
            for index, node in enumerate(self.placeholders)
            if index not in self.frozen and isinstance(node.meta.get("val"), torch.Tensor) and not is_token(node)
        ]
        self.sizes = self._sizes_without_tensor()

    def _note_changes(self, versions: list[tuple[int, int]]) -> None:
        """Before the model is compiled again."""
        changed = {i for i, old, new in zip(self.frozen, self.versions, versions, strict=False) if old != new}
        self._freeze([index for index in self.frozen if index not in changed & self.changed])
        self.changed |= changed

    def _sizes_without_tensor(self) -> list[int]:
        """Integer inputs whose symbol is no extent of a tensor: an empty-handed input of that extent brings it."""
        known = {str(e) for i in self.tensors for e in self.placeholders[i].meta["val"].shape}
        symbols = [i for i, node in enumerate(self.placeholders) if isinstance(node.meta.get("val"), torch.SymInt)]
        return [i for i in symbols if str(self.placeholders[i].meta["val"].node.expr) not in known]

    def __call__(self, *inputs: Any) -> list[Any]:
        if self.is_refused:
            return self._in_pytorch(*inputs)
        versions = [(inputs[index].data_ptr(), inputs[index]._version) for index in self.frozen]
        if self.model is None or versions != self.versions:
            self._note_changes(versions)
            versions = [(inputs[index].data_ptr(), inputs[index]._version) for index in self.frozen]
            try:
                self.model = self._compile(inputs)
            except CompileError as error:
                warn_of_pytorch(error)
                self.is_refused = True
                return self._in_pytorch(*inputs)
            self.versions = versions
        values = [inputs[index] for index in self.tensors]
        values += [torch.empty(int(inputs[index]), dtype=torch.bool) for index in self.sizes]
        results = self.model(*(values or [torch.empty(0, dtype=torch.bool)]))
        results = results if isinstance(results, tuple) else (results,)
        return [self._output(kind, value, results, inputs) for kind, value in self.outputs]

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

    def _compile(self, inputs: Sequence[Any]) -> Model:
        converter = Converter("compiled")
        for index, node in enumerate(self.placeholders):
            if index in self.frozen:
                converter.values[node] = converter.constant(inputs[index])
            elif index in self.tensors:
                converter.input(node, node.name)
        for index in self.sizes:
            node = self.placeholders[index]
            converter.graph.input(node.name, [extent_of(node.meta["val"])], "bool")
        if not self.tensors and not self.sizes:
            converter.graph.input("nothing", [0], "bool")  # torch tensors out need torch tensors in
        with naming({}):
            converter.convert(self.module, list(self.module.graph.nodes))
            names, values = self._collect_outputs(converter)
        program = converter.graph.finish(names, values)
        text = hashlib.sha256(str(program).encode()).hexdigest()
        identity = tuple((id(inputs[index]), inputs[index].data_ptr(), inputs[index]._version) for index in self.frozen)
        key = (text, identity, tuple(sorted(self.settings.items())))
        model = _artifacts.get(key)
        if model is None:
            _artifacts[key] = model = compile(program, **self.settings)
        self.kept = [inputs[index] for index in self.frozen]
        return model

    def _collect_outputs(self, converter: Converter) -> tuple[list[str], list[Any]]:
        results = next(node for node in reversed(self.module.graph.nodes) if node.op == "output").args[0]
        self.outputs = []
        names: list[str] = []
        values: list[Any] = []
        for node in results:
            if isinstance(node, torch.fx.Node) and node.op == "placeholder":
                self.outputs.append(("input", self.placeholders.index(node)))
            elif isinstance(node, torch.fx.Node) and is_view_of_input(node):
                self.outputs.append(("view", node))
            elif isinstance(node, torch.fx.Node):
                value = converter.map_argument(node)
                if isinstance(value, Complex):
                    raise CompileError(
                        f"output '{node.name}': complex numbers are not supported\nhint: return torch.view_as_real(...)"
                    )
                if isinstance(value, int) or value is None:
                    self.outputs.append(("number", value))
                    continue
                kind = "size" if isinstance(value, str) else "tensor"
                self.outputs.append((kind, len(values)))
                names.append(f"output{len(values)}")
                values.append(converter.graph.dims([value], scalar=True) if kind == "size" else value)
            else:
                self.outputs.append(("number", node))
        return names, values


if "perpend" not in list_backends(exclude_tags=()):  # otherwise the package's entry point registers it
    register_backend(name="perpend", compiler_fn=perpend_backend)
__all__ = ["CompileError", "perpend_backend"]
