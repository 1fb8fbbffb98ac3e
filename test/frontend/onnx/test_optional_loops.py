"""Loops whose carried value is an optional list at first, and a list from the first iteration on."""

import numpy as np
import onnx
import perpend
import pytest

# Appends the iteration's number to the list, which begins with -1 when there is none.
APPENDING = """<ir_version: 8, opset_import: ["" : 18]>
appending (int64 trips, optional(seq(int64[1])) first) => (seq(int64[1]) numbers) {
  numbers = Loop (trips, , first) <
    body = iteration (int64 i, bool going, optional(seq(int64[1])) list) => (bool next, seq(int64[1]) longer) {
      next = Identity(going)
      there = OptionalHasElement(list)
      present = If (there) <
        then_branch = old () => (seq(int64[1]) given) { given = OptionalGetElement(list) },
        else_branch = new () => (seq(int64[1]) made) {
          start = Constant <value = int64[1] {-1}> ()
          made = SequenceConstruct(start)
        }>
      axis = Constant <value = int64[1] {0}> ()
      number = Unsqueeze(i, axis)
      longer = SequenceInsert(present, number)
    }>
}"""


@pytest.fixture(scope="module", params=[0, 3])
def program(request):
    model = onnx.parser.parse_model(APPENDING)
    return perpend.compile(model, dims={"first:rank": 1}, opt_level=request.param)


@pytest.mark.parametrize("trips", [1, 2, 7])
@pytest.mark.parametrize("first", [None, [], [5], [5, 6, 7]])
def test_list_grows(program, trips, first):
    got = program(np.int64(trips), None if first is None else [np.array([n]) for n in first])
    assert [int(n[0]) for n in got] == ([-1] if first is None else first) + list(range(trips))


def test_no_iteration_keeps_the_list_or_says_that_there_is_none(program):
    assert [int(n[0]) for n in program(np.int64(0), [np.array([5])])] == [5]
    with pytest.raises(ValueError, match="a list of 0 elements"):
        program(np.int64(0), None)
