"""What a user's module and example inputs were before PyTorch traced them, and are again afterwards.

Tracing calls the module's code, which may set attributes, append to lists and draw random numbers, with tensors that
have no elements; torch.export marks example inputs, and leaves the marks where it fails.
"""

from __future__ import annotations

import random
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

CONTAINERS = (dict, OrderedDict, defaultdict, list, set, deque)


@contextmanager
def evaluated(model: torch.nn.Module, inputs: Any) -> Iterator[None]:
    """Inside, all parts of the model are in evaluation mode. (Its own eval() may do more than that: one that merges
    adapters into weights changes them.)

    inputs: whatever has the example tensors inside.
    """
    parts = list(model.modules())
    tensors = [leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
    with ExitStack() as restored:
        for part in parts:
            _keep_attributes(restored, vars(part))
        for tensor in {id(tensor): tensor for tensor in chain(tensors, model.parameters(), model.buffers())}.values():
            _keep(restored, vars(tensor))
        _keep_random_numbers(restored)
        for part in parts:
            part.training = False
        yield


def _keep_attributes(restored: ExitStack, attributes: dict[str, Any]) -> None:
    """Those of one part. The containers among them keep what they hold."""
    for value in attributes.values():
        if type(value) in CONTAINERS:
            _keep(restored, value)
    _keep(restored, attributes)


def _keep(restored: ExitStack, container: Any) -> None:
    before = container.copy()

    def restore() -> None:
        if not _is_same(container, before):
            container.clear()
            (container.update if hasattr(container, "update") else container.extend)(before)

    restored.callback(restore)


def _is_same(container: Any, before: Any) -> bool:
    """Whether it holds the same objects. (What they are equal to may be a tensor.)"""
    if len(container) != len(before):
        return False
    values = (container.values(), before.values()) if isinstance(container, dict) else (container, before)
    return all(a is b for parts in ((container, before), values) for a, b in zip(*parts, strict=True))


def _keep_random_numbers(restored: ExitStack) -> None:
    restored.callback(torch.random.set_rng_state, torch.random.get_rng_state())
    restored.callback(random.setstate, random.getstate())
    restored.callback(np.random.set_state, np.random.get_state())
