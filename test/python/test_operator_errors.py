"""Exceptions in kernels in Python."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import perpend
import pytest
from python.user_operators import COUNT, both_runs, model, raise_, twice


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


def test_errors_name_the_node_and_what_was_raised() -> None:
    x = np.ones((2, 2), np.float32)

    def fails(kernel: Callable[..., Any], message: str) -> None:
        operator = twice(kernel)
        text = COUNT.replace("a = mine.Twice", "[first] a = mine.Twice")
        compiled = perpend.compile(model(text), operators=[operator])
        with pytest.raises(ValueError, match=message):
            compiled(x)
        with pytest.raises(perpend.CompileError, match=message.split(": ")[-1]):
            perpend.import_model(model(text), operators=[operator]).evaluate(x)

    fails(lambda x: 1 / 0, "node 'first': ZeroDivisionError: division by zero")
    fails(lambda x: x.astype(np.float64), "result 0: expected an array of f32, got f64")
    fails(
        lambda x: (x, x), r"expected 1 result, got 2; hint: return an array, or a tuple with one array for each output"
    )
    fails(lambda x: raise_(ValueError("not UTF-8: \udcff")), r"node 'first': ValueError: not UTF-8: \\udcff")
    fails(lambda x: raise_(Unspeakable()), r"node 'first': Unspeakable: \(it has no text\)")
    compiled = perpend.compile(model(COUNT), operators=[twice(lambda x: x[:1])])
    with pytest.raises(ValueError, match="another shape than the model says"):
        compiled(x)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_error_comes_through_as_it_is(kind: type[BaseException]) -> None:
    raised = kind("stop")
    for run in both_runs(twice(lambda x: raise_(raised))):
        with pytest.raises(kind) as caught:
            run(np.ones((1, 1), np.float32))
        assert caught.value is raised
        assert any(entry.name == "raise_" for entry in caught.traceback)


def test_an_error_has_the_kernels_exception_as_its_cause() -> None:
    raised: list[Exception] = []

    def fail(x: np.ndarray) -> np.ndarray:
        raised.append(RuntimeError("no"))
        raise raised[-1]

    x = np.ones((1, 1), np.float32)
    for run in both_runs(twice(fail)):
        for _ in range(2):
            with pytest.raises(ValueError, match="RuntimeError: no") as caught:
                run(x)
            assert caught.value.__cause__ is raised[-1]
    for run in both_runs(twice(lambda x: x[:1, :0])):
        with pytest.raises(ValueError, match="shape") as caught:
            run(x)
        assert caught.value.__cause__ is None


def test_causes_of_nested_runs() -> None:
    """The exception of an inner run that its caller survives is not that of the outer run, and others pass through."""
    x = np.ones((1, 1), np.float32)
    first, second, stop = RuntimeError("first"), RuntimeError("second"), KeyboardInterrupt()
    for failing, stopping in zip(
        both_runs(twice(lambda x: raise_(first))), both_runs(twice(lambda x: raise_(stop))), strict=True
    ):

        def survive(x: np.ndarray, inner: Callable[..., Any] = failing) -> Any:
            with pytest.raises(ValueError, match="first"):
                inner(x)
            raise second

        for outer in both_runs(twice(survive)):
            with pytest.raises(ValueError, match="second") as caught:
                outer(x)
            assert caught.value.__cause__ is second
        for outer in both_runs(twice(failing)):
            with pytest.raises(ValueError, match="first") as caught:
                outer(x)
            assert isinstance(caught.value.__cause__, ValueError) and caught.value.__cause__.__cause__ is first
        for outer in both_runs(twice(stopping)):
            with pytest.raises(KeyboardInterrupt) as interrupted:
                outer(x)
            assert interrupted.value is stop


def test_each_thread_gets_its_own_exception() -> None:
    meeting = threading.Barrier(4, timeout=60)

    def fail(x: np.ndarray) -> Any:
        meeting.wait()
        raise KeyError(x.item())

    compiled = perpend.compile(model(COUNT), operators=[twice(fail)])
    causes: dict[int, Any] = {}

    def run(number: int) -> None:
        try:
            compiled(np.full((1, 1), number, np.float32))
        except ValueError as error:
            causes[number] = error.__cause__ and error.__cause__.args[0]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert causes == {number: number for number in range(4)}
