"""Tunes on many machines at once, over Ray: `perpend.fleet.tune` (docs/decisions/0036-fleets.md).

A worker is a machine that announces its kind to Ray: ``ray start --address=HOST:6379 --num-cpus=1
--resources="$(python -m perpend.fleet)"``. A job is a number of trials of one kernel there. Nothing here listens on a
network.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic, sleep
from typing import Any

from . import CompileError, Module, __version__, _perpend, import_model, tuning
from .operators import in_python
from .temporary_folders import TemporaryFolder
from .tuning import Extents, PathText, Tuned, TunedKernel

PREFIX = "perpend:"  # of resources that stand for kinds of machines
TRIES = 3  # of a job; each loses its worker
NO_RECORDS = '{"perpend records": []}'


def _resource(kind_: str) -> str:
    """The Ray resource for a kind: without commas, which Ray forbids."""
    return PREFIX + kind_.replace(",", "/")


def kind() -> str:
    """The kind of this machine, in the form of a target."""
    return _perpend.target_name("host")


@dataclass(frozen=True)
class Workload:
    """A model, and the extents and inputs to measure it with."""

    model: Any
    symbols: Mapping[str, Extents] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)  # for perpend.import_model


@dataclass(frozen=True)
class Progress:
    """A finished job, or a lost worker."""

    kernel: str
    kind: str
    worker: str  # "address, process N"; empty if it was lost
    trials: int  # in this job
    gain: float  # of the kernel so far
    message: str  # why there is no result, otherwise empty


@dataclass(frozen=True)
class Found:
    """The results of a fleet."""

    tuned: dict[str, list[Tuned]]  # by kind: in the order of the models
    database: str
    jobs: int  # finished
    lost: int  # lost with their workers, and repeated


# --------------------------------------------------------------------------------------------------------------------
# The worker
# --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A number of trials of one kernel of a model."""

    kernel: str  # empty: only list the kernels
    kind: str
    trials: int
    seconds: float
    settings: dict[str, bool | int | str]
    options: dict[str, bool | int | str]
    symbols: dict[str, Extents]
    known: str = NO_RECORDS  # records for it so far
    version: str = __version__


@dataclass(frozen=True)
class Done:
    kernels: list[TunedKernel]
    found: str  # records
    warnings: list[str]
    worker: str
    is_over: bool  # nothing is left to try


_modules: dict[str, Module] = {}  # the latest module of this process, by its digest


def _module(digest: str, source: bytes) -> Module:
    if digest not in _modules:
        _modules.clear()
        _modules[digest] = Module.from_bytes(source)
    return _modules[digest]


def work(job: Job, model: tuple[str, bytes, dict[str, Any]]) -> Done:
    """Runs on a worker. Errors: CompileError for what would fail on any other worker, too."""
    if job.version != __version__:
        raise CompileError(
            f"a worker has Perpend {__version__}, expected {job.version}\nhint: install the same version everywhere"
        )
    digest, source, inputs = model
    module = _module(digest, source)
    start = monotonic()
    with TemporaryFolder() as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        database = f"{folder}/found.db"
        _perpend.add_records(database, job.known, NO_RECORDS)
        settings = {**job.settings, "trials": job.trials} if job.trials else job.settings
        chosen = [job.kernel] if job.kernel else []
        result = tuning.run(
            module, database, job.seconds, settings, job.kind, job.options, job.symbols, inputs, chosen, None,
            measured=bool(job.kernel),
        )  # fmt: skip
        found = _perpend.export_records(database)
    kernels = tuning.kernels_of(result)
    is_early = monotonic() - start < job.seconds and sum(kernel.trials for kernel in kernels) < job.trials
    return Done(kernels, found, [str(each.message) for each in caught], _name(), bool(job.kernel) and is_early)


def _name() -> str:
    import ray

    return f"{ray.util.get_node_ip_address()}, process {os.getpid()}"


# --------------------------------------------------------------------------------------------------------------------
# The state of a kernel
# --------------------------------------------------------------------------------------------------------------------


