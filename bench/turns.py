"""Compares the speed of programs fairly: one worker process each, timed in turns A B C A B C ….

Machines drift, so a time alone is no result: the result is the ratio of two candidates measured side by side.
In each turn a worker pauses, runs once to warm up, and then runs until the turn is full; its time is the median of its
runs, and a candidate's time is the median over the turns. After each turn the outputs are compared with the reference.

A worker is any program that speaks one JSON object per line:
    it says    {"ready": SECONDS_TO_LOAD}                    once, when it can run
    it hears   {"fill": SECONDS, "outputs": NPZ_FILE}        for each turn, until standard input ends
    it says    {"median": SECONDS, "runs": COUNT}            after each turn
    it says    {"error": TEXT}                               instead of any answer, and exits
`serve` is the worker's side in Python, `measure` the other side.
"""

import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Arrays = list[NDArray[Any]]

PAUSE_S = 0.03
FILL_S = 0.15
TURNS = 9
ANSWER_LIMIT_S = 300.0
CLOCK = "PERPEND_BENCH_CLOCK"  # if 'processor': times of the process, which other programs do not lengthen
ROUNDING = 1e-5  # a difference that is none, in the outputs' own unit


def serve(load: Callable[[], Callable[[], Arrays]]) -> None:
    """The worker's main loop. `load` prepares everything and returns the function to time."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    try:
        start = time.perf_counter()
        run = load()
        _say(answers, ready=time.perf_counter() - start)
        for line in sys.stdin:
            request = json.loads(line)
            run()
            times, outputs = _fill(run, request["fill"])
            np.savez(request["outputs"], *outputs)
            _say(answers, median=statistics.median(times), runs=len(times))
    except Exception as error:
        _say(answers, error=f"{type(error).__name__}: {error}")


def _fill(run: Callable[[], Arrays], seconds: float) -> tuple[list[float], Arrays]:
    clock = time.process_time if os.environ.get(CLOCK) == "processor" else time.perf_counter
    times: list[float] = []
    end = clock() + seconds
    while True:
        start = clock()
        outputs = run()
        now = clock()
        times.append(now - start)
        if now >= end:
            return times, outputs


def _say(answers: IO[str], **message: object) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


@dataclass(frozen=True)
class Candidate:
    name: str
    command: Sequence[str]


class Deviation(NamedTuple):
    """Of outputs from the right ones, relative to the largest magnitude of each output."""

    largest: float = 0.0
    excess: float = 0.0  # beyond ROUNDING


DIFFERENT = Deviation(float("inf"), float("inf"))


@dataclass
class Timing:
    """What one candidate did. After an error, its times stand for nothing."""

    name: str
    load_s: float = 0.0
    turns_s: list[float] = field(default_factory=list)
    runs: int = 0
    deviation: float = 0.0  # the largest over all turns
    excess: float = 0.0  # what of it counts
    error: str | None = None

    @property
    def median_s(self) -> float:
        return statistics.median(self.turns_s)


@dataclass(frozen=True)
class Ratio:
    """How many times as long `slow` takes as `fast`, with the lowest and highest of the single turns."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f}x ({self.low:.2f} to {self.high:.2f})"


def ratio(slow: Timing, fast: Timing) -> Ratio:
    single = [a / b for a, b in zip(slow.turns_s, fast.turns_s, strict=True)]
    return Ratio(slow.median_s / fast.median_s, min(single), max(single))


class WorkerError(Exception):
    """A worker failed, died or did not answer."""


