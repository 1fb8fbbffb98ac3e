"""Runs calls of operators at the edges of their types and judges the results, whatever the front end.

A group is the calls of one operator with one choice of types. Groups run in a process of their own, and where that ends
or hangs, the calls of the group one by one. Calls are compiled several at a time, of small groups of one operator too,
since one compilation costs more than a call; those that are refused or fail together are tried alone.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from typing import Any, Protocol

import numpy as np
import perpend
from edge_judge import Witness, judge
from onnx_runner import INTERNAL, one_line

RIGHT, DISPUTED, DIFFERENT, REFUSED, FAILED = "right", "disputed", "different", "refused", "failed"
STATUSES = (RIGHT, DISPUTED, DIFFERENT, REFUSED, FAILED)
BATCH, GROUPS_OF_A_PROCESS = 16, 40
LIMIT_S, WAITING = 120, 15
MEMORY_LIMIT_BYTES = 8 << 30


@dataclass(frozen=True)
class Trial:
    """Inputs, and what witnesses make of them. is_strict: see edge_judge.py."""

    fill: str
    inputs: list[Any]
    witnesses: list[Witness]
    is_strict: bool


@dataclass(frozen=True)
class Call:
    """An operator with options and shapes. payload: what the front end needs to compile it."""

    form: str
    trials: list[Trial]
    payload: Any = field(repr=False)


Make = Callable[[], "Call | None"]


@dataclass(frozen=True)
class Group:
    """calls: what makes them, each with its form; one that no witness accepts is None."""

    operator: str
    types: str
    calls: Callable[[], dict[str, Make]] = field(repr=False)

    @property
    def name(self) -> str:
        return f"{self.operator} {self.types}"


@dataclass(frozen=True)
class Record:
    """The outcome of one trial."""

    operator: str
    types: str
    form: str
    fill: str
    status: str
    reason: str = ""
    kinds: str = ""


Execute = Callable[[list[list[Any]]], list[list[Any]]]


class FrontEnd(Protocol):
    name: str

    def groups(self) -> list[Group]: ...

    def compile(self, calls: Sequence[Call]) -> Execute:
        """What runs all the calls, given the inputs of each. Errors: CompileError."""


@dataclass(frozen=True)
class Outcome:
    """kinds: those of edge_judge.py where results differ."""

    status: str
    reason: str = ""
    kinds: str = ""


def judged(call: Call, trial: Trial, got: list[Any]) -> Outcome:
    verdict = judge(got, trial.witnesses, trial.inputs, trial.is_strict)
    if verdict.wrong:
        return Outcome(DIFFERENT, one_line(verdict.wrong.text), " ".join(sorted(verdict.wrong.kinds)))
    return Outcome(DISPUTED, one_line(verdict.disputed)) if verdict.disputed else Outcome(RIGHT)


def refusal(error: Exception) -> Outcome:
    """Of what was not compiled."""
    if isinstance(error, perpend.CompileError) and not INTERNAL.search(str(error)):
        return Outcome(REFUSED, one_line(str(error)))
    return Outcome(FAILED, one_line(f"compilation raised {type(error).__name__}: {error}"))


Placed = tuple[int, Trial, Outcome]
"""The position of a call, its trial and the outcome."""


def run_together(front: FrontEnd, calls: Sequence[Call]) -> Iterator[Placed]:
    try:
        execute = front.compile(calls)
    except Exception as error:
        if len(calls) > 1:
            yield from run_halves(front, calls)
        else:
            yield from ((0, trial, refusal(error)) for trial in calls[0].trials)
        return
    for number in range(max(len(call.trials) for call in calls)):
        trials = [call.trials[min(number, len(call.trials) - 1)] for call in calls]
        try:
            results = execute([trial.inputs for trial in trials])
        except Exception as error:
            if len(calls) > 1:
                yield from run_halves(front, calls)
                return
            yield 0, trials[0], Outcome(FAILED, one_line(f"the run raised {type(error).__name__}: {error}"))
            continue
        for position, (call, trial, got) in enumerate(zip(calls, trials, results, strict=True)):
            if number < len(call.trials):
                yield position, trial, judged(call, trial, got)


def run_halves(front: FrontEnd, calls: Sequence[Call]) -> Iterator[Placed]:
    middle = len(calls) // 2
    for start, part in ((0, calls[:middle]), (middle, calls[middle:])):
        for position, *rest in run_together(front, part):
            yield start + position, *rest


def run_calls(front: FrontEnd, calls: Sequence[tuple[Group, Call]]) -> list[Record]:
    records: dict[tuple[int, str], Record] = {}
    for start in range(0, len(calls), BATCH):
        batch = calls[start : start + BATCH]
        for position, trial, outcome in run_together(front, [call for _, call in batch]):
            group, call = batch[position]
            place = (group.operator, group.types, call.form, trial.fill)
            records[start + position, trial.fill] = Record(*place, **vars(outcome))
    return list(records.values())


def made(makers: Iterable[Make]) -> list[Call]:
    return [call for make in makers if (call := make())]


# ----------------------------------------------------------------------------------------------------------------------
# Processes
# ----------------------------------------------------------------------------------------------------------------------


def limit_time(limit_s: int) -> None:
    """Ends the process then. Of a machine that others share, the time of the process counts; it may wait for more."""
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    signal.alarm(limit_s * WAITING)


def answers(work: Iterator[Any], limit_s: int) -> Iterator[Any]:
    """What `work` yields in a process of its own, as far as that comes; `limit_s` is for each."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        with os.fdopen(writer, "wb") as pipe:
            limit_time(limit_s)
            for answer in work:
                pickle.dump(answer, pipe)
                pipe.flush()
                limit_time(limit_s)
        os._exit(0)
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as pipe:
            while True:
                yield pickle.load(pipe)
    except EOFError:
        _, status = os.waitpid(process, 0)
    number = os.WTERMSIG(status)
    if status:
        yield (
            f"not done after {limit_s} s"
            if number == signal.SIGALRM
            else f"ended by {signal.Signals(number or 1).name}"
        )


