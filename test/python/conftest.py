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
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one entry per compilation."""
    made: list[str] = []

    def counting(program: perpend.Module, **options: Any) -> perpend.Model:
        made.append(str(program))
        return perpend.compile(program, **options)

    monkeypatch.setattr(torch_backend, "compile", counting)
    return made