class _Worker:
    def __init__(self, candidate: Candidate, folder: Path) -> None:
        self.timing = Timing(candidate.name)
        self.outputs = folder / "outputs.npz"
        self.log = (folder / f"{candidate.name}.log").open("w+")
        self.process = subprocess.Popen(
            candidate.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True
        )

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], ANSWER_LIMIT_S)[0]:
            raise WorkerError(f"no answer within {ANSWER_LIMIT_S:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            last = self.log.read().strip().splitlines()[-3:]
            raise WorkerError(" / ".join([f"ended with status {self.process.wait()}", *last]))
        message: dict[str, Any] = json.loads(line)
        if "error" in message:
            raise WorkerError(message["error"])
        return message

    def turn(self, fill_s: float, deviation: Callable[[Arrays], Deviation]) -> None:
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        time.sleep(PAUSE_S)
        self.process.stdin.write(json.dumps({"fill": fill_s, "outputs": str(self.outputs)}) + "\n")
        self.process.stdin.flush()
        message = self.hear()
        self.timing.turns_s.append(message["median"])
        self.timing.runs += message["runs"]
        with np.load(self.outputs) as arrays:
            outputs = [arrays[name] for name in arrays.files]
        found = deviation(outputs)
        self.timing.deviation = max(self.timing.deviation, found.largest)
        self.timing.excess = max(self.timing.excess, found.excess)

    def attempt(self, action: Callable[[], None]) -> None:
        """Afterwards the process stands still until its next turn: threads of some engines poll for seconds."""
        if self.timing.error is None:
            try:
                action()
            except (WorkerError, OSError, ValueError) as error:
                self.timing.error = str(error)
            self.process.send_signal(signal.SIGSTOP)

    def load(self) -> None:
        self.timing.load_s = self.hear()["ready"]

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            try:
                stream.close()
            except BrokenPipeError:
                continue


def measure(
    candidates: Sequence[Candidate],
    deviation: Callable[[Arrays], Deviation] = lambda outputs: Deviation(),
    turns: int = TURNS,
    fill_s: float = FILL_S,
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Timing]:
    """Times the candidates in turns. `deviation` says how far a candidate's outputs are from the right ones."""
    with tempfile.TemporaryDirectory() as folder:
        workers = [_Worker(candidate, Path(folder)) for candidate in candidates]
        try:
            for worker in workers:
                progress(f"loading {worker.timing.name}")
                worker.attempt(worker.load)
            for turn in range(turns):
                progress(f"turn {turn + 1}/{turns}")
                for worker in workers:
                    worker.attempt(lambda worker=worker: worker.turn(fill_s, deviation))  # type: ignore[misc]
        finally:
            for worker in workers:
                worker.close()
            progress("")
    return {worker.timing.name: worker.timing for worker in workers}


def largest_deviation(outputs: Arrays, reference: Arrays) -> Deviation:
    """Infinite where shapes, or the places of NaNs and infinities, differ."""
    if len(outputs) != len(reference):
        return DIFFERENT
    found = [_deviation(a, b) for a, b in zip(outputs, reference, strict=True)]
    return Deviation(*map(max, zip(*found, strict=True))) if found else Deviation()


def _deviation(output: NDArray[Any], reference: NDArray[Any]) -> Deviation:
    if output.shape != reference.shape:
        return DIFFERENT
    a, b = output.astype(np.float64), reference.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return DIFFERENT
    scale = float(np.abs(b[finite]).max(initial=0.0)) or 1.0
    difference = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
    return Deviation(difference / scale, max(0.0, difference - ROUNDING) / scale)


def print_progress(text: str) -> None:
    """One line on a terminal's standard error, rewritten in place; nothing in a log."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def command_line() -> str:
    """This program's, without folders that are this machine's own."""
    words = [word if not word.startswith("/") else Path(word).name for word in sys.argv[1:]]
    return " ".join([f"bench/{Path(sys.argv[0]).name}", *words])


def processor() -> str:
    """The machine's processor: a name is often too general, so family, model and vector features are part of it."""
    facts: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    flags = facts.get("flags", facts.get("Features", "")).split()
    wanted = ["avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16", "asimd", "sve"]
    parts = [f"family {facts['cpu family']} model {facts['model']}"] if "cpu family" in facts else []
    return f"{facts.get('model name', os.uname().machine)} ({', '.join(parts + [f for f in wanted if f in flags])})"
