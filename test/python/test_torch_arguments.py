"""What a compiled module may be called with: nested arguments, flat ones, and tensors that have no elements to read."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import perpend
import pytest
import torch
from python.torch_functions import DYNAMIC
from torch import nn


class Nested(nn.Module):  # type: ignore[misc]
    def forward(self, d: dict[str, torch.Tensor], pair: Any, flag: Any = None, *, scale: Any = None) -> torch.Tensor:
        result: torch.Tensor = d["a"] + d["b"] * pair[0] - pair[1]
        return result if scale is None else result * scale["by"]


def values(rows: int) -> list[torch.Tensor]:
    return [torch.randn(rows, 3) for _ in range(5)]


def test_nested_arguments() -> None:
    a, b, x, y, _ = values(2)
    rows = {0: DYNAMIC}
    shapes = ({"a": rows, "b": rows}, (rows, rows))
    model = perpend.compile(Nested(), example_inputs=({"a": a, "b": b}, (x, y)), dynamic_shapes=shapes)
    assert [info.name for info in model.inputs] == ["d_a", "d_b", "pair_0", "pair_1"]
    for count in (2, 5, 1):
        a, b, x, y, _ = values(count)
        expected = a + b * x - y
        for result in (
            model({"a": a, "b": b}, (x, y)),
            model({"b": b, "a": a}, (x, y)),
            model(d={"a": a, "b": b}, pair=(x, y)),
            model(pair=(x, y), d={"b": b, "a": a}),
            model({"a": a, "b": b}, pair=(x, y)),
            model(a, b, x, y),
            model(a, b, pair_1=y, pair_0=x),
        ):
            torch.testing.assert_close(result, expected)
    message = r"expected the arguments \{'a': d_a, 'b': d_b\}, \(pair_0, pair_1\), got others\n"
    for given in (
        ({"a": a}, (x, y)),
        ({"a": a, "b": b}, [x, y]),
        ({"a": a, "b": b}, x),
        ({"a": a, "c": b}, (x, y)),
        ({"a": [a], "b": b}, (x, y)),
    ):
        with pytest.raises(TypeError, match=message + "hint: or flat, by position or name: d_a, d_b, pair_0, pair_1"):
            model(*given)


def test_nested_keyword_arguments_and_constants() -> None:
    a, b, x, y, z = values(2)
    program = torch.export.export(Nested(), ({"a": a, "b": b}, (x, y), None), {"scale": {"by": z}})
    model = perpend.compile(program)
    expected = (a + b * x - y) * z
    torch.testing.assert_close(model({"a": a, "b": b}, (x, y), None, scale={"by": z}), expected)
    torch.testing.assert_close(model(scale={"by": z}, flag=None, pair=(x, y), d={"b": b, "a": a}), expected)
    torch.testing.assert_close(model(a, b, x, y, z), expected)
    with pytest.raises(TypeError, match=r"got others\nhint"):
        model({"a": a, "b": b}, (x, y), 3)


class Scaled(nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor, by: float, shift: Any = None, mode: str = "sum", *, negate: bool = False) -> Any:
        x = x * by + (0 if shift is None else shift)
        return -x if negate else x.abs() if mode == "abs" else x


@pytest.fixture(scope="module")
def scaled() -> perpend.Model:
    program = torch.export.export(Scaled(), (torch.ones(3), 2, None, "abs"), {"negate": False})
    return perpend.compile(program)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), {}),
        ((2,), {}),
        ((np.int64(2), None), {"negate": False}),
        ((2, None, "abs"), {}),
        ((2,), {"mode": "abs"}),
        ((), {"by": 2, "negate": False}),
    ],
)
def test_constants_that_the_module_was_compiled_with(
    scaled: perpend.Model, arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    x = torch.tensor([-1.0, 2.0, 3.0])
    expected = torch.tensor([2.0, 4.0, 6.0])
    torch.testing.assert_close(scaled(x, *arguments, **named), expected)
    if not arguments:
        torch.testing.assert_close(scaled(x=x, **named), expected)


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((3,), {}, "'by': expected the constant 2 that the module was compiled with, got 3"),
        ((2.0,), {}, "'by': expected the constant 2 .*, got 2.0"),
        ((True,), {}, "'by': expected the constant 2 .*, got True"),
        ((), {"by": 3}, "'by': expected the constant 2 .*, got 3"),
        ((2, torch.ones(3)), {}, r"'shift': expected the constant None .*, got an array of shape \[3\]"),
        ((2, None, "sum"), {}, "'mode': expected the constant 'abs' .*, got 'sum'"),
        ((2,), {"negate": True}, "'negate': expected the constant False .*, got True"),
    ],
)
def test_other_constants(
    scaled: perpend.Model, arguments: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"argument {message}\nhint: compile it again"):
        scaled(torch.ones(3), *arguments, **named)


def test_tensors_behind_constants() -> None:
    """They may be given with the constants before them, or without."""
    x, shift = torch.randn(3), torch.randn(3)
    model = perpend.compile(Scaled(), example_inputs=(x, float("nan"), shift))
    assert [info.name for info in model.inputs] == ["x", "shift"]
    assert torch.isnan(model(x, float("nan"), shift)).all() and torch.isnan(model(x, shift)).all()
    with pytest.raises(ValueError, match=r"'by': expected the constant nan .*, got 1.0"):
        model(x, 1.0, shift)
    with pytest.raises(TypeError, match="expected 2 inputs, got 3\nhint: the inputs are x, shift"):
        model(x, float("nan"), shift, x)


def test_constants_among_nested_arguments() -> None:
    a, b, x, y, _ = values(2)

    class Both(nn.Module):  # type: ignore[misc]
        def forward(self, pair: Any, options: dict[str, Any]) -> torch.Tensor:
            result: torch.Tensor = pair[0] * options["by"] + pair[1]
            return result

    model = perpend.compile(Both(), example_inputs=((a, b), {"by": 3}))
    torch.testing.assert_close(model((x, y), {"by": 3}), x * 3 + y)
    torch.testing.assert_close(model(x, y), x * 3 + y)
    with pytest.raises(ValueError, match=r"'options_by': expected the constant 3 .*, got 4"):
        model((x, y), {"by": 4})
    with pytest.raises(TypeError, match=r"expected the arguments \(pair_0, pair_1\), \{'by': 3\}, got others"):
        model((x, y), 3)


class Double(nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


@pytest.fixture(scope="module")
def double() -> perpend.Model:
    return perpend.compile(Double(), example_inputs=(torch.ones(2, 3),))


@pytest.mark.parametrize(
    ("make", "got"),
    [
        (lambda x: x.to("meta"), "Tensor of torch.float32, torch.strided, on meta"),
        (lambda x: x.to_sparse(), "Tensor of torch.float32, torch.sparse_coo, on cpu"),
        (lambda x: x.to_sparse_csr(), "Tensor of torch.float32, torch.sparse_csr, on cpu"),
        (lambda x: x.to_mkldnn(), "Tensor of torch.float32, torch._mkldnn, on cpu"),
        (lambda x: x.to(torch.complex64), "Tensor of torch.complex64, torch.strided, on cpu"),
        (lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), "Tensor of torch.qint8, torch.strided, on cpu"),
        (torch._subclasses.FakeTensorMode().from_tensor, "FakeTensor of torch.float32, torch.strided, on cpu"),
    ],
)
def test_tensors_without_elements_to_read(double: perpend.Model, make: Any, got: str) -> None:
    with pytest.raises(TypeError) as failure:
        double(make(torch.ones(2, 3)))
    assert f"x: expected a dense tensor of numbers on the CPU, got {got}\nhint: " in str(failure.value)
    assert double(torch.ones(2, 3, requires_grad=True)).sum() == 12


@pytest.mark.parametrize("value", ["a", ["a", "b"], [[1.0], [1.0, 2.0]], [object()]])
def test_what_is_no_array_of_numbers(double: perpend.Model, value: Any) -> None:
    with pytest.raises(TypeError, match=f"x: expected an array of f32, got {type(value).__name__}: "):
        double(value)
    assert double([[1, 2, 3], [4, 5, 6]]).tolist() == [[2, 4, 6], [8, 10, 12]]
    assert double(np.ones((2, 3), np.float32)).sum() == 12


def test_extents_that_are_no_multiples() -> None:
    height = torch.export.Dim("h", min=1, max=64)
    net = nn.Conv2d(1, 1, 4, 4).eval()
    model = perpend.compile(net, example_inputs=(torch.ones(1, 1, 32, 8),), dynamic_shapes=({2: 4 * height},))
    with pytest.raises(
        ValueError, match=r"dimension 2: expected 4\*h, a multiple of 4, got 33; hint: its shape is \[1, 1, 4\*h, 8"
    ):
        model(torch.ones(1, 1, 33, 8))
    with pytest.raises(ValueError, match="dimension 2: expected at most 256, got 260"):
        model(torch.ones(1, 1, 260, 8))


def test_nothing_is_printed_that_is_no_error() -> None:
    """Neither warnings of PyTorch's own code nor notices about what its caches hold at the end of the process."""
    program = """
import perpend, torch
net = torch.nn.Linear(8, 4).eval()
model = perpend.compile(net, example_inputs=(torch.randn(2, 8),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
compiled = torch.compile(net, backend="perpend")
with torch.no_grad():
    assert model(torch.ones(5, 8)).allclose(compiled(torch.ones(5, 8)), atol=1e-5)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
