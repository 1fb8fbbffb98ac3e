"""Tensors that a module holds in objects of its own, such as a cache of transformers, become buffers of its program.

torch.export takes each of them as a constant, once for each of its uses, even if it is a buffer of the module as well,
and then cannot express that the module changes it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, InputSpec

HELD = (InputKind.CONSTANT_TENSOR, InputKind.BUFFER)
DEEPEST = 5  # objects inside objects


def with_held_tensors(program: ExportedProgram, names: dict[int, str]) -> ExportedProgram:
    """names: of tensors, by their identity (names_of_held). Leaves the program itself as it is."""
    nodes = list(program.graph.find_nodes(op="placeholder"))
    if not any(map(_is_held, nodes, program.graph_signature.input_specs)):
        return program
    module = copy.deepcopy(program.graph_module)
    constants, state, specs = dict(program.constants), dict(program.state_dict), []
    pairs = list(zip(module.graph.find_nodes(op="placeholder"), program.graph_signature.input_specs, strict=True))
    first: dict[Any, torch.fx.Node] = {}
    for node, spec in sorted(pairs, key=lambda pair: pair[1].kind is InputKind.CONSTANT_TENSOR):  # buffers first
        tensor = state.get(spec.target, constants.get(spec.target)) if spec.kind in HELD else None
        same = node if tensor is None else first.setdefault(_memory_of(tensor), node)
        if same is not node and _is_held(node, spec):
            node.replace_all_uses_with(same)
    for node, spec in pairs:
        if spec.kind is InputKind.CONSTANT_TENSOR and not node.users:
            module.graph.erase_node(node)
            constants.pop(spec.target)
        elif _is_held(node, spec):
            tensor = constants.pop(spec.target)
            target = names.get(id(tensor), spec.target)
            constants[target] = tensor
            specs.append(InputSpec(InputKind.BUFFER, spec.arg, target, persistent=False))
        else:
            specs.append(spec)
    return ExportedProgram(
        module,
        module.graph,
        ExportGraphSignature(specs, list(program.graph_signature.output_specs)),
        state,
        dict(program.range_constraints),
        list(program.module_call_graph),
        program.example_inputs,
        constants,
        verifiers=list(program.verifiers),
    )


def _is_held(node: torch.fx.Node, spec: InputSpec) -> bool:
    """Whether it is a constant that the module does not make in its forward, which copies such a one first."""
    copies = (torch.ops.aten.lift_fresh_copy.default, torch.ops.aten.lift_fresh.default)
    return spec.kind is InputKind.CONSTANT_TENSOR and any(user.target not in copies for user in node.users)


def _memory_of(tensor: torch.Tensor) -> Any:
    is_wrapper = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    if not tensor.numel() or tensor.layout is not torch.strided or is_wrapper:
        return id(tensor)
    place = (tensor.untyped_storage().data_ptr(), tensor.storage_offset())
    return (*place, tensor.dtype, tuple(tensor.shape), tensor.stride())


@contextmanager
def contents_kept(module: torch.nn.Module) -> Iterator[None]:
    """Restores the numbers that the module holds: PyTorch computes with them while it traces, in their own memory."""
    kept = [(tensor, tensor.clone()) for _, tensor in _held(module) if tensor.numel() == 1]
    try:
        yield
    finally:
        for tensor, before in kept:
            tensor.data.copy_(before)


def names_of_held(module: torch.nn.Module) -> dict[int, str]:
    """The tensors in objects that the module and its parts have as attributes, by their identity: where they are."""
    return {id(tensor): place for place, tensor in reversed(list(_held(module)))}


def _held(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    seen: set[int] = set()
    for path, part in module.named_modules():
        for name, value in vars(part).items():
            if name not in ("_parameters", "_buffers", "_modules"):
                yield from _tensors_in(f"{path}.{name}" if path else name, value, seen, DEEPEST)


def _tensors_in(path: str, value: Any, seen: set[int], depth: int) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield path, value
    if isinstance(value, (torch.Tensor, torch.nn.Module, type)) or depth == 0 or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, (list, tuple)):
        inside = list(enumerate(value))
    else:
        inside = list((value if isinstance(value, dict) else getattr(value, "__dict__", {})).items())
    for key, each in inside:
        yield from _tensors_in(f"{path}.{key}", each, seen, depth - 1)
