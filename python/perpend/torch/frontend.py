"""PyTorch programs as graph modules: torch.export programs and the graphs of torch.compile.

One walk over a graph of core ATen operators; each operator is one entry of the table in operators. Extents are text:
the expressions of PyTorch's symbolic integers.
"""

from __future__ import annotations

import warnings
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from typing import Any, cast

import torch
from torch._dynamo.convert_frame import compile_lock
from torch._dynamo.exc import UserError
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind, SymIntArgument, TensorArgument
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils._pytree import tree_leaves

from .._perpend import CompileError, Module, Value
from . import complex_numbers, control, numbers, operators
from .caches import call_specs, continued
from .call import Call, Complex, Conversion, has_effect, name_of, place_of
from .held_tensors import contents_kept, names_of_held, with_held_tensors
from .saved_guards import saved_conditions
from .structure import Arguments, Leaf, Result, Structure, is_long, output_names
from .symbols import dims_of_symbols, given_dims, limits_of, limits_of_numbers, names_of
from .types import DTYPES, is_unnamed, name_expression, named_expression, names_in_use, naming
from .untouched import evaluated


class Converter(Conversion):
    """Fills a GraphBuilder from torch graphs."""

    def convert(self, module: torch.fx.GraphModule, nodes: Sequence[torch.fx.Node]) -> None:
        """Converts the operators among `nodes`, in order."""
        for node in nodes:
            if node.op == "get_attr":
                attribute = _attribute(module, cast(str, node.target))
                if isinstance(attribute, torch.Tensor):
                    self.values[node] = self.constant(attribute)
            elif node.op == "call_function":
                self.graph.set_location(node.name, str(node.target))
                try:
                    self._convert(module, node)
                except CompileError:
                    self.failed = node  # of the whole graph in the end: it holds the regions
                    raise

    def _convert(self, module: torch.fx.GraphModule, node: torch.fx.Node) -> None:
        if numbers.is_number(node):
            numbers.convert(self, node)
        else:
            self.values[node] = self.convert_node(module, node)
            name_extents(node.meta.get("val"), self.values[node])

    def convert_node(self, module: torch.fx.GraphModule, node: torch.fx.Node) -> Any:
        try:
            return self._convert_node(module, node)
        except (TypeError, AttributeError, KeyError, IndexError, NotImplementedError) as error:
            raise CompileError(
                f"node '{node.name}' ({node.target}): these arguments are not supported: {error}"
                "\nhint: numbers must be known when the model is compiled; export with these dimensions fixed"
            ) from error

    def _convert_node(self, module: torch.fx.GraphModule, node: torch.fx.Node) -> Any:
        name = name_of(node)
        if name == "getitem":
            return self._part(node, cast(torch.fx.Node, node.args[0]), cast(int, node.args[1]))
        if name in operators.IGNORED:
            return None
        if name in operators.REGIONS:
            arguments = node.args[operators.REGIONS[name] :]
            return self.inline(_attribute(module, cast(Any, arguments[0]).target), arguments[1:])
        if name in control.CONTROL:
            return control.CONTROL[name](self, lambda node: _attribute(module, node.target), node.args)
        if has_effect(node):
            return [None, operators.OPERATORS[name](Call(self, node))]
        if complex_numbers.concerns(node):
            return complex_numbers.convert(Call(self, node), name, operators.OPERATORS)
        return operators.OPERATORS[name](Call(self, node))

    def _part(self, node: torch.fx.Node, source: torch.fx.Node, index: int) -> Any:
        value = self.values[source][index]
        is_tensor = isinstance(node.meta.get("val"), torch.Tensor) and not has_effect(source)
        if value is None and node.users and is_tensor:
            raise CompileError(
                f"node '{source.name}' ({source.target}): its result {index} is not supported"
                "\nhint: use what the operator returns first"
            )
        return value

    def inline(self, body: torch.fx.GraphModule, arguments: Sequence[Any]) -> Any:
        placeholders = [node for node in body.graph.nodes if node.op == "placeholder"]
        for placeholder, argument in zip(placeholders, arguments, strict=True):
            self.values[placeholder] = self.map_argument(argument)
        self.convert(body, list(body.graph.nodes))
        return self.map_argument(_output_of(body).args[0])


def _attribute(module: torch.nn.Module, target: str) -> Any:
    value: Any = module
    for part in target.split("."):
        value = getattr(value, part)
    return value


def _output_of(module: torch.fx.GraphModule) -> torch.fx.Node:
    return next(node for node in reversed(module.graph.nodes) if node.op == "output")


