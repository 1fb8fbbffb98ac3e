"""torch.compile(net, backend="perpend"): converts Dynamo's graphs with the table of operators.

Inference only: graphs that need gradients, and those with unsupported operators, run in PyTorch. Parameters and buffers
are frozen: constants of the artifact. A change to one recompiles the graph; a tensor that changes a second time, such
as a counter or a cache, becomes an input. Each call checks PyTorch's version counters and a sample of the memory; with
`options={"freeze": "read"}` it reads all of it, and `{"freeze": False}` makes all of them inputs.
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
from torch._functorch._aot_autograd.schemas import PlainTensorMeta
from torch._functorch.aot_autograd import make_boxed_func
from torch._guards import TracingContext

from .. import CompileError, Model, Module, check_options, compile, target_text
from .call import Complex, has_effect
from .frontend import Converter, check_operators
from .frozen import Frozen, is_plain, is_static
from .operators import decompositions
from .types import extent_of, naming

Function = Callable[..., Any]
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")

# Artifacts in use, by program text, frozen tensors and options. Their users keep the tensors alive, so no id is reused.
_artifacts: weakref.WeakValueDictionary[tuple[Any, ...], Model] = weakref.WeakValueDictionary()


def perpend_backend(
    graph: torch.fx.GraphModule, example_inputs: Sequence[Any], options: dict[str, Any] | None = None, **others: Any
) -> Function:
    """A Dynamo backend. options: freeze, threads, and those of perpend.compile. mode: PyTorch's; all have the same
    effect.

    Errors: CompileError for an option or a mode that does not exist.
    """
    mode = others.pop("mode", None) or MODES[0]
    if mode not in MODES:
        raise CompileError(f"mode: expected one of {', '.join(MODES)}, got {mode!r}\nhint: leave it out")
    settings = {**(options or {}), **others}
    check_options(settings, ("freeze", "target", "threads"))
    if "target" in settings:
        settings["target"] = target_text(settings["target"])
    freeze = settings.pop("freeze", True)
    if freeze not in (True, False, "read"):
        raise CompileError(f"option 'freeze': expected True, False or 'read', got {freeze!r}")
    frozen = [index for index, value in enumerate(example_inputs) if freeze and is_static(value)]
    if frozen and not all(is_plain(example_inputs[index]) for index in frozen):
        frozen = []
    alone: list[_Compiled] = []

    def is_as_given(inputs: Sequence[Any]) -> bool:
        """Whether PyTorch has neither added nor removed inputs."""
        return len(inputs) == len(example_inputs) and not any(graph.state_dict(keep_vars=True))

    def compile_inference(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Function:
        function: Function = module.forward
        try:
            check_inputs(inputs)
            check_operators(module)
            function = _Compiled(module, frozen if is_as_given(inputs) else [], settings, freeze == "read")
            if is_as_given(inputs) and _needs_no_wrappers(TracingContext.try_get()):
                alone.append(function)
        except CompileError as error:
            warn_of_pytorch(error)
        boxed: Function = make_boxed_func(function)
        return boxed

    wrapped: Function = aot_autograd(
        fw_compiler=_run_in_pytorch,
        bw_compiler=_run_in_pytorch,
        inference_compiler=compile_inference,
        decompositions=dict(decompositions()),
    )(graph, example_inputs)
    return _directly(alone[0], wrapped) if len(alone) == 1 else wrapped


def _needs_no_wrappers(context: TracingContext | None) -> bool:
    """Whether the graph's function has the signature of the user's. Otherwise PyTorch's wrappers write back changes of
    inputs and views, unpack tensor subclasses and so on; they take longer than a small model.
    """
    facts: Any = context and context.fw_metadata
    if not facts or (context and context.fakify_first_call) or torch._functorch.config.functionalize_rng_ops:
        return False
    changes = any(info.mutates_data or info.mutates_metadata for info in facts.input_info)
    others = facts.num_outputs_aliased or facts.num_intermediate_bases or facts.tokens or facts.dynamic_outputs
    is_plain = all(
        isinstance(meta, PlainTensorMeta) for meta in (*facts.subclass_inp_meta, *facts.subclass_fw_graph_out_meta)
    )
    return is_plain and not (changes or others) and facts.grad_enabled_mutation is None


def _directly(compiled: _Compiled, wrapped: Function) -> Function:
    def call(*inputs: Any) -> Any:
        version = compiled.current(inputs)
        return compiled.run(version, inputs) if version else wrapped(*inputs)

    return call


def check_inputs(inputs: Sequence[Any]) -> None:
    """Errors: CompileError for the ragged lengths of a nested tensor, which no single extent describes."""
    if any(isinstance(value, torch.SymInt) and value.node.is_nested_int() for value in inputs):
        raise CompileError("nested tensors are not supported\nhint: pad their parts to one length")


def warn_of_pytorch(error: CompileError) -> None:
    problem = str(error).partition("\nhint: ")[0]
    warnings.warn(f"perpend: this graph runs in PyTorch, because {problem}", stacklevel=3)


def _run_in_pytorch(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Function:
    warnings.warn(
        "perpend compiles inference only; this graph needs gradients and runs in PyTorch\n"
        "hint: call it in `with torch.no_grad():`, or set requires_grad_(False) on the module",
        stacklevel=2,
    )
    boxed: Function = make_boxed_func(module.forward)
    return boxed


def is_view_of_input(node: torch.fx.Node) -> bool:
    while node.op == "call_function" and getattr(node.target, "is_view", False):
        source = node.args[0]
        if not isinstance(source, torch.fx.Node):
            return False
        node = source
    return node.op == "placeholder" and isinstance(node.meta.get("val"), torch.Tensor)


def is_token(node: torch.fx.Node) -> bool:
    """Whether an input only orders side effects: its value is None."""
    return bool(node.users) and all(has_effect(user) and user.args[0] is node for user in node.users)


@dataclass(frozen=True)
class _Version:
    """The model for one state of the frozen tensors. Immutable: calls on other threads may be using it."""

    model: Model
    frozen: Frozen
    tensors: Sequence[int]
    sizes: Sequence[int]
    outputs: Sequence[tuple[str, Any]]
    are_results: bool  # whether the graph returns the model's outputs unchanged


class _Compiled:
    """One graph. It is compiled at its first call, and again after a frozen tensor has changed. Thread-safe."""

    def __init__(
        self,
        module: torch.fx.GraphModule,
        frozen: Sequence[int],
        settings: dict[str, Any],
        reads_all: bool,
    ) -> None:
        self.reads_all = reads_all
        self.module = module
        self.settings = settings
        self.is_refused = False
        self.placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self.lock = threading.Lock()  # guards the members below; `version` is read without it
        self.version: _Version | None = None
        self.frozen = list(frozen)
        self.changed: set[int] = set()  # changed once; a second change makes it an input

    def _sizes_without_tensor(self, tensors: Sequence[int]) -> list[int]:
        """Integer inputs whose symbol is no tensor's extent: an additional empty input of that extent supplies it."""
        known = {str(e) for i in tensors for e in self.placeholders[i].meta["val"].shape}
        symbols = [i for i, node in enumerate(self.placeholders) if isinstance(node.meta.get("val"), torch.SymInt)]
        return [i for i in symbols if str(self.placeholders[i].meta["val"].node.expr) not in known]

    def current(self, inputs: tuple[Any, ...]) -> _Version | None:
        """The model for the present state; None if the graph cannot be compiled."""
        version = self.version
        if version and not version.frozen.changes(inputs):
            return version
        with self.lock:
            version = self.version
            changed = set(version.frozen.changes(inputs)) if version else set()
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

    def __call__(self, *inputs: Any) -> list[Any]:
        version = self.current(inputs)
        return self.run(version, inputs) if version else self._in_pytorch(*inputs)

    def run(self, version: _Version, inputs: tuple[Any, ...]) -> list[Any]:
        values = [inputs[index] for index in version.tensors]
        if version.sizes:
            values += [torch.empty(int(inputs[index]), dtype=torch.bool) for index in version.sizes]
        results = version.model(*(values or [torch.empty(0, dtype=torch.bool)]))
        if not isinstance(results, tuple):
            results = (results,)
        if version.are_results:
            return list(results)
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
        """An input that is a view: its strides tell how to make it again from the caller's tensor."""

        def evaluate(node: torch.fx.Node) -> Any:
            if node.op == "placeholder":
                return inputs[self.placeholders.index(node)]
            target: Any = node.target
            return target(*self._view(node.args, inputs), **self._view(node.kwargs, inputs))

        return torch.fx.map_arg(argument, evaluate)

    def _compile(self, inputs: Sequence[Any]) -> _Version:
        frozen = self.frozen
        kept = Frozen(inputs, frozen, self.reads_all)  # before they are read
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
            converter.graph.input("nothing", [0], "bool")  # the model returns torch tensors only if it receives one
        with naming({}):
            converter.convert(self.module, list(self.module.graph.nodes))
            names, values, outputs = self._collect_outputs(converter)
        model = self._artifact(converter.graph.finish(names, values), kept.tensors.states)
        are_results = outputs == [("tensor", index) for index in range(len(values))]
        return _Version(model, kept, tensors, sizes, outputs, are_results)

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
