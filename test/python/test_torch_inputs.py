"""Inputs of PyTorch modules that are no plain tensors: integers, caches of keys and values, nested tensors."""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
import perpend
import pytest
import torch
from torch import nn
from torch.export import Dim

torch.manual_seed(0)


class Counted(nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor, n: int) -> Any:
        return x[:n] + 1, torch.zeros(n), n * 2, x.sum() * n


class Shifted(nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor, n: int, *, by: int) -> Any:
        return (x + by) * n if n > 3 else x


def test_integers_as_inputs() -> None:
    shapes = (None, Dim.DYNAMIC)
    program = torch.export.export(Counted(), (torch.randn(8), 3), dynamic_shapes=shapes)
    stored = io.BytesIO()
    torch.export.save(program, stored)
    stored.seek(0)
    x = torch.randn(8)
    for model in (
        perpend.compile(program),
        perpend.compile(Counted(), example_inputs=(x, 3), dynamic_shapes=shapes),
        perpend.compile(torch.export.load(stored)),
    ):
        for n in (2, 5, 8):
            for results in (model(x, n), model(x, n=n), model(x, torch.tensor(n)), model(x, np.int64(n))):
                torch.testing.assert_close(results, Counted()(x, n))
        for n in (-3, 1, 9):
            with pytest.raises(ValueError, match="argument 'n': the module was exported for other numbers"):
                model(x, n)


def test_integers_that_decide_in_the_module() -> None:
    """What they are compared with holds for each call."""
    shapes = {"x": {0: Dim.DYNAMIC}, "n": Dim.DYNAMIC, "by": Dim.DYNAMIC}
    program = torch.export.export(Shifted(), (torch.ones(3), 5), {"by": 7}, dynamic_shapes=shapes)
    model = perpend.compile(program)
    for x, n, by in ((torch.randn(4), 4, 9), (torch.randn(2), 100, 2)):
        torch.testing.assert_close(model(x, n, by=by), Shifted()(x, n, by=by))
    with pytest.raises(ValueError, match="argument 'n': the module was exported for other numbers"):
        model(torch.ones(3), 3, by=4)


def test_caches_of_keys_and_values() -> None:
    """A class of transformers among the arguments and the results, whose tensors it asks for their types."""
    transformers = pytest.importorskip("transformers")
    from transformers.integrations.executorch import register_dynamic_cache_export_support

    register_dynamic_cache_export_support()
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    net = transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=20, num_key_value_heads=1, **sizes)).eval()

    def arguments(past: int, count: int) -> dict[str, Any]:
        cache = transformers.DynamicCache(config=net.config)
        with torch.no_grad():
            net(torch.arange(past)[None] % 20, past_key_values=cache)
        ids, mask = torch.arange(3, 3 + count)[None], torch.ones(1, past + count, dtype=torch.long)
        return {"input_ids": ids, "attention_mask": mask, "past_key_values": cache}

    length = {2: Dim.DYNAMIC}
    shapes = {"input_ids": {1: Dim.DYNAMIC}, "attention_mask": {1: Dim.DYNAMIC}}
    shapes["past_key_values"] = [[length, length], [length, length]]
    program = torch.export.export(net, (), arguments(5, 3), dynamic_shapes=shapes)
    model = perpend.compile(program)
    assert [info.name for info in model.outputs][:2] == ["logits", "past_key_values_key_cache_0"]
    for past, count in ((5, 3), (9, 2)):
        given = arguments(past, count)
        with torch.no_grad():
            expected = net(**copy.deepcopy(given))
        results = model(**given)
        assert type(results) is type(expected)
        assert isinstance(results.past_key_values, transformers.DynamicCache)
        torch.testing.assert_close(results.logits, expected.logits, rtol=1e-4, atol=1e-5)
        for layer, reference in zip(results.past_key_values.layers, expected.past_key_values.layers, strict=True):
            torch.testing.assert_close(layer.keys, reference.keys, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(layer.values, reference.values, rtol=1e-4, atol=1e-5)


def test_nested_tensors_run_in_pytorch() -> None:
    layer = nn.Linear(3, 5)
    nested = torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)], layout=torch.jagged)
    function = torch.compile(lambda x: layer(x).relu(), backend="perpend")
    with torch.no_grad(), pytest.warns(UserWarning, match="runs in PyTorch, because nested tensors are not supported"):
        result = function(nested)
    for part, expected in zip(result.unbind(), layer(nested).relu().unbind(), strict=True):
        torch.testing.assert_close(part, expected)
