"""torch.compile(net, backend="perpend"): converts Dynamo's graphs with the table of operators.

Inference only: graphs that need gradients run in PyTorch, and so do operators that are not supported, between parts
that are compiled. Parameters and buffers are constants of the artifact (frozen) and are compiled again when they
change; those that change a second time are inputs from then on, and those that the graph itself changes, such as a
counter or a cache, from the beginning. Each call looks at
PyTorch's counters of changes and at a sample of the memory; with `options={"freeze": "read"}` it reads all of it, and
`{"freeze": False}` makes all of them inputs.
"""

from __future__ import annotations

import hashlib
import logging
import operator
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._dynamo import list_backends, register_backend
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.schemas import PlainTensorMeta
from torch._functorch.aot_autograd import make_boxed_func
from torch._guards import TracingContext

from .. import CompileError, Model, Module, check_options, compile_in_process, target_text
from .call import Complex, has_effect, place_of
from .frontend import Converter, check_operators, unsupported_nodes
from .frozen import Frozen, is_plain, is_static
from .growing import MOST, Grown, growths_of, writes_of
from .layouts import Layout
from .numbers import result
from .operators import decompositions, own_formulas
from .parts import Parts, is_view, split
from .returned import Results, Returned, root_of
from .scalars import Scalars, Sources
from .types import naming

Function = Callable[..., Any]
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")

logger = logging.getLogger("perpend")
_said: set[str] = set()  # operators of which the log says that PyTorch runs them

# Artifacts in use, by program text, frozen tensors and options. Their users keep the tensors, so no identity is reused.
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
    check_options(settings, ("freeze", "grow", "target", "threads"))
    if "target" in settings:
        settings["target"] = target_text(settings["target"])
    freeze = settings.pop("freeze", True)
    if freeze not in (True, False, "read"):
        raise CompileError(f"option 'freeze': expected True, False or 'read', got {freeze!r}")
    grow = bool(settings.pop("grow", False))
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
            changed = _changed_inputs(TracingContext.try_get())
            constant = [index for index in frozen if index not in changed] if is_as_given(inputs) else []
            written = changed if is_as_given(inputs) else []
            compiled = _Compiled(module, constant, settings, freeze == "read", grow=grow, changed=written)
            compiled.divide(unsupported_nodes(module))
            function = compiled
            if is_as_given(inputs) and _needs_no_wrappers(TracingContext.try_get()):
                alone.append(compiled)
        except CompileError as error:
            warn_of_pytorch(error)
        boxed: Function = make_boxed_func(function)
        return boxed

    trace = aot_autograd(
        fw_compiler=_run_in_pytorch,
        bw_compiler=_run_in_pytorch,
        inference_compiler=compile_inference,
        decompositions=dict(decompositions()),
    )
    with own_formulas():
        wrapped: Function = trace(graph, example_inputs)
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


def _changed_inputs(context: TracingContext | None) -> list[int]:
    """The arguments that the graph itself changes, such as a cache or a counter: its first results are their new
    values."""
    facts: Any = context and context.fw_metadata
    return list(facts.mutated_inp_runtime_indices) if facts and not facts.tokens else []


def _directly(compiled: _Compiled, wrapped: Function) -> Function:
    def call(*inputs: Any) -> Any:
        results = compiled.results(inputs)
        return wrapped(*inputs) if results is None else results

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
    root = root_of(node)
    return root.op == "placeholder" and root is not node and isinstance(root.meta.get("val"), torch.Tensor)


def is_token(node: torch.fx.Node) -> bool:
    """Whether an input only orders side effects: its value is None."""
    return bool(node.users) and all(has_effect(user) and user.args[0] is node for user in node.users)


@dataclass(frozen=True)
class _Version:
    """The model for one state of the frozen tensors. Immutable: calls on other threads may be using it."""

    model: Model
    frozen: Frozen
    tensors: Sequence[int]
    scalars: Scalars
    returned: Returned
    grown: Grown | None


