"""Finds faster schedules for the kernels of a model on this machine: `perpend.tune`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike, fspath
from typing import Any, Protocol

from . import ARGUMENTS, CompileError, Module, _perpend, check_options, import_model, target_text

OPTIONS = ("opt_level", "precision", "intrinsics", "unpacked")  # those of the compiler that change kernels
PathText = str | PathLike[str]
Extents = int | Sequence[int] | Mapping[int, float]


class Search(Protocol):
    """Proposes candidates for one kernel. A point holds the number of the choice of each decision."""

    def propose(self) -> Sequence[int] | None:
        """A point; None: the search has no more. Points that were tried are skipped, and it is asked again."""
        ...

    def tell(self, point: list[int], time: float) -> None:
        """The point's time as a fraction of the default schedule's; inf: refused, or wrong."""
        ...


class CostModel(Protocol):
    """Ranks candidates before they are measured. A trace is text, one line per primitive."""

    def predict(self, kernel: str, trace: str) -> float:
        """A score: less is faster; only the order matters."""
        ...

    def learn(self, kernel: str, trace: str, time: float) -> object:
        """The measured time, as in Search.tell. Returns True if predictions have changed."""
        ...


@dataclass(frozen=True)
class Progress:
    """A candidate has been tried."""

    kernel: str
    outcome: str  # "measured", "refused", "wrong", "crashed", "timed out" or "not tried"
    trials: int  # of this kernel
    default_seconds: float  # all calls of the measured kernels, with default schedules
    seconds: float  # with the best schedules so far


@dataclass(frozen=True)
class TunedKernel:
    """A kernel, with the best schedule found. Times are those of a call; 0: not measured."""

    name: str
    structure: str  # what it computes, as in records of a database
    symbols: str  # "n=128,t=4", extents of the measurement
    calls: int  # in a run of the model
    weight: float  # of these extents, if there are several
    default_seconds: float  # with the default schedule
    seconds: float
    roof_seconds: float  # lower bound of the machine
    trials: int
    refused: int
    wrong: int
    crashed: int
    timed_out: int
    trace: str  # the best schedule

    @property
    def gain(self) -> float:
        return self.default_seconds / self.seconds if self.seconds else 1.0


@dataclass(frozen=True)
class ModelGain:
    """The time of a run of the whole model, before and after; schedules are kept only if they are a gain."""

    symbols: str  # "n=128", one of several sets of extents; empty if there is one
    default_seconds: float
    seconds: float
    refusal: str  # why the model was not measured, otherwise empty
    entry: str = ""  # one of several entries; empty if there is one


@dataclass(frozen=True)
class Tuned:
    """The results of `perpend.tune`. Times are sums over all calls of kernels in a run of the model."""

    kernels: list[TunedKernel]
    default_seconds: float
    seconds: float
    database: str | None
    target: str  # as in records of the database
    model: list[ModelGain] = field(default_factory=list)  # empty if nothing was found, or time ran out

    @property
    def gain(self) -> float:
        return self.default_seconds / self.seconds if self.seconds else 1.0


def tune(
    model: Any,
    output: PathText | None,
    *,
    target: str | Sequence[str] = "host",
    budget: float | str = 600.0,
    trials: int | None = None,
    symbols: Mapping[str, Extents] | None = None,
    inputs: Mapping[str, Any] | None = None,
    threads: int = 1,
    search: str | Callable[[str, list[list[str]], list[int]], Search] = "evolutionary",
    space: str = "all",
    cost_model: str | CostModel = "machine",
    scheduler: str = "gradient",
    seed: int = 1,
    sketches: PathText | None = None,
    kernels: Sequence[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
    dims: Mapping[str, int | str] | None = None,
    operators: Any = (),
    example_inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    **options: bool | int | str,
) -> Tuned:
    """Searches for faster schedules of the model's kernels, and keeps them in a database that `compile` reads.

    model, dims, operators, example_inputs, dynamic_shapes: as in `perpend.compile`. All entries are tuned.
    output: the database; its records stay unless a measurement refutes them. None: only measures the kernels.
    budget: seconds, or a time such as "90s", "10m" or "1h". trials: the maximal number of candidates.
    symbols: extents to measure with, such as {"n": 128}; several as {"n": [1, 128]}, with shares of the time as
        {"n": {1: 10, 128: 1}}. Default: those of `inputs`, arrays by the names of inputs, whose values go to kernels
        that read them; otherwise 2, with a warning.
    threads: to measure with. kernels: only these. progress: is called for each candidate.
    search, space, cost_model, scheduler, seed, sketches (a file): as in `perpend tune` (docs/howto/tune-a-model.md).
        search and cost_model may be functions instead. The former makes a Search for a kernel from its choices and the
        point of its own trace, the latter a CostModel.
    options: opt_level, precision, intrinsics and unpacked, as in `perpend.compile`.
    Errors: CompileError. An exception that `progress` raises, or KeyboardInterrupt, ends the search and is raised again
        once the results are in the database.
    Threads: no other thread may compile meanwhile, as candidates are compiled in copies of this process.
    """
    module = import_model(
        model, dims=dims, operators=operators, example_inputs=example_inputs, dynamic_shapes=dynamic_shapes
    )
    settings: dict[str, bool | int | str] = {
        "threads": threads,
        "space": space,
        **({} if callable(search) else {"search": search}),
        "cost_model": "none" if hasattr(cost_model, "predict") else cost_model,
        "scheduler": scheduler,
        "seed": seed,
        **({} if trials is None else {"trials": trials}),
        **({} if sketches is None else {"sketches": fspath(sketches)}),
    }
    tell = progress and (lambda *values: progress(Progress(*values)))
    database = None if output is None else fspath(output)
    result = run(
        module, database, budget, settings, target, options, symbols, inputs, kernels, tell,
        search=search if callable(search) else None,
        cost_model=None if isinstance(cost_model, str) else cost_model,
    )  # fmt: skip
    if result.kernels and not any(kernel.seconds for kernel in result.kernels):
        raise CompileError(
            "no kernel of the model could be measured\nhint: see the warnings; if there are none, use a larger budget"
        )
    model = [
        ModelGain(each.symbols, each.default_seconds, each.seconds, each.refusal, each.entry) for each in result.model
    ]
    return Tuned(kernels_of(result), result.default_seconds, result.seconds, database, result.target, model)


def run(
    module: Module,
    database: str | None,
    budget: float | str,
    settings: dict[str, bool | int | str],
    target: str | Sequence[str],
    options: Mapping[str, bool | int | str],
    symbols: Mapping[str, Extents] | None,
    inputs: Mapping[str, Any] | None,
    kernels: Sequence[str] | None,
    progress: Callable[..., object] | None,
    measured: bool = True,
    search: Callable[[str, list[list[str]], list[int]], Search] | None = None,
    cost_model: CostModel | None = None,
) -> _perpend.TuningResult:
    """`tune` of a module. Kernels that are not to be measured are only named."""
    check(options)
    return _perpend.tune(
        module,
        database or "",
        str(budget),
        settings,
        {"target": target_text(target), **options},
        extents(symbols or {}),
        dict(inputs or {}),
        [kernels] if isinstance(kernels, str) else list(kernels or ()),
        progress,
        measured,
        search,
        cost_model,
    )


def check(options: Mapping[str, bool | int | str]) -> None:
    check_options(options, (*ARGUMENTS, *(tune.__kwdefaults__ or ())))
    for name in options:
        if name not in OPTIONS:
            raise CompileError(
                f"option '{name}': it is for compile, and changes no kernel\n"
                f"hint: a tuner takes {', '.join(OPTIONS[:-1])} and {OPTIONS[-1]}"
            )


def extents(symbols: Mapping[str, Extents]) -> list[str]:
    """As `--symbol` takes them: n=128, n=1,128 or n=1:10,128:1. The compiler reports wrong values."""
    texts = []
    for name, value in symbols.items():
        if isinstance(value, Mapping):
            values = [f"{extent}:{float(weight)!r}" for extent, weight in value.items()]
        else:
            values = [
                str(each) for each in (value if isinstance(value, Sequence) and not isinstance(value, str) else [value])
            ]
        texts.append(f"{name}={','.join(values)}")
    return texts


def kernels_of(result: _perpend.TuningResult) -> list[TunedKernel]:
    names = [each.name for each in fields(TunedKernel)]
    return [TunedKernel(**{name: getattr(kernel, name) for name in names}) for kernel in result.kernels]