@dataclass
class _Kernel:
    """A kernel on one kind of machine, shared by all models that contain it."""

    name: str
    kind: str
    model: int  # one that contains it
    rows: list[TunedKernel]  # one for each set of extents
    since_gain: int = 0
    jobs: int = 0  # submitted
    running: int = 0
    tries: int = 0  # jobs lost since the last finished one
    is_over: bool = False

    @property
    def is_measured(self) -> bool:
        return any(row.seconds for row in self.rows)

    def worth(self) -> float:
        """The value of further trials: the time above the roof, reduced for trials without a gain (as on one machine)
        and for running jobs. Kernels not yet measured come first, the slowest by the roof before the others."""
        patience, last_patience, least_left, first = 16, 96, 0.05, 1e9
        if not self.is_measured:
            return first + sum(row.weight * row.calls * row.roof_seconds for row in self.rows)
        left = sum(
            row.weight * row.calls * max(row.seconds - row.roof_seconds, least_left * row.seconds) for row in self.rows
        )
        left /= (1 + self.since_gain / patience) * (1 + (self.since_gain / last_patience) ** 2)
        return left / (1 + self.running)

    def take(self, rows: list[TunedKernel]) -> None:
        """Merges rows. Times of two machines are compared relative to the default schedule's."""
        for number, (old, new) in enumerate(zip(self.rows, rows, strict=True)):
            tried = {name: getattr(old, name) + getattr(new, name) for name in COUNTS}
            is_gain = not old.seconds or new.gain > old.gain
            self.since_gain = 0 if is_gain else self.since_gain + new.trials
            self.rows[number] = replace(new if is_gain else old, calls=old.calls, **tried)


COUNTS = ("trials", "refused", "wrong", "crashed", "timed_out")


@dataclass(frozen=True)
class _Model:
    """A workload in the form in which it is sent."""

    name: str
    symbols: dict[str, Extents]
    payload: Any  # a reference to its bytes


@dataclass(frozen=True)
class _Limits:
    kinds: list[str]
    end: float  # time after which no job is submitted
    trials: float  # total of all kernels
    grace: float = 120.0  # seconds that jobs may take after `end`


# --------------------------------------------------------------------------------------------------------------------
# The driver
# --------------------------------------------------------------------------------------------------------------------


