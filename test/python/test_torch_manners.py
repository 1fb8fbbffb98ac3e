"""What perpend.compile makes of a Module behaves as one; warnings and hints say what to do."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import perpend
import pytest
import torch
from torch import nn


@pytest.fixture(scope="module")
def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval()


@pytest.fixture(scope="module")
def model(net: nn.Module) -> Any:
    return perpend.compile(net, example_inputs=(torch.ones(2, 4),))


def test_a_compiled_module_is_a_module(net: nn.Module, model: Any) -> None:
    x = torch.randn(2, 4)
    expected = net(x).detach()
    kinds: tuple[Any, ...] = (nn.Module, perpend.Model)
    assert all(isinstance(model, kind) for kind in kinds)
    assert not model.training and list(model.parameters()) == [] and model.state_dict() == {}
    for same in (model.eval(), model.to("cpu"), model.cpu(), model.float(), model.requires_grad_(False)):
        assert same is model
    torch.testing.assert_close(model(x), expected)
    torch.testing.assert_close(model.forward(x), expected)
    whole = nn.Sequential(model, nn.Flatten(0)).eval().to("cpu")
    torch.testing.assert_close(whole(x), expected.flatten())
    seen: list[Any] = []
    handle = model.register_forward_hook(lambda module, inputs, output: seen.append(output))
    model(x)
    handle.remove()
    model(x)
    assert len(seen) == 1
    with pytest.raises(TypeError, match="it is compiled already"):
        perpend.compile(model)


@pytest.mark.parametrize(
    ("change", "got"), [(lambda m: m.half(), "torch.float16"), (lambda m: nn.Sequential(m).to("meta"), "got meta")]
)
def test_a_compiled_module_stays_what_it_is(model: Any, change: Any, got: str) -> None:
    with pytest.raises(RuntimeError, match=f"expected to stay on cpu with torch.float32 .*{got}.*\nhint: change the"):
        change(model)


def test_copies(net: nn.Module) -> None:
    """They last longer than what they were copied from, and have hooks of their own."""
    x = torch.randn(2, 4)
    model = perpend.compile(net, example_inputs=(x,))
    copies = [copy.deepcopy(model), copy.copy(model), copy.deepcopy(nn.Sequential(model, nn.ReLU()))]
    path = Path(model.path)
    del model
    for made in copies:
        torch.testing.assert_close(made(x), net(x).detach())
    assert path.exists()
    made = copies = None  # type: ignore[assignment]
    assert not path.exists()


def test_models_are_not_pickled(model: Any) -> None:
    with pytest.raises(TypeError, match=r"cannot be pickled\nhint: use save\(path\) and perpend.load\(path\)"):
        pickle.dumps(model)


def test_the_warning_about_gradients_names_what_to_do(net: nn.Module) -> None:
    torch._dynamo.reset()
    with pytest.warns(UserWarning, match=r"needs gradients and runs in PyTorch\nhint: call it in `with torch.no_grad"):
        torch.compile(net, backend="perpend")(torch.ones(2, 4))


@pytest.mark.parametrize("mode", ["default", "max-autotune", None])
def test_modes(net: nn.Module, mode: str | None) -> None:
    torch._dynamo.reset()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.testing.assert_close(
            torch.compile(net, backend="perpend", mode=mode)(torch.ones(2, 4)), net(torch.ones(2, 4))
        )


def test_modes_that_do_not_exist(net: nn.Module) -> None:
    torch._dynamo.reset()
    with torch.no_grad(), pytest.raises(Exception, match=r"mode: expected one of default, .*, got 'fastest'\nhint"):
        torch.compile(net, backend="perpend", mode="fastest")(torch.ones(2, 4))


class Cached(nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor, cache: Any = None) -> Any:
        return x + 1, DynamicCache()


class DynamicCache:
    """As transformers has it: a class that PyTorch's pytree does not know."""


@pytest.mark.parametrize("inputs", [(torch.ones(3),), (torch.ones(3), DynamicCache())])
def test_what_to_do_about_caches(inputs: Any) -> None:
    with pytest.raises(perpend.CompileError) as failure:
        perpend.compile(Cached(), example_inputs=inputs)
    hint = str(failure.value).partition("\nhint: ")[2]
    assert "use_cache=False" in hint and "register_dynamic_cache_export_support()" in hint
