"""What tests of torch.compile share."""

from __future__ import annotations

from typing import Any

import perpend
import pytest
import torch
from perpend.torch import backend as torch_backend


@pytest.fixture
def fresh_caches() -> None:
    torch._dynamo.reset()


@pytest.fixture
def all_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph, or a node, that PyTorch runs fails the test."""

    def refused(problem: Any) -> None:
        raise AssertionError(f"expected nothing in PyTorch, got {problem}")

    monkeypatch.setattr(torch_backend, "warn_of_pytorch", refused)
    monkeypatch.setattr(torch_backend, "say_what_stays", refused)


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one entry per compilation."""
    made: list[str] = []

    def counting(program: perpend.Module, **options: Any) -> perpend.Model:
        made.append(str(program))
        return perpend.compile_in_process(program, **options)

    monkeypatch.setattr(torch_backend, "compile_in_process", counting)
    return made
