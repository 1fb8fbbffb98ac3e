"""What descriptions of operators say of extents."""

from __future__ import annotations

from typing import Any

import numpy as np
import perpend
import pytest
from perpend import Operator
from python.user_operators import HEAD, model


def test_chosen_extents_keep_their_pattern() -> None:
    def positive(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        kept = x[0][x[0] > 0]
        return np.concatenate([x[:, : len(kept)]] * 2, axis=1), kept, -kept

    operator = Operator(
        "mine",
        "Positive",
        positive,
        inputs=[("f32", ["n", "m"])],
        outputs=[("f32", ["n", "2*k"]), ("f32", ["k"]), ("f32", ["k"])],
    )
    text = HEAD + "f (float[n, m] x) => (float[n, p] wide, float[q] sum) { wide, a, b = mine.Positive (x)\n"
    compiled = perpend.compile(model(text + "sum = Add (a, b) }"), operators=[operator])
    wide, total = (output.shape for output in compiled.outputs)
    assert wide == ["n", f"2*{total[0]}"]
    module = perpend.import_model(model(text + "sum = Add (a, b) }"), operators=[operator])
    for x in ([[1, -1, 2], [3, 4, 5]], [[-1, -2, -3]], [[1, 2, 3]]):
        given = np.array(x, np.float32)
        for results in (compiled(given), module.evaluate(given)):
            assert results[0].shape == (len(x), 2 * (given[0] > 0).sum())
            assert not results[1].any() and results[1].shape == ((given[0] > 0).sum(),)


def test_a_chosen_extent_that_is_only_part_of_expressions() -> None:
    sizes = [(2, 3)]
    operator = Operator(
        "mine",
        "Make",
        lambda x: tuple(np.ones(size, np.float32) for size in sizes[0]),
        inputs=[("f32", ["n"])],
        outputs=[("f32", ["2*k"]), ("f32", ["k + 2"])],
    )
    text = HEAD + "f (float[n] x) => (float[p] a, float[q] b) { a, b = mine.Make (x) }"
    compiled = perpend.compile(model(text), operators=[operator])
    x = np.ones(1, np.float32)
    for sizes[0] in ((2, 3), (0, 2), (10, 7)):
        assert tuple(len(result) for result in compiled(x)) == sizes[0]
    for sizes[0] in ((3, 3), (2, 4)):
        with pytest.raises(ValueError, match="extent"):
            compiled(x)


class Making:
    """An operator whose results have the sizes in `sizes`, compiled and interpreted."""

    def __init__(self, text: str, inputs: list[list[Any]], outputs: list[list[Any]]) -> None:
        self.sizes: tuple[int, ...] = ()
        operator = Operator(
            "mine",
            "Make",
            lambda *x: tuple(np.ones(size, np.float32) for size in self.sizes),
            inputs=[("f32", shape) for shape in inputs],
            outputs=[("f32", shape) for shape in outputs],
        )
        self.compiled = perpend.compile(model(HEAD + text), operators=[operator])
        self.runs = [self.compiled, perpend.import_model(model(HEAD + text), operators=[operator]).evaluate]

    def gives(self, sizes: tuple[int, ...], *inputs: int) -> None:
        self.sizes = sizes
        for run in self.runs:
            results = run(*(np.ones(n, np.float32) for n in inputs))
            assert tuple(len(x) for x in (results if isinstance(results, (tuple, list)) else [results])) == sizes

    def refuses(self, message: str, sizes: tuple[int, ...], *inputs: int) -> None:
        self.sizes = sizes
        for run in self.runs:
            with pytest.raises(ValueError, match=message):
                run(*(np.ones(n, np.float32) for n in inputs))


TWO_RESULTS = "f (float[n] x) => (float[p] a, float[q] b) { a, b = mine.Make (x) }"


def test_equal_patterns_that_have_no_solution_are_one_extent() -> None:
    made = Making(TWO_RESULTS, [["n"]], [["k*j"], ["j*k"]])
    first, second = (output.shape for output in made.compiled.outputs)
    assert first == second and isinstance(first[0], str)
    made.gives((2, 2), 1)
    made.gives((0, 0), 1)
    made.refuses("expected (an extent of|the shape)", (2, 3), 1)


@pytest.mark.parametrize(("pattern", "good", "bad"), [("k + 2", (2, 5), (1, 0)), ("2*k + 2", (2, 6), (0, 3))])
def test_no_name_in_results_is_negative(pattern: str, good: tuple[int, ...], bad: tuple[int, ...]) -> None:
    made = Making(TWO_RESULTS, [["n"]], [[pattern], ["n"]])
    for size in good:
        made.gives((size, 3), 3)
    for size in bad:
        made.refuses("'Make': an extent that the function chose does not fit its description", (size, 3), 3)


def test_no_extent_of_a_result_is_negative() -> None:
    made = Making(TWO_RESULTS, [["n"]], [["n - 2"], ["k"]])
    made.gives((1, 4), 3)
    made.gives((0, 4), 2)
    made.refuses("expected at least 2, got 1|extents of at least 0, got -1", (1, 4), 1)
    with pytest.raises(perpend.CompileError, match=r"node 'a' \(Make\): operator 'Make': its result .* extent -1"):
        Making(TWO_RESULTS.replace("float[n]", "float[1]"), [["n"]], [["n - 2"], ["k"]])


def test_names_that_are_parts_of_expressions_in_inputs() -> None:
    made = Making(TWO_RESULTS, [["2*k + 1"]], [["k"], ["k"]])
    made.gives((2, 2), 5)
    made.gives((0, 0), 1)
    made.refuses("operator 'Make': an input has the extent", (2, 2), 4)
    made.refuses("dimension 0: expected at least 1, got 0|operator 'Make': an input has the extent", (0, 0), 0)
    unused = Making(TWO_RESULTS, [["2*k + 2"]], [["3"], ["j"]])
    unused.gives((3, 1), 2)
    unused.refuses("operator 'Make': the extents of its inputs give a negative value for 'k'", (3, 1), 0)
    two = "f (float[n] x, float[m] z) => (float[p] a) { a = mine.Make (x, z) }"
    Making(two, [["k + j"], ["j"]], [["k"]]).gives((3,), 5, 2)
    chain = "f (float[n] x, float[m] z, float[l] w) => (float[p] a) { a = mine.Make (x, z, w) }"
    Making(chain, [["k + j"], ["2*j + i"], ["i"]], [["k"]]).gives((3,), 5, 7, 3)
    Making(two, [["n"], ["m"]], [["m + n"]]).gives((7,), 5, 2)
    with pytest.raises(
        perpend.CompileError, match=r"f32 \[k \+ j\] does not say what '[jk]' is\ninputs: .*\nhint|\[j \+ k\]"
    ):
        Making(TWO_RESULTS, [["k + j"]], [["k"], ["j"]])
