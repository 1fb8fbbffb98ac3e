"""A language model of transformers with its keys and values as states of the compiled model.

Its DynamicCache is no tensor that PyTorch can export. So the module is exported with tensors instead, which its forward
makes a cache of, and whose next values it returns; they become states that grow.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree as pytree

from .._perpend import CompileError

ARGUMENT = "past_key_values"
LENGTH = 3  # of the example; PyTorch takes 0 and 1 for constants


class Continued(nn.Module):  # type: ignore[misc]
    """Takes the keys and values of all layers by name, and returns their next values beside the module's results."""

    def __init__(self, net: nn.Module, inputs: Iterable[str]) -> None:
        """inputs: those of the module. PyTorch reads their names from the signature of forward."""
        super().__init__()
        self.net = net

        def forward(past: dict[str, Tensor], **given: Any) -> tuple[dict[str, Tensor], Any]:
            cache = cache_of(past)
            results = net(**given, **{ARGUMENT: cache})
            return tensors_of(cache), without_cache(results)

        names = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("past", *inputs)]
        vars(forward)["__signature__"] = inspect.Signature(names)
        self.forward = forward


def cache_of(past: dict[str, Tensor]) -> Any:
    """A cache with these keys and values."""
    from transformers import DynamicCache

    cache = DynamicCache()
    tensors = list(past.values())
    for keys, values in zip(tensors[::2], tensors[1::2], strict=True):
        layer = cache.layer_class_to_replicate()
        layer.lazy_initialization(keys, values)
        layer.keys, layer.values = keys, values
        cache.layers.append(layer)
    return cache


def tensors_of(cache: Any) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for number, layer in enumerate(cache.layers):
        tensors |= {f"keys_{number}": layer.keys, f"values_{number}": layer.values}
    return tensors


def without_cache(results: Any) -> Any:
    if is_dataclass(results) and not isinstance(results, type):
        return replace(results, **{ARGUMENT: None})
    if isinstance(results, tuple):
        return tuple(part for part in results if not hasattr(part, "layers"))
    return results


def continued(
    net: nn.Module, positional: tuple[Any, ...], named: Mapping[str, Any], dynamic_shapes: Any
) -> tuple[Continued, tuple[Any, ...], dict[str, Any], dict[str, Any]]:
    """The module with its cache as tensors, its example inputs, those of the module by name, and their dynamic shapes.

    Errors: CompileError for a module that does not fill a DynamicCache.
    """
    parameters = inspect.signature(net.forward).parameters
    if ARGUMENT not in parameters:
        raise CompileError(
            f"cache: expected a module whose forward takes {ARGUMENT}, got {type(net).__name__}"
            "\nhint: keep what it needs from call to call in buffers, which are states without this option"
        )
    names = list(parameters)
    inputs = {**dict(zip(names, positional, strict=False)), **named}
    inputs.pop(ARGUMENT, None)
    if isinstance(dynamic_shapes, (tuple, list)):
        dynamic_shapes = dict(zip(names, dynamic_shapes, strict=False))
    past = _example(net, inputs)
    given = dynamic_shapes or {}
    shapes = {"past": {name: {2: Dim.DYNAMIC} for name in past}, **{name: given.get(name) for name in inputs}}
    return Continued(net, inputs), (past,), inputs, shapes


def call_specs(calls: Any, are_continued: bool) -> tuple[Any, Any, list[str]]:
    """The nesting of a module's arguments and of its results, and the names of the keys and values that Continued has
    put before both, as inputs of the program."""
    if not are_continued:
        return calls.in_spec, calls.out_spec, []
    positional, named = calls.in_spec.children()
    past, results = calls.out_spec.children()
    inputs = pytree.TreeSpec(tuple, None, [pytree.TreeSpec(tuple, None, positional.children()[1:]), named])
    return inputs, results, [f"past_{name}" for name in past.context]


def _example(net: nn.Module, inputs: Mapping[str, Any]) -> dict[str, Tensor]:
    """Keys and values as the module makes them, of another length."""
    from transformers import DynamicCache

    cache = DynamicCache()
    try:
        with torch.no_grad():
            net(**inputs, **{ARGUMENT: cache})
    except Exception as error:
        raise CompileError(
            f"cache: the module fails with an empty DynamicCache: {type(error).__name__}: {error}"
            "\nhint: does model(*example_inputs, past_key_values=transformers.DynamicCache()) run?"
        ) from error
    made = tensors_of(cache)
    if not made or any(not isinstance(tensor, Tensor) or tensor.dim() != 4 for tensor in made.values()):
        raise CompileError(
            "cache: expected keys and values [batch, heads, length, size] in each layer of a DynamicCache, got others"
            "\nhint: models with other states (Mamba, RWKV) are compiled without this option, with their texts whole"
        )
    return {name: tensor.new_zeros([*tensor.shape[:2], LENGTH, tensor.shape[3]]) for name, tensor in made.items()}