class _Run:
    """Submits jobs until the time is over, and collects the results."""

    def __init__(self, database: str, models: list[_Model], template: Job, limits: _Limits) -> None:
        self.database, self.models, self.template, self.limits = database, models, template, limits
        self.kernels: dict[tuple[Any, ...], _Kernel] = {}
        self.of_model: dict[tuple[str, int], list[tuple[tuple[Any, ...], list[int]]]] = {}
        self.again: list[tuple[_Kernel, Job]] = []
        self.flights: dict[Any, tuple[_Kernel | None, int, Job]] = {}
        self.trials = self.jobs = self.lost = self.looks = 0
        self.progress: Callable[[Progress], object] = lambda _: None

    @property
    def seconds_left(self) -> float:
        return self.limits.end - monotonic()

    # Which job is next

    def next(self, kind: str) -> tuple[_Kernel, Job] | None:
        for number, (kernel, _) in enumerate(self.again):
            if kernel.kind == kind:
                return self.again.pop(number)
        if self.trials >= self.limits.trials:
            return None
        able = [kernel for kernel in self.kernels.values() if kernel.kind == kind and not kernel.is_over]
        able = [kernel for kernel in able if kernel.is_measured or not kernel.running]
        if not able:
            return None
        kernel = max(able, key=_Kernel.worth)
        kernel.jobs += 1
        return kernel, self.job_of(kernel)

    def job_of(self, kernel: _Kernel) -> Job:
        """Each job has another seed: with the same seed it would propose the same points."""
        seed = int(self.template.settings["seed"]) + 1000 * (kernel.jobs - 1)
        known = json.loads(_perpend.export_records(self.database, kernel.rows[0].structure, kernel.kind))
        for record in known["perpend records"]:
            record["trials"] = 0  # they are already counted
        return replace(
            self.template,
            kernel=kernel.name,
            kind=kernel.kind,
            trials=int(min(self.template.trials, self.limits.trials - self.trials)),
            settings={**self.template.settings, "seed": seed},
            symbols=self.models[kernel.model].symbols,
            known=json.dumps(known),
        )

    # Ray

    def give(self, kernel: _Kernel | None, model: int, job: Job) -> None:
        import ray

        threads = int(job.settings["threads"])
        remote = ray.remote(max_retries=0, num_cpus=threads, resources={_resource(job.kind): 1})(work)
        job = replace(job, seconds=max(self.seconds_left, 1.0))
        self.flights[remote.remote(job, self.models[model].payload)] = (kernel, model, job)
        if kernel:
            kernel.running += 1
            self.trials += job.trials

    def fill(self) -> None:
        """Gives each idle worker one job; chooses its kernel only now."""
        import ray

        slots = ray.cluster_resources()
        for name in self.limits.kinds:
            busy = sum(job.kind == name for _, _, job in self.flights.values())
            for _ in range(int(slots.get(_resource(name), 0)) - busy):
                if self.seconds_left > 0 and (chosen := self.next(name)):
                    self.give(chosen[0], chosen[0].model, chosen[1])

    def collect(self) -> None:
        """Errors: CompileError that another worker would raise, too."""
        import ray

        for reference in ray.wait(list(self.flights), num_returns=1, timeout=0.5)[0] if self.flights else ():
            kernel, model, job = self.flights.pop(reference)
            if kernel:
                kernel.running -= 1
            try:
                done = ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, CompileError):
                    raise CompileError(str(error.cause)) from None
                self.lose(kernel, model, job, f"{type(error.cause).__name__}: {error.cause}")
            except ray.exceptions.RayError as error:
                self.lose(kernel, model, job, type(error).__name__)
            else:
                self.take(kernel, model, job, done)

    def is_waiting(self) -> bool:
        """Whether jobs wait for workers, of which there may be none for a moment. If so, sleeps briefly."""
        waits = self.seconds_left > 0 and (
            bool(self.again)
            or (self.trials < self.limits.trials and any(not kernel.is_over for kernel in self.kernels.values()))
        )
        if waits:
            sleep(0.2)
        return waits

    def cancel(self) -> None:
        """Does not wait for running jobs."""
        import ray

        for reference in self.flights:
            ray.cancel(reference, force=True)

    # What comes back

    def lose(self, kernel: _Kernel | None, model: int, job: Job, why: str) -> None:
        """Submits the job again, unless it lost its worker too often."""
        self.lost += 1
        self.progress(Progress(job.kernel, job.kind, "", 0, 1.0, why))
        if not kernel:
            self.looks += 1
            if self.looks >= TRIES * len(self.models):
                name = self.models[model].name
                raise CompileError(f"{TRIES} workers were lost that looked at the model '{name}', the last by {why}")
            self.give(None, model, job)
            return
        self.trials -= job.trials
        kernel.tries += 1
        if kernel.tries < TRIES:
            self.again.append((kernel, job))
            return
        kernel.is_over = True
        warnings.warn(
            f"the kernel '{kernel.name}' is left out on {kernel.kind}: {TRIES} workers were lost with it, "
            f"the last by {why}",
            stacklevel=4,
        )

    def take(self, kernel: _Kernel | None, model: int, job: Job, done: Done) -> None:
        if kernel is None:
            self.add_model(model, job.kind, done.kernels)
            return
        self.jobs += 1
        self.trials -= job.trials - sum(row.trials for row in done.kernels)
        _perpend.add_records(self.database, done.found, job.known)
        kernel.take(done.kernels)
        kernel.tries = 0
        kernel.is_over |= done.is_over
        for text in done.warnings:
            if not kernel.is_measured:
                warnings.warn(text, stacklevel=4)
        gain = max(row.gain for row in kernel.rows)
        self.progress(Progress(kernel.name, job.kind, done.worker, sum(r.trials for r in done.kernels), gain, ""))

    def add_model(self, model: int, kind_: str, kernels: list[TunedKernel]) -> None:
        """Merges kernels that compute the same."""
        groups: dict[str, list[TunedKernel]] = {}
        for kernel in kernels:
            groups.setdefault(kernel.name, []).append(kernel)
        for name, rows in groups.items():
            key = (kind_, rows[0].structure, tuple(row.symbols for row in rows))
            if known := self.kernels.get(key):
                both = zip(known.rows, rows, strict=True)
                known.rows = [replace(old, calls=old.calls + new.calls) for old, new in both]
            else:
                self.kernels[key] = _Kernel(name, kind_, model, rows)
            self.of_model.setdefault((kind_, model), []).append((key, [row.calls for row in rows]))

    def tuned(self, kind_: str, model: int) -> Tuned:
        rows = [
            replace(row, calls=calls)
            for key, counts in self.of_model.get((kind_, model), ())
            for row, calls in zip(self.kernels[key].rows, counts, strict=True)
        ]
        default, now = (
            sum(row.weight * row.calls * getattr(row, name) for row in rows) for name in ("default_seconds", "seconds")
        )
        return Tuned(rows, default, now, self.database, kind_)

    # The run

    def run(self) -> Found:
        for kind_ in self.limits.kinds:
            for number, model in enumerate(self.models):
                self.give(None, number, replace(self.template, kernel="", kind=kind_, symbols=model.symbols))
        try:
            while self.seconds_left > -self.limits.grace and (self.flights or self.is_waiting()):
                self.collect()
                self.fill()
        finally:
            self.cancel()
        return Found(
            {kind_: [self.tuned(kind_, number) for number in range(len(self.models))] for kind_ in self.limits.kinds},
            self.database,
            self.jobs,
            self.lost,
        )


def _prepared(model: Any, symbols: Mapping[str, Extents] | None, inputs: Mapping[str, Any] | None) -> _Model:
    import ray

    load = model if isinstance(model, Workload) else Workload(model, symbols or {}, inputs or {})
    module = import_model(load.model, **load.arguments)
    name = str(load.model) if isinstance(load.model, (str, os.PathLike)) else type(load.model).__name__
    if in_python(module):
        raise CompileError(
            f"the model '{name}' calls Python functions of this process, which other machines lack\n"
            "hint: perpend.tune tunes it on this machine"
        )
    source = module.to_bytes()
    return _Model(name, dict(load.symbols), ray.put((hashlib.sha256(source).hexdigest(), source, dict(load.inputs))))