def name_extents(example: Any, value: Any) -> None:
    """Once an operator defines data-dependent extents, names them by the compiler's symbols."""
    if isinstance(example, (list, tuple)) and isinstance(value, (list, tuple)):
        for part, result in zip(example, value, strict=False):
            name_extents(part, result)
    elif isinstance(example, torch.Tensor) and isinstance(value, Value):
        for extent, defined in zip(example.shape, value.shape, strict=True):
            if isinstance(extent, torch.SymInt) and is_unnamed(extent):
                name_expression(extent.node.expr, defined)


def calls(module: torch.fx.GraphModule) -> Iterator[torch.fx.Node]:
    """The nodes of a graph and of its regions that call an operator on tensors."""
    for part in (part for part in module.modules() if isinstance(part, torch.fx.GraphModule)):
        for node in part.graph.nodes:
            if node.op == "call_function" and not numbers.is_number(node):
                yield node


def is_known(node: torch.fx.Node) -> bool:
    name = name_of(node)
    if complex_numbers.concerns(node) and name not in operators.IGNORED:
        return complex_numbers.is_supported(name)
    return operators.is_supported(name)


def unsupported_nodes(module: torch.fx.GraphModule) -> dict[torch.fx.Node, str]:
    """The nodes that only PyTorch can run, with the reasons: operators that are not in the table, and what is between
    them and has other tensors than the compiler knows."""
    apart = {node: "it is not supported" for node in module.graph.nodes if not _is_convertible(module, node)}
    outside = {node for node in module.graph.nodes if node.op == "placeholder"} | apart.keys()
    results = {node for node in module.graph.output_node().all_input_nodes if node.op != "placeholder"}
    rest = deque(node for node in module.graph.nodes if node.op == "call_function")
    while rest:
        node = rest.popleft()
        if node in apart or node.op != "call_function":
            continue
        near = [source for source in node.all_input_nodes if source in outside]
        if node in results or any(user in outside for user in node.users):
            near.append(node)
        if strange := next(filter(None, map(strangeness, near)), None):
            apart[node] = strange
            outside.add(node)
            rest += (*node.all_input_nodes, *node.users)
    return apart


def _is_convertible(module: torch.fx.GraphModule, node: torch.fx.Node) -> bool:
    """Whether the table has the operator, and those of its regions."""
    if node.op != "call_function" or numbers.is_number(node):
        return True
    bodies = [_attribute(module, cast(str, each.target)) for each in node.all_input_nodes if each.op == "get_attr"]
    regions = [body for body in bodies if isinstance(body, torch.fx.GraphModule)]
    return is_known(node) and all(is_known(call) for region in regions for call in calls(region))


def strangeness(node: torch.fx.Node) -> str:
    """Why the node's tensors cannot be inputs or outputs of a compiled model; empty: they can."""
    for value in tree_leaves(node.meta.get("val")):
        if isinstance(value, torch.Tensor):
            if value.dtype not in DTYPES:
                kind = "complex numbers" if value.dtype.is_complex else f"elements of type {value.dtype}"
                return f"'{node.name}': {kind} are not supported between parts"
            if value.layout is not torch.strided or value.device.type != "cpu":
                return f"'{node.name}': a tensor of layout {value.layout} on {value.device} is not supported"
    return ""


def check_operators(module: torch.fx.GraphModule) -> None:
    """Errors: lists all operators that are not in the table, with their nodes."""
    unsupported: dict[str, list[str]] = defaultdict(list)
    for node in calls(module):
        if not is_known(node):
            unsupported[str(node.target)].append(f"'{node.name}'{place_of(node)}")
    if unsupported:
        lines = []
        for name, nodes in sorted(unsupported.items()):
            shown = ", ".join(nodes[:3]) + (", ..." if len(nodes) > 3 else "")
            lines.append(f"\n  {name} ({len(nodes)} node{'s' if len(nodes) > 1 else ''}): {shown}")
        raise CompileError(
            f"{len(unsupported)} operator{'s' if len(unsupported) > 1 else ''} of this model "
            f"{'are' if len(unsupported) > 1 else 'is'} not supported:{''.join(lines)}"
            '\nhint: write these parts with other operators; or use torch.compile(model, backend="perpend"), which '
            "runs them in PyTorch, between compiled parts; or export it as ONNX and bring them "
            "(docs/howto/bring-an-operator.md)"
        )


# ----------------------------------------------------------------------------------------------------------------------
# torch.export
# ----------------------------------------------------------------------------------------------------------------------