class _Compiled:
    """One graph. It is compiled at its first call, and again after a frozen tensor has changed. Thread-safe."""

    def __init__(
        self,
        module: torch.fx.GraphModule,
        frozen: Sequence[int],
        settings: dict[str, Any],
        reads_all: bool,
        seeds: int = 0,
        grow: bool = False,
        changed: Sequence[int] = (),
    ) -> None:
        """seeds: of random values, that other parts of a graph have. grow: whether results may lengthen arguments.
        changed: the arguments that the first results are new values of."""
        self.grow = grow
        self.writes = writes_of(list(module.graph.find_nodes(op="placeholder")), changed, results_of(module))
        self.reads_all = reads_all
        self.module = module
        self.settings = settings
        self.seeds = seeds
        self.is_refused = False
        self.parts: Parts | None = None
        self.placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self.lock = threading.Lock()  # of what follows; `version` and `parts` are read without it
        self.version: _Version | None = None
        self.frozen = list(frozen)
        self.changed: set[int] = set()  # changed once; a second change makes it an input

    def divide(self, apart: Mapping[torch.fx.Node, str]) -> None:
        """Leaves some nodes to PyTorch. They are given with the reasons.
        Errors: CompileError where nothing else is left, and one of them is PyTorch's own."""
        if not apart:
            return
        parts, functions, seeds = split(self.module, apart.__contains__), list[Function](), self.seeds
        if not any(part.is_compiled for part in parts) and any(map(is_of_pytorch, apart)):
            check_operators(self.module)
            raise CompileError(next(iter(apart.values())))
        for part in parts:
            function: Function = part.module.forward
            if part.is_compiled:
                frozen = [i for i, node in enumerate(part.inputs) if self._is_frozen(node)]
                function = _Compiled(part.module, frozen, self.settings, self.reads_all, seeds, self.grow)
                seeds += len(part.module.graph.nodes)
            functions.append(function)
        say_what_stays(apart)
        self.parts = Parts(self.module, parts, functions)

    def _is_frozen(self, node: torch.fx.Node) -> bool:
        return node.op == "placeholder" and self.placeholders.index(node) in self.frozen

    def current(self, inputs: tuple[Any, ...]) -> _Version | None:
        """None: the graph cannot be compiled, at least not as a whole."""
        version = self.version
        if version and not version.frozen.changes(inputs):
            return version
        with self.lock:
            version = self.version
            changed = set(version.frozen.changes(inputs)) if version else set()
            if self.is_refused or self.parts or (version and not changed):
                return version
            self.frozen = [index for index in self.frozen if index not in changed & self.changed]
            self.changed |= changed
            self.version = None
            converter = Converter("compiled")
            try:
                self.version = self._compile(converter, inputs)
            except CompileError as error:
                if not (self.writes or self.grow):
                    self._refuse(error, converter.failed)
                    return self.version
                logger.warning("perpend copies what this graph writes to: %s", error)
                self.writes, self.grow = [], False
            else:
                return self.version
        return self.current(inputs)

    def _refuse(self, error: CompileError, node: torch.fx.Node | None) -> None:
        """Leaves the node that the error is about to PyTorch, or else the whole graph."""
        try:
            if node is not None:
                self.divide({node: str(error)})
        except CompileError:
            pass
        if not self.parts:
            warn_of_pytorch(error)
            self.is_refused = True

    def __call__(self, *inputs: Any) -> list[Any]:
        results = self.results(inputs)
        return self.module.forward(*inputs) if results is None else results

    def results(self, inputs: tuple[Any, ...]) -> list[Any] | None:
        """None: PyTorch computes them."""
        version = None if self.parts else self.current(inputs)
        if self.parts:
            return self.parts(*inputs)
        if version is None or not version.scalars.fit(inputs) or (version.grown and not version.grown.fit(inputs)):
            return None
        values = [inputs[index] for index in version.tensors]
        if version.scalars:
            values += version.scalars.tensors(inputs)
        if version.grown:
            return version.returned(version.grown.run(version.model, values, inputs), inputs)
        results = version.model(*(values or [torch.empty(0, dtype=torch.bool)]))
        return version.returned(results if isinstance(results, tuple) else (results,), inputs)

    def _compile(self, converter: Converter, inputs: Sequence[Any]) -> _Version:
        frozen = self.frozen
        kept = Frozen(inputs, frozen, self.reads_all)  # before they are read
        tensors = [
            index
            for index, node in enumerate(self.placeholders)
            if index not in frozen and isinstance(node.meta.get("val"), torch.Tensor) and not is_token(node)
        ]
        scalars = Scalars(self.placeholders, self.module.graph.nodes, tensors)
        converter.seeds = self.seeds
        for index, node in enumerate(self.placeholders):
            if index in frozen:
                converter.values[node] = converter.constant(inputs[index])
            elif index in tensors:
                converter.input(node, node.name)
        converter.kept = {self.placeholders[growth.argument] for growth in self.writes}
        converter.keeps_order = True
        with naming({}):
            scalars.add_to(converter)
            if not tensors and not scalars:
                converter.graph.input("nothing", [0], "bool")  # torch tensors out need torch tensors in
            converter.convert(self.module, list(self.module.graph.nodes))
            made = Results(self.module.graph, self._views(), Sources(self.placeholders)).returned()
            values = [self._output(converter, *output) for output in zip(made.nodes, made.layouts, strict=True)]
        names = [f"output{number}" for number in range(len(values))]
        grown = self._grown(made, tensors)
        program = converter.graph.finish(names, values)
        if grown:
            arguments = [self.placeholders[growth.argument].name for growth in grown.growths]
            pairs = zip(arguments, grown.positions, strict=True)
            program.make_states([f"{name}={names[position]}:{MOST}" for name, position in pairs])
            tensors = [index for index in tensors if self.placeholders[index].name not in arguments]
        return _Version(self._artifact(program, kept.tensors.states), kept, tensors, scalars, made, grown)

    def _grown(self, made: Returned, tensors: Sequence[int]) -> Grown | None:
        """The results that lengthen arguments, unless they are all that there is."""
        others = [index for index in range(len(self.placeholders)) if index not in tensors]
        viewed = {root_of(node) for node in self.module.graph.output_node().all_input_nodes if is_view(node)}
        pairs = zip(made.nodes, made.layouts, strict=True)
        plain = [node for node, layout in pairs if layout is None and node not in viewed]
        growths = growths_of(self.placeholders, others, plain) if self.grow else []
        growths += [growth for growth in self.writes if growth.result in plain and growth.argument not in others]
        is_usable = 0 < len(growths) < min(len(tensors), len(made.nodes))
        return Grown(growths, made.nodes) if is_usable else None

    def _views(self) -> list[torch.fx.Node]:
        """The results that are views of inputs: in PyTorch, their strides say how to make them again."""
        results = self.module.graph.output_node().args[0]
        return [node for node in results if isinstance(node, torch.fx.Node) and is_view_of_input(node)]

    def _output(self, converter: Converter, node: torch.fx.Node, layout: Layout | None) -> Any:
        value = result(converter, node)
        if isinstance(value, Complex):
            raise CompileError(
                f"output '{node.name}': complex numbers are not supported\nhint: return torch.view_as_real(...)"
            )
        if isinstance(value, (int, str)):
            return converter.graph.dims([value], scalar=True)
        if layout and layout.order is not None:
            return converter.graph.composite("transpose", [value], {"perm": list(layout.order)})[0]
        return value

    def _artifact(self, program: Module, identity: tuple[Any, ...]) -> Model:
        text = hashlib.sha256(str(program).encode()).hexdigest()
        key = (text, identity, tuple(sorted(self.settings.items())))
        model = _artifacts.get(key)
        if model is None:
            model = compile_in_process(program, **self.settings)
            if not isinstance(model, Model):
                raise ValueError(
                    f"target: torch.compile runs models on this machine, got '{self.settings.get('target')}'\n"
                    "hint: perpend.compile(net, example_inputs=..., target=...) makes a model for another machine"
                )
            _artifacts[key] = model
            model.allow_threads(torch.get_num_threads)
        return model


def results_of(module: torch.fx.GraphModule) -> Sequence[Any]:
    results: Any = module.graph.output_node().args[0]
    return list(results)


def is_of_pytorch(node: torch.fx.Node) -> bool:
    """Whether it calls an operator that PyTorch brings, and not the user or an extension."""
    return getattr(node.target, "namespace", "") in ("aten", "prims")


def say_what_stays(apart: Mapping[torch.fx.Node, str]) -> None:
    """Once for each operator."""
    for node, reason in apart.items():
        name = str(node.target)
        if name not in _said and node.target is not operator.getitem:
            _said.add(name)
            problem = reason.partition("\nhint: ")[0]
            logger.warning("perpend leaves %s%s to PyTorch: %s", name, place_of(node), problem)


if "perpend" not in list_backends(exclude_tags=()):  # otherwise the package's entry point registers it
    register_backend(name="perpend", compiler_fn=perpend_backend)
__all__ = ["CompileError", "perpend_backend"]
