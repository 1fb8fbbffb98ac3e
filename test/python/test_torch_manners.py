"""What perpend.compile makes of a Module behaves as one, and its files keep the form of the results."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree


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


class Uncertain(nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)


def test_errors_are_pickled() -> None:
    """Those about a node, too: multiprocessing and Ray send them to the process that waits."""
    with pytest.raises(perpend.CompileError, match="dropout in attention") as caught:
        perpend.compile(Uncertain(), example_inputs=(torch.ones(1, 2, 3, 4),))
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is perpend.CompileError and str(again) == str(caught.value)
    assert not vars(caught.value)


@dataclass
class Both:
    """A dataclass among results."""

    tensor: Any
    number: float
    texts: dict[str, Any]
    pair: Any


torch.export.register_dataclass(Both, serialized_type_name="test.Both")

Pair = namedtuple("Pair", ["first", "second"])
pytree._register_namedtuple(Pair, serialized_type_name="test.Pair")


class Results(nn.Module):  # type: ignore[misc]
    def __init__(self, make: Any) -> None:
        super().__init__()
        self.make = make

    def forward(self, x: torch.Tensor) -> Any:
        return self.make(x)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x + 1,
        lambda x: (x + 1, x * 2),
        lambda x: (x + 1,),
        lambda x: [x + 1, x * 2],
        lambda x: {"a": x + 1, "b": [x * 2, None], 3: (x - 1, x.shape[0] * 2)},
        lambda x: OrderedDict(z=x + 1, a={"x": x * 2}),
        lambda x: Pair(x + 1, (x * 2, x)),
        lambda x: {
            "y": x + 1,
            "scale": 0.1,
            "head": "klass \u00e9\n",
            "is_final": True,
            "count": 4,
            "rest": [False, None],
        },
        lambda x: (x + 1, float("inf"), -0.0, 1e-320, "", -(2**62), "inf"),
        lambda x: (x + 1, 2**63 - 1, -(2**63), 2**63, {-(2**70): 2**70}),
        lambda x: (x.shape[0] * 0.5, x.shape[0] > 3, x.shape[0] // 2, x + 1, True),
        lambda x: Both(x + 1, 0.5, {"texts": ("a", "b")}, Pair("c", x * 2)),
    ],
)
def test_files_keep_the_form_of_results(make: Any, tmp_path: Path) -> None:
    x = torch.randn(3, 2)
    model = perpend.compile(Results(make), example_inputs=(x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    model.save(tmp_path / "model.so")
    x = torch.randn(5, 2)
    again = perpend.load(tmp_path / "model.so")
    for loaded in (model, again, copy.deepcopy(again)):
        result, expected = loaded(x), make(x)
        assert pytree.tree_structure(result) == pytree.tree_structure(expected)
        assert [type(leaf) for leaf in pytree.tree_leaves(result)] == [type(e) for e in pytree.tree_leaves(expected)]
        for leaf, other in zip(pytree.tree_leaves(result), pytree.tree_leaves(expected), strict=True):
            if isinstance(other, torch.Tensor):
                torch.testing.assert_close(leaf, other)
            else:
                assert repr(leaf) == repr(other)
    arrays = pytree.tree_leaves(again(x.numpy()))
    assert all(leaf is None or isinstance(leaf, (np.ndarray, int, float, str)) for leaf in arrays)


class Alone(nn.Module):  # type: ignore[misc]
    def __init__(self, is_one: bool) -> None:
        super().__init__()
        self.is_one = is_one

    def forward(self) -> Any:
        numbers = torch.arange(3)
        if self.is_one:
            return numbers
        return [numbers, numbers.bfloat16() / 2, (numbers > 1).any(), torch.zeros(0, 2), {"half": numbers.half()}]


@pytest.mark.parametrize("is_one", [False, True])
def test_a_module_without_inputs_returns_tensors(is_one: bool) -> None:
    net = Alone(is_one)
    torch.testing.assert_close(perpend.compile(net, example_inputs=())(), net())


def test_results_of_a_class_that_is_not_known(tmp_path: Path) -> None:
    """The class is there when the module is compiled, and not when its file is loaded."""
    kind = type("Own", (tuple,), {})
    pytree.register_pytree_node(
        kind,
        lambda own: (list(own), None),
        lambda parts, _: kind(parts),
        serialized_type_name="test.Own",
        flatten_with_keys_fn=lambda own: ([(pytree.SequenceKey(i), part) for i, part in enumerate(own)], None),
    )
    x = torch.randn(3)
    perpend.compile(Results(lambda x: kind((x + 1, x))), example_inputs=(x,)).save(tmp_path / "own.so")
    assert type(perpend.load(tmp_path / "own.so")(x)) is kind
    program = f"import perpend, numpy; print(type(perpend.load('{tmp_path}/own.so')(numpy.ones(3, 'float32'))))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout == "<class 'tuple'>\n"
    assert "the model's outputs stay a flat tuple: Deserializing test.Own" in done.stderr
    assert "hint: import what defines the classes" in done.stderr


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


def test_requirements_of_rounded_extents_are_sentences() -> None:
    def padded(x: torch.Tensor) -> torch.Tensor:
        missing = -x.shape[0] % 8
        return x + 1 if x.shape[0] + missing <= 8 else x * 2

    model = perpend.compile(
        Results(padded), example_inputs=(torch.ones(5),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)
    )
    torch.testing.assert_close(model(torch.ones(7)), torch.ones(7) + 1)
    with pytest.raises(ValueError, match="input 'x', dimension 0: expected at most 8, got 9; hint: "):
        model(torch.ones(9))
