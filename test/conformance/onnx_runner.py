"""Runs cases in worker processes, each case isolated: a crash, a hang or a flood of memory costs that case alone."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import re
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

import onnx_columns
import perpend
from onnx_cases import Case
from onnx_columns import DEFAULTS, Settings
from onnx_compare import explain_all
from onnx_random import EXPLAIN, explain_random

PASS, UNSUPPORTED, WRONG = "pass", "unsupported", "wrong"
CASE_LIMIT_S = 60.0
MEMORY_LIMIT_BYTES = 8 << 30
REASON_LENGTH = 160
# What a compiler error says that is no refusal of a model, but a failure of the compiler.
INTERNAL = re.compile(r"perpend bug|cannot link|undefined symbol|LLVM|failed to legalize|'[a-z]+\.[a-z_]+' op ")
SCRATCH = re.compile(r"\S*/\.?perpend-\w+")


@dataclass(frozen=True)
class Outcome:
    """unsupported: a clear refusal before anything runs, or values of another random generator than the expected ones.
    wrong: everything else that is no pass."""

    status: str
    reason: str = ""
    seconds: float = field(default=0.0, compare=False)


def one_line(text: str) -> str:
    """Without line breaks, and without the names of temporary folders, which differ from run to run."""
    line = SCRATCH.sub("…", " ".join(text.split()))
    return line if len(line) <= REASON_LENGTH else line[: REASON_LENGTH - 1] + "…"


def run_case(case: Case, column: str, settings: Settings = DEFAULTS) -> Outcome:
    """Runs one case in this process."""
    try:
        prepare = {**onnx_columns.PREPARE, **onnx_columns.EMULATED}[column]
        execute = prepare(case.model, case.data_sets[0][0], settings)
    except (perpend.CompileError, onnx_columns.Unsupported) as refusal:
        is_internal = INTERNAL.search(str(refusal))
        return Outcome(WRONG if is_internal else UNSUPPORTED, one_line(str(refusal)))
    except Exception as error:
        return Outcome(WRONG, one_line(f"compilation raised {type(error).__name__}: {error}"))
    for inputs, outputs in case.data_sets:
        try:
            results = execute(inputs)
        except Exception as error:
            return Outcome(WRONG, one_line(f"the run raised {type(error).__name__}: {error}"))
        if not (reason := explain_all(results, outputs, case.rtol, case.atol)):
            continue
        if case.operator not in EXPLAIN:
            return Outcome(WRONG, one_line(reason))
        if reason := explain_random(case.operator, inputs, results, outputs):
            return Outcome(WRONG, one_line(reason))
        return Outcome(UNSUPPORTED, "random values cannot be compared: the expected ones come from numpy's generator")
    return Outcome(PASS)


Execute = Callable[[Case], Outcome]


def serve(cases: Sequence[Case], execute: Execute, pipe: Connection, errors: Any) -> None:
    """A worker: receives the indices of cases, sends outcomes."""
    faulthandler.disable()
    os.dup2(errors.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, most))
    while (index := pipe.recv()) is not None:
        start = time.monotonic()
        outcome = execute(cases[index])
        pipe.send(Outcome(outcome.status, outcome.reason, time.monotonic() - start))


class Worker:
    """A process that does one case after the other, and is replaced when it dies."""

    def __init__(self, cases: Sequence[Case], execute: Execute, limit_s: float) -> None:
        self.cases, self.execute, self.limit_s = cases, execute, limit_s
        self.current = -1
        self.deadline = 0.0
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("fork")
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(self.cases, self.execute, theirs, self.errors), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, index: int) -> None:
        self.current = index
        self.deadline = time.monotonic() + self.limit_s
        self.pipe.send(index)

    def last_words(self) -> str:
        self.errors.seek(0)
        lines = [line for line in self.errors.read().decode(errors="replace").splitlines() if line.strip()]
        telling = [line for line in lines if "Assertion" in line or "LLVM ERROR" in line or "error:" in line]
        return (telling or lines or [""])[-1]

    def describe_death(self) -> str:
        self.process.join()
        code = self.process.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        words = self.last_words()
        return one_line(f"crash: {how}" + (f": {words}" if words else ""))

    def restart(self) -> None:
        self.stop()
        self.start()

    def collect(self) -> Outcome:
        """The outcome of the current case; a dead or late worker is replaced."""
        try:
            if self.pipe.poll():
                outcome: Outcome = self.pipe.recv()
                return outcome
            self.process.kill()
            self.process.join()
            outcome = Outcome(WRONG, f"hang: not done after {self.limit_s:g} s", self.limit_s)
        except EOFError:
            outcome = Outcome(WRONG, self.describe_death())
        self.restart()
        return outcome

    def stop(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.pipe.close()
        self.errors.close()


def ready(workers: Sequence[Worker]) -> list[Worker]:
    """The busy workers that have something to say, or are late."""
    busy = {worker.pipe: worker for worker in workers if worker.current >= 0}
    remaining = min(worker.deadline for worker in busy.values()) - time.monotonic()
    heard = wait(list(busy), timeout=max(0.0, remaining))
    now = time.monotonic()
    return [worker for pipe, worker in busy.items() if pipe in heard or worker.deadline <= now]


def run_cases(
    cases: Sequence[Case],
    execute: Execute,
    jobs: int = 2,
    limit_s: float = CASE_LIMIT_S,
    progress: Callable[[int, Outcome], None] | None = None,
) -> list[Outcome]:
    """The outcome of each case, in the order of the cases. `execute` runs in the workers."""
    outcomes: list[Outcome] = [Outcome(WRONG, "not run")] * len(cases)
    waiting = list(range(len(cases)))
    workers = [Worker(cases, execute, limit_s) for _ in range(min(jobs, len(cases)))]
    try:
        for worker in workers:
            worker.give(waiting.pop())
        while any(worker.current >= 0 for worker in workers):
            for worker in ready(workers):
                index, worker.current = worker.current, -1
                outcomes[index] = worker.collect()
                if progress:
                    progress(index, outcomes[index])
                if waiting:
                    worker.give(waiting.pop())
    finally:
        for worker in workers:
            worker.stop()
    return outcomes
