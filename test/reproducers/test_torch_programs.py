"""PyTorch programs that once gave wrong results."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import perpend
import pytest
import torch
from python.torch_functions import Function
from torch.export import Dim
from torch.nn import functional


def compiled(function: Callable[..., torch.Tensor], x: torch.Tensor) -> perpend.Model:
    shapes = (({axis: Dim.AUTO for axis in range(x.dim())},),)
    return perpend.compile(torch.export.export(Function(function), (x,), dynamic_shapes=shapes))


@pytest.mark.parametrize(
    ("function", "traced", "other", "message"),
    [
        (lambda x: x * 2 if x.shape[0] % 2 == 0 else x * 3, (4,), (5,), r"needs \w+ divisible by 2, got 5"),
        (
            lambda x: x * 2 if x.shape[0] > x.shape[1] else x * 3,
            (4, 3),
            (4, 7),
            r"the model needs inputs_0_dim0 >= inputs_0_dim1 \+ 1, got 4, where inputs_0_dim0 = 4 \(input 'inputs_0', "
            r"dimension 0\), inputs_0_dim1 = 7 \(input 'inputs_0', dimension 1\); hint: choose extents",
        ),
        (
            lambda x: functional.pad(x, (0, 8 - x.shape[0] % 8)) if x.shape[0] % 8 > 0 else x,
            (5,),
            (8,),
            "not divisible by 8",
        ),
        (lambda x: x * (x.shape[0] ** -0.5), (4,), (9,), None),
        (lambda x: functional.layer_norm(x, (4,), eps=1 / x.shape[0]), (3, 4), (5, 4), "at most 3, got 5"),
        (lambda x: functional.avg_pool1d(x, 3, stride=x.shape[1] // 3), (2, 9), (2, 12), "at most 11, got 12"),
    ],
)
def test_what_was_traced_for_some_extents(
    function: Callable[..., torch.Tensor], traced: tuple[int, ...], other: tuple[int, ...], message: str | None
) -> None:
    """A branch or a number that extents decide holds for the extents that decide alike; others are refused."""
    model = compiled(function, torch.randn(traced))
    x, y = torch.randn(traced), torch.randn(other)
    torch.testing.assert_close(model(x), function(x))
    if message is None:
        torch.testing.assert_close(model(y), function(y))
        return
    with pytest.raises(ValueError, match=message):
        model(y)


def branching(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.shape[0] == 5 else x * 2


def exported(function: Callable[..., torch.Tensor], x: torch.Tensor, **options: Any) -> torch.export.ExportedProgram:
    return torch.export.export(Function(function), (x,), dynamic_shapes=(({0: Dim.AUTO},),), **options)


def read_again(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """As it is in a file: without the places that its guards are from."""
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


def one_of_two(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.shape[0] in (4, 5) else x * 2


@pytest.mark.parametrize("function", [branching, one_of_two])
@pytest.mark.parametrize("way", ["traced", "interpreted", "from a file"])
def test_a_branch_for_one_extent(way: str, function: Callable[..., torch.Tensor]) -> None:
    """PyTorch compares extents with numbers for itself, too: the same comparison was taken for one of those."""
    program = exported(function, torch.randn(7), strict=way == "interpreted")
    model = perpend.compile(read_again(program) if way == "from a file" else program)
    for extent in (3, 6, 7, 8):
        x = torch.randn(extent)
        torch.testing.assert_close(model(x), function(x))
    with pytest.raises(ValueError, match="dimension 0: the model needs inputs_0_dim0 other than 5, got 5; hint: "):
        model(torch.randn(5))


@pytest.mark.parametrize(
    "comparison",
    [
        "max(x.shape[0], 3) == 5",
        "x.shape[0] % 5 == 4",
        "abs(x.shape[0] - 6) == 1",
        "x.shape[0] ** 0.5 == 2.0",
        "round(x.shape[0] / 2) == 2",
    ],
)
def test_guards_of_a_program_from_a_file(comparison: str) -> None:
    condition = eval(f"lambda x: {comparison}")

    def function(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if condition(x) else x * 2

    model = perpend.compile(read_again(exported(function, torch.randn(10))))
    is_exact = comparison.startswith(("max", "x.shape[0] %"))  # of others, only the extent of the export is known
    for extent in (4, 5, 6, 7, 10, 11):
        x = torch.randn(extent)
        if condition(x) or (not is_exact and extent != 10):
            with pytest.raises(ValueError, match=r"needs|expected at (least|most)"):
                model(x)
        else:
            torch.testing.assert_close(model(x), function(x))


def test_texts_in_a_file_are_not_executed(tmp_path: Path) -> None:
    """A file may come from anywhere; what PyTorch would execute of it are its guards."""
    program = read_again(exported(branching, torch.randn(7)))
    for text in (
        f"().__class__.__base__.__subclasses__()[0] or open('{tmp_path}/found', 'w')",
        f"__import__('pathlib').Path('{tmp_path}/found').touch()",
        "L['x'].__class__ == 3",
        "[x for x in L]",
    ):
        program._guards_code.append(text)
        with pytest.raises(perpend.CompileError, match="which cannot be read: ValueError"):
            perpend.compile(program)
        program._guards_code.pop()
    assert not list(tmp_path.iterdir())


def test_extents_that_tracing_took_for_granted_in_vain() -> None:
    """PyTorch compares extents to know how tensors lie in memory; that refuses nothing."""
    model = compiled(lambda x: x[:, :5] + x[:, -5:], torch.randn(2, 8))
    for columns in (5, 7):
        x = torch.randn(1, columns)
        torch.testing.assert_close(model(x), x[:, :5] + x[:, -5:])


def checked_extent(x: torch.Tensor) -> torch.Tensor:
    torch._check(x.shape[0] % 3 == 1)
    return x * 2


def checked_number(x: torch.Tensor) -> torch.Tensor:
    number = cast(int, x.sum().to(torch.int64).item())
    torch._check(number <= 30)
    torch._check(number % 3 == 1)
    return x * number


def checked_fraction(x: torch.Tensor) -> torch.Tensor:
    number = x.sum().item()
    torch._check(number < 8.5)
    return x * number


def checked_to_be_an_extent(x: torch.Tensor) -> torch.Tensor:
    number = cast(int, x.sum().to(torch.int64).item())
    torch._check(number == x.shape[0])
    return x.new_ones(x.shape[0], 2) * number


def checked_to_be_four(x: torch.Tensor) -> torch.Tensor:
    number = cast(int, (x.sum() * 0 + 3 + x[0]).to(torch.int64).item())
    torch._check(number == 4)
    return x * number


@pytest.mark.parametrize("function", [checked_to_be_an_extent, checked_to_be_four])
def test_numbers_that_are_checked_to_be_known(function: Callable[..., torch.Tensor]) -> None:
    """What the model read was taken for the extent, wherever that was meant."""
    model = perpend.compile(exported(function, torch.ones(7)))
    for extent in (2, 4, 7):
        torch.testing.assert_close(model(torch.ones(extent)), function(torch.ones(extent)))
        with pytest.raises(ValueError, match="the model asserts that a number it reads is"):
            model(torch.full((extent,), 2.0))


@pytest.mark.parametrize(
    ("function", "wrong", "message"),
    [
        (
            checked_extent,
            (5,),
            r"asserts mod\(inputs_0_dim0, 3\) = 1 at .*: expected mod\(inputs_0_dim0, 3\) <= 1, got 2",
        ),
        (checked_number, (9,), r"asserts mod\(item\(\), 3\) = 1 at .*: expected"),
        (checked_number, (31,), r"asserts item\(\) <= 30 at .*: expected"),
        (checked_fraction, (9,), r"asserts item\(\) < 8\.5 at "),
    ],
)
def test_assertions_that_an_export_leaves_to_the_run(
    function: Callable[..., torch.Tensor], wrong: tuple[int, ...], message: str
) -> None:
    """They were left out."""
    program = exported(function, torch.ones(7), prefer_deferred_runtime_asserts_over_guards=True)
    model = perpend.compile(program)
    torch.testing.assert_close(model(torch.ones(4)), function(torch.ones(4)))
    with pytest.raises(ValueError, match=message):
        model(torch.ones(wrong))


def test_a_padding_that_an_extent_decides() -> None:
    """It was taken as 0."""
    with pytest.raises(perpend.CompileError, match=r"padding: expected numbers, got \(inputs_0_dim1//2\)\nhint:"):
        compiled(lambda x: functional.conv1d(x, torch.ones(3, 3, 3), padding=x.shape[1] // 2), torch.randn(3, 9))


def test_graphs_without_inputs_give_torch_tensors() -> None:
    """They gave arrays of numpy."""
    with torch.no_grad():
        result = torch.compile(lambda: torch.arange(3) + torch.ones(3), backend="perpend")()
    torch.testing.assert_close(result, torch.tensor([1.0, 2, 3]))


def test_an_operator_that_is_defined_anew() -> None:
    """The second was unknown: the table of decompositions had the first."""

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, torch.ops.anew.scaled(x)) + 1

    for factor in (2.0, 3.0):
        library = torch.library.Library("anew", "FRAGMENT")
        library.define("scaled(Tensor x) -> Tensor")
        library.impl("scaled", lambda x, factor=factor: x * factor, "CompositeImplicitAutograd")
        try:
            model = perpend.compile(Function(scaled), example_inputs=(torch.ones(3),))
            torch.testing.assert_close(model(torch.ones(3)), torch.full((3,), factor + 1))
        finally:
            library._destroy()