def accepts(model: Any) -> bool:
    return isinstance(model, (ExportedProgram, torch.nn.Module))


def differs_in_training(model: torch.nn.Module) -> bool:
    """Whether a part of the model is in training mode and computes something different there."""
    kinds = (torch.nn.modules.dropout._DropoutNd, torch.nn.modules.batchnorm._NormBase)
    return any(part.training and isinstance(part, kinds) for part in model.modules())


def import_model(model: Any, example_inputs: Any = None, dynamic_shapes: Any = None, cache: int = 0) -> Module:
    """A torch.export.ExportedProgram, or a torch.nn.Module that is exported with the example inputs.

    cache: the most tokens whose keys and values are kept, of a module that takes a cache of transformers.

    Threads: any; they take turns, also with torch.compile, as PyTorch traces one program at a time.
    """
    with compile_lock:
        return _import_model(model, example_inputs, dynamic_shapes, cache)


def _import_model(model: Any, example_inputs: Any, dynamic_shapes: Any, cache: int) -> Module:
    if isinstance(model, ExportedProgram):
        return import_program(model)
    if example_inputs is None:
        raise CompileError("a torch.nn.Module needs example inputs\nhint: perpend.compile(net, example_inputs=(x,))")
    positional: tuple[Any, ...] = ()
    named: dict[str, Any] = {}
    if isinstance(example_inputs, Mapping):
        named = dict(example_inputs)
    else:
        positional = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    if differs_in_training(model):
        warnings.warn("perpend: the module is in training mode; it is compiled as after model.eval()", stacklevel=5)
    with evaluated(model, (positional, named)):
        name, exported = type(model).__name__, model
        if cache:
            exported, positional, named, dynamic_shapes = continued(model, positional, named, dynamic_shapes)
        program = _exported(exported, positional, named, dynamic_shapes)
        parameters = list(signature(model.forward).parameters)
        dims = given_dims(exported, positional, named, dynamic_shapes)
        return import_program(program, name, dims, parameters, names_of_held(model), cache)


# The hint for an error of torch.export, by a part of its text.
HINTS = {
    "DynamicCache": "leave the cache out with use_cache=False among example_inputs, or in model.config; to keep it "
    "from call to call, leave past_key_values out and give cache=4096, the most tokens; to have it in and out, call "
    "transformers.integrations.executorch.register_dynamic_cache_export_support() first",
    "Unsupported input type": "give tensors (torch.from_numpy(array)), numbers, and lists, tuples and dicts of them",
    "in output, which is not a known type": "return tensors, numbers, texts, and lists, tuples and dicts of them; or "
    "register the class with torch.export.register_dataclass or torch.utils._pytree.register_pytree_node",
    ".numpy() is not supported": "write with torch's operators what the module computes with numpy",
}


def _hint_for(error: Exception, model: Any) -> str:
    parts = 'torch.compile(model, backend="perpend"), which runs in PyTorch what it cannot compile'
    known = next((hint for text, hint in HINTS.items() if text in str(error)), None)
    if known:
        return known
    if isinstance(error, GuardOnDataDependentSymNode):
        return f"write what elements of tensors decide with torch.where or torch.cond, or use {parts}"
    if isinstance(error, UserError) and "dynamic_shapes" in str(error):
        return "give dynamic_shapes one entry for each input, as torch.export.export takes it"
    if isinstance(error, UserError) and any(isinstance(layer, torch.nn.RNNBase) for layer in model.modules()):
        return (
            "torch.export.export knows LSTM, GRU and RNN layers only with the length of the example inputs: leave it "
            "out of dynamic_shapes, or compile the file that torch.onnx.export(model, inputs, path, dynamo=False, "
            "input_names=['x'], dynamic_axes={'x': {1: 'length'}}) writes, which takes any length"
        )
    if isinstance(error, UserError):
        return "in dynamic_shapes, leave out the dimensions that the model needs as they are, or give them Dim.AUTO"
    return f"does model(*example_inputs) run? Parts that cannot be exported: use {parts}"


def _exported(model: Any, positional: tuple[Any, ...], named: dict[str, Any], dynamic_shapes: Any) -> ExportedProgram:
    try:
        with torch.no_grad(), contents_kept(model):
            return torch.export.export(model, positional, named, dynamic_shapes=dynamic_shapes)
    except Exception as error:
        raise CompileError(
            f"torch.export.export fails on this module: {type(error).__name__}: {str(error).strip()}\n"
            f"hint: {_hint_for(error, model)}"
        ) from error


