"""The tool that counts what of PyTorch compiles: outcomes and reasons of cases made for it."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch_operators as tool
from torch_samples import Case, Sample

X = torch.linspace(-1, 1, 6).reshape(2, 3)


def outcome(function: Any, *args: Any, **kwargs: Any) -> tuple[str, str]:
    return tool.in_process(Case("case", lambda: [Sample(function, args, kwargs)]), limit_s=60, opt_level=0)


def test_outcomes() -> None:
    assert outcome(torch.add, X, X, alpha=2) == (tool.RIGHT, "")
    assert outcome(torch.rand_like, X) == (tool.RIGHT, "")
    assert outcome(torch.complex, X, X) == (tool.RIGHT, "")
    assert outcome(torch.Tensor.exponential_, X) == (tool.RIGHT, "")
    assert outcome(torch.linalg.eigvals, X[:, :2]) == (tool.REFUSED, "operator aten.linalg_eig.default")
    assert outcome(torch.Tensor.item, X[0, 0])[0] == tool.NONE
    assert outcome(lambda x: os.kill(os.getpid(), 9), X) == (tool.FAILED, "ended by signal 9")


def test_generators_that_samples_leave_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their end sets whether gradients are computed, which an export would record wherever it is."""
    original = torch.fx.Graph._python_code

    def collecting(*args: Any, **kwargs: Any) -> Any:
        gc.collect()
        return original(*args, **kwargs)

    @torch.no_grad()
    def samples() -> Iterator[Sample]:
        yield Sample(torch.neg, (X,), {})
        yield Sample(torch.neg, (X,), {})

    def first() -> list[Sample]:
        cycle: list[Any] = [samples()]
        cycle.append(cycle)
        return [next(cycle[0])]

    monkeypatch.setattr(torch.fx.Graph, "_python_code", collecting)
    gc.disable()
    try:
        assert tool.in_process(Case("case", first), limit_s=60, opt_level=0) == (tool.RIGHT, "")
    finally:
        gc.enable()


def test_comparison() -> None:
    sample = Sample(torch.abs, (X,), {})
    assert tool.compared([X], [X], sample, is_random=False)[0] == tool.RIGHT
    assert tool.compared([X + 1], [X], sample, is_random=False)[0] == tool.WRONG
    assert tool.compared([X.double()], [X], sample, is_random=True)[0] == tool.WRONG
