"""The net of edge_conformance.py: what it sees, what it does not complain about, and that nothing of it goes unseen."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import perpend
import pytest
from edge_cases import (
    DIFFERENT,
    DISPUTED,
    FAILED,
    REFUSED,
    RIGHT,
    Call,
    Group,
    Record,
    Trial,
    run_groups,
    run_whole,
)
from edge_judge import Witness, is_elementwise, judge
from edge_report import Entry, read_entries, stale, unexplained
from edge_values import filled, fills, special_values, table

F32, BF16 = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)


def agrees(got: Any, wanted: Any, is_strict: bool = True, exact: Any = None) -> bool:
    witnesses = [Witness("other", [wanted])]
    if exact is not None:
        witnesses.append(Witness("double", [exact], rounded=False))
    return not judge([got], witnesses, [], is_strict).wrong


@pytest.mark.parametrize(
    ("got", "wanted", "is_right"),
    [
        (np.float32([1, np.nan, np.inf, -0.0]), np.float32([1, np.nan, np.inf, -0.0]), True),
        (np.float32([1 + 2.0**-21]), np.float32([1]), True),
        (np.float32([1 + 2.0**-19]), np.float32([1]), False),
        (np.float32([0.0]), np.float32([-0.0]), False),
        (np.float32([np.inf]), np.float32([3e38]), False),
        (np.float32([np.nan]), np.float32([0]), False),
        (np.float32([1e-45]), np.float32([0]), True),
        (np.float32([1e-30]), np.float32([0]), False),
        (np.array([1, 2], BF16), np.array([1.0078125, 2], BF16), True),
        (np.array([1, 2], BF16), np.array([1.0625, 2], BF16), False),
        (np.int8([3]), np.int8([4]), False),
        (np.int8([3]), np.int16([3]), False),
        (np.zeros((1, 2), F32), np.zeros(2, F32), False),
        (np.array(["a"], object), np.array(["b"], object), False),
        ([np.int64([1])], [np.int64([1]), np.int64([2])], False),
    ],
)
def test_elements_of_a_strict_trial(got: Any, wanted: Any, is_right: bool) -> None:
    assert agrees(got, wanted) == is_right


def test_sums_that_cancel_are_measured_by_the_largest_element() -> None:
    got, wanted = np.float32([1000, 1e-4]), np.float32([1000, 2e-4])
    assert agrees(got, wanted, is_strict=False) and not agrees(got, wanted)
    assert not agrees(np.float32([1000, 0.1]), np.float32([1000, 0.2]), is_strict=False)


def test_rounding_of_the_witness_in_the_same_type_is_allowed_too() -> None:
    got, wanted, exact = np.float32([1 + 1e-5]), np.float32([1 - 1e-5]), np.float64([1])
    assert agrees(got, wanted, exact=exact) and not agrees(got, wanted)


def test_elementwise_operators_are_known_by_what_they_do() -> None:
    x = special_values(F32)
    assert is_elementwise(lambda inputs: [np.abs(inputs[0])], [x])
    assert not is_elementwise(lambda inputs: [np.cumsum(inputs[0])], [np.arange(5)])
    assert not is_elementwise(lambda inputs: None, [x])


def test_zero_of_what_is_too_small_has_either_sign() -> None:
    assert agrees(np.float32([-0.0]), np.float32([0.0]), exact=np.float64([-1e-60]))
    assert not agrees(np.float32([-0.0]), np.float32([0.0]), exact=np.float64([0.0]))


def test_one_of_tensors_with_different_shapes_has_infinite_numbers() -> None:
    tensors = {0: ((3, 40), F32), 2: ((40,), F32)}
    made = filled("some infinite", tensors, np.random.default_rng(0))
    assert sum(bool(np.isinf(each).any()) for each in made.values()) == 1 and made[2].shape == (40,)


@pytest.mark.parametrize("dtype", [F32, BF16, np.dtype(np.float64), np.dtype(ml_dtypes.float8_e4m3fn)])
def test_special_values_of_floats(dtype: np.dtype) -> None:
    values = special_values(dtype)
    numbers, about = values.astype(np.float64), ml_dtypes.finfo(dtype)
    assert values.dtype == dtype and len(set(values.view(f"u{dtype.itemsize}"))) == len(values)
    for number in (0, 1, -1, 0.5, about.max, about.min, about.smallest_subnormal, about.smallest_normal):
        assert float(number) in numbers
    assert np.isnan(numbers).any() and {bool(each) for each in np.signbit(numbers[numbers == 0])} == {False, True}


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, ml_dtypes.int4, ml_dtypes.uint2])
def test_special_values_of_integers(dtype: Any) -> None:
    about = ml_dtypes.iinfo(dtype)
    values = [int(value) for value in special_values(np.dtype(dtype))]
    assert {0, 1, int(about.min), int(about.max)} <= set(values) and len(set(values)) == len(values)


def test_table_has_every_pair() -> None:
    first, second = table(2, np.dtype(np.uint8), np.random.default_rng(0))
    assert len(set(zip(first.tolist(), second.tolist(), strict=True))) == len(special_values(np.dtype(np.uint8))) ** 2


def test_fills_are_of_their_type() -> None:
    for dtype in (
        F32,
        BF16,
        np.dtype(np.int16),
        np.dtype(np.bool_),
        np.dtype(ml_dtypes.float4_e2m1fn),
        np.dtype(object),
    ):
        for make in fills(dtype).values():
            made = make(np.random.default_rng(0), (2, 3), dtype)
            assert made.dtype == dtype and made.shape == (2, 3)


# ----------------------------------------------------------------------------------------------------------------------
# Outcomes
# ----------------------------------------------------------------------------------------------------------------------

ONE, TWO = np.float32([1]), np.float32([2])


class Pretended:
    """A front end whose calls do what their payload does."""

    name = "pretended"

    def groups(self) -> list[Group]:
        return []

    def compile(self, calls: Sequence[Call]) -> Callable[[list[list[Any]]], list[list[Any]]]:
        for call in calls:
            if call.form == "refused":
                raise perpend.CompileError("no such operator\nhint: another one")
            if call.form == "bug":
                raise perpend.CompileError("perpend bug: this")
        return lambda inputs: [[call.payload()] for call in calls]


def crash() -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def fail() -> Any:
    raise ValueError("this")


def hang() -> Any:
    while True:
        pass


PAYLOADS = {
    "right": lambda: ONE,
    "different": lambda: TWO,
    "refused": None,
    "bug": None,
    "fails": fail,
    "crashes": crash,
}


def call(form: str, payload: Any, *witnesses: np.ndarray) -> Call:
    given = [Witness(f"witness {number}", [each]) for number, each in enumerate(witnesses or (ONE,))]
    return Call(form, [Trial("own", [], given, is_strict=True)], payload)


def group(**payloads: Any) -> Group:
    makers = {form: partial(call, form, payload) for form, payload in payloads.items()}
    return Group("operator", "float32", partial(dict, makers))


def statuses(groups: Sequence[Group], limit_s: int = 60) -> list[dict[str, str]]:
    found = run_groups(Pretended(), groups, limit_s)
    return [{record.form: record.status for record in records} for _, records in found]


def test_each_call_of_a_group_has_its_outcome() -> None:
    without_crash = {form: payload for form, payload in PAYLOADS.items() if form != "crashes"}
    expected = {"right": RIGHT, "different": DIFFERENT, "refused": REFUSED, "bug": FAILED, "fails": FAILED}
    assert statuses([group(**without_crash)]) == [expected]
    assert statuses([group(right=PAYLOADS["right"]), group(**PAYLOADS), group(right=PAYLOADS["right"])]) == [
        {"right": RIGHT}, expected | {"crashes": FAILED}, {"right": RIGHT}]  # fmt: skip


def test_groups_of_one_operator_run_together() -> None:
    compiled: list[int] = []

    class Counting(Pretended):
        def compile(self, calls: Sequence[Call]) -> Callable[[list[list[Any]]], list[list[Any]]]:
            compiled.append(len(calls))
            return super().compile(calls)

    makers = {name: partial(dict, {name: partial(call, name, PAYLOADS[name])}) for name in ("right", "different")}
    groups = [Group("one", types, makers["right"]) for types in ("float32", "int8", "bool")]
    groups.append(Group("other", "float32", makers["different"]))
    expected = [*((group.name, [RIGHT]) for group in groups[:3]), ("other float32", [DIFFERENT])]
    for count in (1, 2, 9):
        found = run_groups(Pretended(), groups, 60, count)
        assert [(group.name, [record.status for record in records]) for group, records in found] == expected
    assert [len(records) for records in run_whole(Counting(), groups[:3])] == [1, 1, 1] and compiled == [3]


def test_crash_among_groups_that_run_together() -> None:
    groups = [
        Group("operator", types, partial(dict, {form: partial(call, form, PAYLOADS[form]) for form in forms}))
        for types, forms in (("float32", ["right", "crashes"]), ("int8", ["different"]))
    ]
    found = {record.form: record.status for _, records in run_groups(Pretended(), groups, 60, 2) for record in records}
    assert found == {"right": RIGHT, "crashes": FAILED, "different": DIFFERENT}


@pytest.mark.alone
def test_hang_costs_one_call() -> None:
    assert statuses([group(hangs=hang, right=PAYLOADS["right"])], limit_s=4) == [{"hangs": FAILED, "right": RIGHT}]


def test_witness_that_ends_the_process_is_no_case() -> None:
    makers = {"dies": crash, "right": partial(call, "right", PAYLOADS["right"])}
    assert statuses([Group("operator", "float32", partial(dict, makers))]) == [{"right": RIGHT}]


def test_witnesses_that_disagree() -> None:
    makers = {"disputed": partial(call, "disputed", PAYLOADS["right"], ONE, TWO)}
    ((_, records),) = run_groups(Pretended(), [Group("operator", "float32", partial(dict, makers))])
    assert [record.status for record in records] == [DISPUTED] and "witness 1" in records[0].reason


def test_result_agrees_with_one_witness_in_each_element() -> None:
    mine, first, second = np.float32([1, 2, 3]), np.float32([1, 9, 3]), np.float32([8, 2, 3])
    witnesses = [Witness("first", [first]), Witness("second", [second])]
    verdict = judge([mine], witnesses, [], is_strict=True)
    assert verdict.wrong is None and "first: 1 of 3" in verdict.disputed
    verdict = judge([mine + 3], witnesses, [], is_strict=True)
    assert verdict.wrong is not None and verdict.wrong.kinds == {"number"}


@pytest.mark.parametrize(
    ("got", "wanted", "kinds"),
    [
        ([0.0, 1], [-0.0, 1], {"zero"}),
        ([np.nan, np.inf], [1, -np.inf], {"NaN", "infinity"}),
        ([1, 1], [1, 2], {"number"}),
        ([1, 1], [[1, 1]], {"shape"}),
    ],
)
def test_kinds_of_differences(got: list[float], wanted: list[float], kinds: set[str]) -> None:
    verdict = judge([np.float32(got)], [Witness("other", [np.float32(wanted)])], [], is_strict=True)
    assert verdict.wrong is not None and verdict.wrong.kinds == kinds


def test_list_of_differences_explains_and_must_shrink() -> None:
    records = [
        Record("Log", "float32", "table", "own", DIFFERENT, "this", "NaN number"),
        Record("Log", "float16", "[3]", "own", RIGHT),
    ]
    assert unexplained(records, []) == records[:1]
    entries = [
        Entry("Log", "float*", "*", "own", "NaN number zero", "why"),
        Entry("Log", "float16", "[3]", "*", "NaN", "no longer differs"),
        Entry("Exp", "*", "*", "*", "NaN", "has not run"),
    ]
    assert unexplained(records, entries) == [] and stale(records, entries) == entries[1:2]
    other = [Entry("Log", "*", "*", "*", "number refused", "another kind")]
    assert unexplained(records, other) == records[:1] and stale(records, other) == other


def test_every_entry_has_a_reason() -> None:
    assert all(len(entry.reason) > 10 for entry in read_entries())