def import_program(
    program: ExportedProgram,
    name: str = "model",
    leaves: Sequence[Any] = (),
    parameters: Sequence[str] = (),
    held: dict[int, str] | None = None,
    cache: int = 0,
) -> Module:
    """A program of torch.export as a module at graph level. Its inputs and outputs are those of the model, flattened;
    `structure` converts between them and the model's own.

    leaves: the user's dynamic_shapes, by input. parameters: those of the module's forward. held: the names of tensors
        that the module has neither as parameters nor as buffers. cache: the most rows of the states that caches.py
        has made the first inputs and outputs; 0: there are none.
    """
    _check_mutations(program)
    program = with_held_tensors(program, held or {})
    conditions = saved_conditions(program)  # decomposition loses them
    program = _decomposed(program)
    _check_mutations(program)
    check_operators(program.graph_module)
    dims = dims_of_symbols(program, list(leaves))
    names = names_of(program, dims)
    with naming(names):
        return _convert(program, name, limits_of(program, dims, names, conditions), conditions, parameters, cache)


def _decomposed(program: ExportedProgram) -> ExportedProgram:
    """Decomposes the program. This traces it again, which takes as long as its export, so it is skipped if no operator
    and no parameter (a tensor subclass) needs it."""
    table = operators.decompositions()
    stored = [*program.state_dict.values(), *program.constants.values()]
    are_plain = all(type(tensor) in (torch.Tensor, torch.nn.Parameter) for tensor in stored)
    nodes = list(calls(program.graph_module))
    if are_plain and all(is_known(node) and operators.is_final(node, table) for node in nodes):
        return program
    with warnings.catch_warnings():  # PyTorch warns about its own copies of tree specs
        warnings.filterwarnings("ignore", ".*LeafSpec.* is deprecated", FutureWarning)
        try:
            with operators.own_formulas():
                return program.run_decompositions(table)
        except CompileError:
            raise
        except Exception as error:
            raise CompileError(
                f"PyTorch's run_decompositions fails on this program: {type(error).__name__}: "
                f"{str(error).partition(chr(10))[0]}"
                '\nhint: try torch.compile(model, backend="perpend"), or write that part with other operators'
            ) from error


def _convert(
    program: ExportedProgram,
    name: str,
    limits: Sequence[str],
    conditions: Sequence[Any],
    parameters: Sequence[str],
    cache: int,
) -> Module:
    converter = Converter(name)
    if limits:
        converter.graph.require(limits)
    mutated = _mutated(program)
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    for node, spec in zip(placeholders, program.graph_signature.input_specs, strict=True):
        if spec.kind == InputKind.TOKEN:
            continue  # keeps the order of operators
        if spec.kind == InputKind.USER_INPUT:
            if isinstance(spec.arg, TensorArgument):
                converter.input(node, node.name)
            elif isinstance(spec.arg, SymIntArgument):
                converter.values[node] = converter.graph.input(node.name, [], "i64")
        elif spec.kind in STATES and str(spec.target) in mutated:
            converter.input(node, _state_name(spec.target))
            converter.kept.add(node)
        elif spec.kind in STATES:
            converter.graph.set_location(str(spec.target))
            converter.values[node] = converter.constant(_stored(program, spec))
        else:
            raise CompileError(
                f"input '{node.name}': objects of kind {spec.kind.name} are not supported"
                "\nhint: keep what the model computes with in tensors"
            )
    _read_numbers(program, converter, conditions)
    converter.convert(program.graph_module, list(program.graph.nodes))
    return _finish(program, converter, parameters, cache)


def _read_numbers(program: ExportedProgram, converter: Converter, conditions: Sequence[Any]) -> None:
    """Inputs that are integers: they become extents of the model, like numbers that it reads from a tensor."""
    for node in program.graph.find_nodes(op="placeholder"):
        if isinstance(node.meta.get("val"), torch.SymInt):
            converter.graph.set_location(node.name)
            number, expression = converter.graph.measure(converter.values[node]), node.meta["val"].node.expr
            if expression in names_in_use():
                extent = str(named_expression(expression))
                message = f"argument '{node.name}': expected the extent {extent}"
                converter.graph.require_here([f"({number}) - ({extent})", f"({extent}) - ({number})"], message)
            else:
                name_expression(expression, number)
    for name, limits in limits_of_numbers(program, dict(names_in_use()), conditions).items():
        message = f"argument '{name}': the module was exported for other numbers"
        converter.graph.set_location(name)
        converter.graph.require_here(limits, message)


