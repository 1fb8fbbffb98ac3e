"""The structure of a model's results, as its module returned them, for models loaded from a file.

"tensor", "integer", "float" and "boolean" take an output each, "none" takes none; {"constant": value},
{"integer": text}, where it has more than 64 bits, and {"float": text}, which Python's float.hex has written, are the
same in every call; {"tuple": [...]}, {"list": [...]} and {"dict": [[key, ...], ...]} are Python's.
{"pytree": text, "of": [...]} is a class of PyTorch's pytree, and needs PyTorch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

Outputs = tuple[Any, ...]
Reader = Callable[[Iterator[Any]], Any]


LEAVES: dict[str, Reader] = {
    "tensor": next,
    "integer": lambda rest: int(next(rest)),
    "float": lambda rest: float(next(rest)),
    "boolean": lambda rest: bool(next(rest)),
    "none": lambda rest: None,
}


CONSTANTS: dict[str, Callable[[Any], Any]] = {"constant": lambda value: value, "integer": int, "float": float.fromhex}


def reader(description: Any) -> Callable[[Outputs], Any]:
    """A function that nests the outputs. If this process lacks a class, the outputs stay flat, with a warning."""
    try:
        read = _reader(description)
    except Exception as error:
        warnings.warn(
            f"perpend: the model's outputs stay a flat tuple: {error}\n"
            "hint: import what defines the classes of its results before the model is loaded",
            stacklevel=4,
        )
        return lambda outputs: outputs if len(outputs) > 1 else outputs[0]
    return lambda outputs: read(iter(outputs))


def _reader(node: Any) -> Reader:
    if isinstance(node, str):
        return LEAVES[node]
    for kind, read in CONSTANTS.items():
        if kind in node:
            value = read(node[kind])
            return lambda rest: value
    if "dict" in node:
        pairs = [(key, _reader(value)) for key, value in node["dict"]]
        return lambda rest: {key: read(rest) for key, read in pairs}
    if "pytree" in node:
        from torch.utils import _pytree as pytree

        spec, readers = pytree.treespec_loads(node["pytree"]), [_reader(child) for child in node["of"]]
        return lambda rest: pytree.tree_unflatten([read(rest) for read in readers], spec)
    form, children = next(iter(node.items()))
    make, readers = {"tuple": tuple, "list": list}[form], [_reader(child) for child in children]
    return lambda rest: make(read(rest) for read in readers)