def _connect(address: str | None, threads: int) -> bool:
    """Whether it started a cluster, which consists of this machine alone."""
    if address is None:  # keeps the cluster private to this machine; Ray reads the variable at its first import
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ImportError:
        raise ImportError("a fleet needs Ray\nhint: pip install 'perpend[fleet]'") from None
    if ray.is_initialized():
        return False
    if address is not None:
        ray.init(address=address, log_to_driver=False)
        return False
    ray.init(
        "local",
        num_cpus=threads,
        resources={_resource(kind()): 1},
        include_dashboard=False,
        log_to_driver=False,
    )
    return True


def _kinds(asked: Sequence[str] | None, threads: int) -> list[str]:
    """Errors: CompileError for a kind without a worker, or without one that has this many processors."""
    import ray

    names = [name for name in ray.cluster_resources() if name.startswith(PREFIX)]
    there = sorted(name.removeprefix(PREFIX).replace("/", ",") for name in names)
    kinds = there if asked is None else [_perpend.target_name(name) for name in asked]
    hint = 'on a worker: ray start --address=HOST:6379 --num-cpus=1 --resources="$(python -m perpend.fleet)"'
    if not kinds:
        raise CompileError(f"no worker says its kind to Ray\nhint: {hint}")
    for name in kinds:
        if name not in there:
            raise CompileError(
                f"no worker is of the kind '{name}', there are: {', '.join(there) or 'none'}\nhint: {hint}"
            )
        most = max(node["Resources"].get("CPU", 0) for node in ray.nodes() if _resource(name) in node["Resources"])
        if most < threads:
            raise CompileError(
                f"the workers of the kind '{name}' give Ray {most:g} processors, expected {threads} for the threads\n"
                "hint: ray start --num-cpus=N, or threads=1"
            )
    return kinds


def tune(
    models: Any,
    output: PathText,
    *,
    budget: float | str = 600.0,
    trials: int | None = None,
    trials_per_job: int = 16,
    kinds: Sequence[str] | None = None,
    address: str | None = None,
    symbols: Mapping[str, Extents] | None = None,
    inputs: Mapping[str, Any] | None = None,
    threads: int = 1,
    search: str = "evolutionary",
    space: str = "all",
    cost_model: str = "machine",
    seed: int = 1,
    progress: Callable[[Progress], object] | None = None,
    **options: bool | int | str,
) -> Found:
    """Searches for faster schedules on the workers of a Ray cluster, and keeps them in a database here.

    models: one as in `perpend.compile`, a Workload, or a list of these. output: the database that records are added to.
    kinds: of machines, in the form of targets; None: those of all workers. address: of the cluster, as in ray.init,
        such as "auto"; None: the cluster that this process has joined, otherwise a new one of this machine alone.
    budget, trials, symbols, inputs, threads, search, space, cost_model, seed, options: as in `perpend.tune`.
    trials_per_job: a larger number spends less time on starting jobs; a smaller one loses less with a worker.
    progress: is called for each job.
    Errors: CompileError; ImportError without Ray. A job whose worker is lost is repeated; a kernel that loses three
        workers is skipped, with a warning. After KeyboardInterrupt, the results so far are in the database.
    """
    tuning.check(options)
    start, seconds = monotonic(), _perpend.seconds_of(str(budget))
    database = os.fspath(output)
    _perpend.add_records(database, NO_RECORDS, NO_RECORDS)
    settings: dict[str, bool | int | str] = {
        "threads": threads, "search": search, "space": space, "cost_model": cost_model, "seed": seed,
        "confirms": False,  # a job is a part of the search of one kernel
    }  # fmt: skip
    is_ours = _connect(address, threads)
    import ray

    try:
        chosen = _kinds(kinds, threads)
        given = models if isinstance(models, (list, tuple)) else [models]
        prepared = [_prepared(model, symbols, inputs) for model in given]
        template = Job("", "", trials_per_job, seconds, settings, dict(options), {})
        limits = _Limits(chosen, start + seconds, float("inf") if trials is None else trials)
        run = _Run(database, prepared, template, limits)
        run.progress = progress or run.progress
        found = run.run()
        if not found.jobs and not found.lost:
            raise CompileError("no worker was free in the whole budget\nhint: a larger budget, or other workers")
        return found
    finally:
        if is_ours:
            ray.shutdown()


if __name__ == "__main__":
    print(json.dumps({_resource(kind()): 1}))