def _stored(program: ExportedProgram, spec: Any) -> torch.Tensor:
    if spec.target in program.state_dict:
        return cast(torch.Tensor, program.state_dict[spec.target])
    return cast(torch.Tensor, program.constants[spec.target])


STATES = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
MUTATIONS = tuple(kind for kind in OutputKind if kind.name in ("BUFFER_MUTATION", "PARAMETER_MUTATION"))


def _check_mutations(program: ExportedProgram) -> None:
    """Errors: what a model changes must be its own, so that a session can keep it."""
    allowed = (OutputKind.USER_OUTPUT, OutputKind.TOKEN, *MUTATIONS)
    mutated = [spec for spec in program.graph_signature.output_specs if spec.kind not in allowed]
    if mutated:
        names = ", ".join(sorted(f"'{spec.target or spec.arg.name}'" for spec in mutated))
        raise CompileError(f"the model changes its inputs in place: {names}\nhint: return new tensors instead")


def _mutated(program: ExportedProgram) -> set[str]:
    """The names of buffers that the module changes: states of the compiled model."""
    return {str(spec.target) for spec in program.graph_signature.output_specs if spec.kind in MUTATIONS}


def _state_name(target: object) -> str:
    """Of a state among inputs and outputs, where no name of the module's has a space."""
    return f"state {target}"


def _leaf_of(node: Any, value: Any) -> Leaf:
    example = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    if not isinstance(value, Value):
        return Leaf.INTEGER
    if isinstance(example, torch.SymFloat):
        return Leaf.FLOAT
    return Leaf.BOOLEAN if isinstance(example, torch.SymBool) else Leaf.TENSOR


def _as_stored(converter: Converter, value: Value, stored: torch.Tensor) -> Value:
    """The next value of a buffer with its extents: PyTorch knows that x[-1:] has a row, where x may have none here."""
    shape = list(stored.shape)
    return value if value.shape == shape else converter.graph.composite("reshape", [value], {"shape": shape})[0]


def _finish(program: ExportedProgram, converter: Converter, parameters: Sequence[str], cache: int) -> Module:
    outputs = cast(Sequence[Any], _output_of(program.graph_module).args[0])
    pairs = list(zip(outputs, program.graph_signature.output_specs, strict=True))
    returned = [pair for pair in pairs if pair[1].kind == OutputKind.USER_OUTPUT]
    inputs, nesting, grown = call_specs(program.call_spec, bool(cache))
    following, returned = returned[: len(grown)], returned[len(grown) :]
    examples = [node.meta["val"] if isinstance(node, torch.fx.Node) else node for node, _ in returned]
    names = output_names(nesting, examples)
    results: dict[str, Value] = {}
    leaves: list[Leaf | Result] = []
    for name, (node, spec) in zip(names, returned, strict=True):
        constant = spec.arg.value if isinstance(spec.arg, ConstantArgument) else 0
        if constant is None or isinstance(constant, (bool, float, str)) or is_long(constant):
            leaves.append(Leaf.NONE if constant is None else Result(constant))
            continue
        value = numbers.result(converter, node)
        if isinstance(value, Complex):
            hint = "hint: return torch.view_as_real(...)"
            raise CompileError(f"output '{name}': complex numbers are not supported\n{hint}")
        leaves.append(_leaf_of(node, value))
        results[name] = value if isinstance(value, Value) else converter.graph.dims([value], scalar=True)
    if not results:
        raise CompileError("the model has no outputs\nhint: return a tensor from its forward")
    stored = {str(spec.target): spec for spec in program.graph_signature.input_specs if spec.kind in STATES}
    states = []
    for node, spec in pairs:
        if spec.kind in MUTATIONS:
            name, target = _state_name(spec.target), str(spec.target)
            initial = _stored(program, stored[target]).detach().cpu().contiguous()
            results[name] = _as_stored(converter, cast(Value, numbers.result(converter, node)), initial)
            states.append((name, name, target, initial))
    for name, (node, _) in zip(grown, following, strict=True):
        results[_state_name(name)] = cast(Value, numbers.result(converter, node))
    module = converter.graph.finish(list(results), list(results.values()), states)
    if grown:
        module.make_states([f"{name}={_state_name(name)}:{cache}" for name in grown])
    structure = Structure(nesting, leaves, Arguments(program, parameters, inputs, len(grown)))
    module.structure = structure
    if text := structure.to_json():
        module.set_results(text)
    return module
