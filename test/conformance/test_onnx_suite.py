"""The harness of the official ONNX suite, and that what docs/onnx-coverage.md says passes still does."""

from __future__ import annotations

import functools
import os
import signal
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnx_report
import pytest
from onnx import TensorProto, helper
from onnx_cases import Case, collect
from onnx_columns import EMULATED, PREPARE, Settings
from onnx_compare import explain_all
from onnx_foreign import SIMULATED, missing
from onnx_runner import PASS, UNSUPPORTED, WRONG, Outcome, one_line, run_case, run_cases

JOBS = min(2, os.cpu_count() or 1)


@pytest.fixture(scope="module")
def suite() -> list[Case]:
    return collect()


def negation(expected: Sequence[float], name: str = "negation", operator: str = "Neg") -> Case:
    declare = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [2]) for each in "xy"]
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "g", declare[:1], declare[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", 13)])
    sets = [([np.array([1, 2], np.float32)], [np.array(expected, np.float32)])]
    return Case(name, "node", operator, 13, "float32", model.SerializeToString(), sets)


def outcome_of(case: Case, column: str = "plain") -> Outcome:
    return run_case(case, column, Settings(opt_level=1))


@pytest.mark.parametrize("column", PREPARE)
def test_wrong_expectation_is_reported_wrong(column: str) -> None:
    assert outcome_of(negation([-1, -2]), column) == Outcome(PASS)
    outcome = outcome_of(negation([-1, -3]), column)
    assert outcome.status == WRONG
    assert outcome.reason == "output 0: 1 of 2 elements differ, first at [1]: -2.0, expected -3.0"


def test_refusal_is_unsupported() -> None:
    outcome = outcome_of(negation([-1, -2], operator="NoSuchOperator"))
    assert outcome.status == UNSUPPORTED and "NoSuchOperator" in outcome.reason


# One of each kind of value and of work: numbers, texts, lists, optional values, control flow, sizes from data, bytes.
CASES_ELSEWHERE = [
    *("test_add", "test_softmax_large_number", "test_conv_with_strides_padding", "test_gemm_all_attributes"),
    *("test_matmulinteger", "test_qlinearconv", "test_cast_FLOAT_to_FLOAT16", "test_quantizelinear_int4", "test_tanh"),
    *("test_string_split_basic", "test_sequence_insert_at_front", "test_optional_get_element_optional_sequence"),
    *(
        "test_loop11",
        "test_if_seq",
        "test_nonzero_example",
        "test_unique_sorted_without_axis",
        "test_top_k",
        "test_dft",
    ),
    *("test_layer_normalization_2d_axis1", "test_lstm_defaults", "test_attention_4d", "test_det_nd", "test_round"),
]


# Programs of an accelerator have no texts and lists.
NOT_ON_ACCELERATORS = {
    *("test_string_split_basic", "test_sequence_insert_at_front", "test_optional_get_element_optional_sequence"),
    "test_if_seq",
}


@pytest.mark.parametrize("column", EMULATED)
def test_other_architectures_compute_the_same(suite: list[Case], column: str) -> None:
    if reason := missing(column):
        pytest.skip(reason)
    cases = [case for case in suite if case.kind == "node" and case.name in CASES_ELSEWHERE]
    assert {case.name for case in cases} == set(CASES_ELSEWHERE)
    execute = functools.partial(run_case, column=column, settings=Settings(opt_level=3))
    outcomes = run_cases(cases, execute, JOBS)
    reasons = {case.name: outcome.reason for case, outcome in zip(cases, outcomes, strict=True)}
    lacking = NOT_ON_ACCELERATORS if column == SIMULATED else set()
    failed = {case.name for case, outcome in zip(cases, outcomes, strict=True) if outcome.status != PASS}
    assert failed == lacking, reasons
    assert WRONG not in {outcome.status for outcome in outcomes}, reasons
    assert outcome_of(negation([-1, -3]), column).status == WRONG
    assert outcome_of(negation([-1, -2], operator="NoSuchOperator"), column).status == UNSUPPORTED


def misbehave(case: Case) -> Outcome:
    if case.name == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if case.name == "exit":
        os._exit(3)
    if case.name == "hang":
        time.sleep(60)
    return Outcome(PASS, case.name)


@pytest.mark.alone
def test_crash_exit_and_hang_cost_one_case_each() -> None:
    names = ["a", "crash", "b", "hang", "exit", "c", "d"]
    cases = [negation([-1, -2], name) for name in names]
    outcomes = run_cases(cases, misbehave, jobs=2, limit_s=2)
    assert [outcome.status for outcome in outcomes] == [PASS, WRONG, PASS, WRONG, WRONG, PASS, PASS]
    assert [outcomes[i].reason for i in (0, 1, 3, 4)] == [
        "a", "crash: SIGSEGV", "hang: not done after 2 s", "crash: exit status 3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("got", "expected", "reason"),
    [
        (np.float32([1, np.nan, np.inf]), np.float32([1.0009, np.nan, np.inf]), None),
        (np.float32([1]), np.float32([1.0011]), "elements differ"),
        (np.float32([np.inf]), np.float32([-np.inf]), "elements differ"),
        (np.float32([np.nan]), np.float32([0]), "elements differ"),
        (np.int32([1]), np.int64([1]), "type int32, expected int64"),
        (np.int8([1000 // 10]), np.int8([101]), "elements differ"),
        (np.zeros((1, 2)), np.zeros(2), "shape [1, 2], expected [2]"),
        (np.array([1.01], ml_dtypes.bfloat16), np.array([1.0], ml_dtypes.bfloat16), None),
        (np.array([1.1], ml_dtypes.bfloat16), np.array([1.0], ml_dtypes.bfloat16), "elements differ"),
        (np.array([7], ml_dtypes.int4), np.array([-7], ml_dtypes.int4), "elements differ"),
        (np.array([1.0], ml_dtypes.float8_e4m3fn), np.array([1.125], ml_dtypes.float8_e4m3fn), "elements differ"),
        (np.array(["a"], object), np.array(["b"], object), "elements differ"),
        ([np.int64([1])], [np.int64([1]), np.int64([2])], "1 values, expected 2"),
        (None, np.int64([1]), "got NoneType"),
    ],
)
def test_comparison(got: object, expected: object, reason: str | None) -> None:
    explained = explain_all([got], [expected], 1e-3, 1e-7)
    assert (explained is None) if reason is None else (explained is not None and reason in explained)


def test_numbers_of_outputs_must_agree() -> None:
    assert explain_all([], [np.int64([1])], 0, 0) == "0 values, expected 1"


def test_page_reads_back_what_was_written(tmp_path: Path) -> None:
    cases = [negation([-1, -2], name) for name in ("a", "b", "c")]
    outcomes = {
        "plain": {"a": Outcome(PASS), "b": Outcome(WRONG, "x | y"), "c": Outcome(UNSUPPORTED, "no")},
        "dynamic": {"a": Outcome(WRONG, "z"), "b": Outcome(WRONG, "x | y"), "c": Outcome(PASS)},
    }
    text = onnx_report.page(cases, outcomes, {"plain": "-O3", "dynamic": "-O1"})
    path = tmp_path / "page.md"
    path.write_text(text)
    assert onnx_report.read(cases, path) == (outcomes, {"plain": "-O3", "dynamic": "-O1"})
    assert "| plain | 1 | 1 | 1 | -O3 |" in text and "| Neg | 13 | float32 | 1 / 1 / 1 | 1 / 0 / 2 |" in text


def test_reasons_are_one_line_and_the_same_in_every_run() -> None:
    assert one_line("cannot link 'perpend/perpend-ab12/model.so':\n  x") == "cannot link …/model.so': x"


def test_suite_is_complete(suite: list[Case]) -> None:
    assert onnx.__version__ == "1.23.2" and len(suite) == 2036
    counts = {"node": 1884, "simple": 26, "pytorch-converted": 82, "pytorch-operator": 35, "light": 9}
    assert Counter(case.kind for case in suite) == counts


# So many cases pass at the least, so that the page cannot become shorter unnoticed.
LEAST = {"plain": 2013, "dynamic": 1663, "resizable": 1974, "constant": 1989, "interpreter": 2013}
COLUMNS_TO_KEEP = list(PREPARE) if os.environ.get("PERPEND_LONG") else ["plain"]


def listed_as_passing(suite: list[Case], column: str, page: Path = onnx_report.PAGE) -> list[Case]:
    listed = onnx_report.read(suite, page)[0][column]
    return [case for case in suite if listed[onnx_report.identity(case)].status == PASS]


def regressions(cases: list[Case], column: str) -> dict[str, str]:
    """Reasons, by the names of the cases that do not pass."""
    outcomes = run_cases(cases, functools.partial(run_case, column=column), JOBS)
    pairs = zip(cases, outcomes, strict=True)
    return {onnx_report.identity(case): outcome.reason for case, outcome in pairs if outcome.status != PASS}


def test_case_that_passed_once_and_no_longer_does_is_a_regression(tmp_path: Path) -> None:
    cases = [negation([-1, -2], "right"), negation([-1, -3], "broken"), negation([1, 2], "lost", "NoSuchOperator")]
    page = tmp_path / "page.md"
    page.write_text(onnx_report.page(cases, {"plain": {case.name: Outcome(PASS) for case in cases}}, {"plain": "-O3"}))
    assert listed_as_passing(cases, "plain", page) == cases
    assert list(regressions(cases, "plain")) == ["broken", "lost"]


@pytest.mark.alone  # has processes of its own for every core
@pytest.mark.parametrize("column", COLUMNS_TO_KEEP)
def test_what_the_page_says_passes_does(suite: list[Case], column: str) -> None:
    cases = listed_as_passing(suite, column)
    assert len(cases) >= LEAST[column]
    assert regressions(cases, column) == {}