def quiet(function: Callable[[], Any]) -> Iterator[Any]:
    """The result, or the error as text."""
    try:
        yield function()
    except Exception as error:
        yield f"{type(error).__name__}: {error}"


def run_whole(front: FrontEnd, groups: Sequence[Group]) -> list[list[Record]]:
    """The records of each group."""
    records = run_calls(front, [(group, call) for group in groups for call in made(group.calls().values())])
    return [[each for each in records if each.types == group.types] for group in groups]


def run_alone(front: FrontEnd, group: Group, limit_s: int) -> list[Record]:
    """Each call in a process of its own. What ends the process of a witness is no case."""
    records: list[Record] = []
    for form, make in group.calls().items():
        if next(answers(quiet(lambda make=make: bool(make())), limit_s)) is not True:
            continue
        mine = next(
            answers(quiet(lambda make=make: run_calls(front, [(group, call) for call in made([make])])), limit_s)
        )
        records += [Record(group.operator, group.types, form, "", FAILED, mine)] if isinstance(mine, str) else mine
    return records


def together(groups: Sequence[Group], count: int) -> Iterator[Sequence[Group]]:
    """Groups of one operator, so many at a time."""
    for _, alike in groupby(groups, lambda group: group.operator):
        while part := list(islice(alike, count)):
            yield part


def run_groups(
    front: FrontEnd, groups: Sequence[Group], limit_s: int = LIMIT_S, count: int = 1
) -> Iterator[tuple[Group, list[Record]]]:
    """The records of each group, as they come. count: how many groups are compiled together."""
    position, parts = 0, list(together(groups, count))
    while position < len(parts):
        works = (
            answer
            for part in parts[position:][:GROUPS_OF_A_PROCESS]
            for answer in quiet(partial(run_whole, front, part))
        )
        for records in answers(works, limit_s):
            part = parts[position]
            if isinstance(records, list):
                yield from zip(part, records, strict=True)
            elif len(part) > 1:
                yield from run_groups(front, part, limit_s)
            else:
                yield part[0], run_alone(front, part[0], limit_s // 4)
            position += 1
