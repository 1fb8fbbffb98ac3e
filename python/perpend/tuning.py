"""Faster schedules for the kernels of a model, found on this machine: `perpend.tune`."""

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
    """What is tried next for one kernel. A point has of each decision the number of its choice."""

    def propose(self) -> Sequence[int] | None:
        """A point; None: it knows no more. What was tried already is not tried again, and it is asked for another."""
        ...

    def tell(self, point: list[int], time: float) -> None:
        """How long it takes, as a part of the compiler's own schedule's time; inf: it was refused, or is wrong."""
        ...


class CostModel(Protocol):
    """Ranks candidates before they are measured. A trace is a text, a line for each primitive."""

    def predict(self, kernel: str, trace: str) -> float:
        """Less is faster, and only the order counts."""
        ...

    def learn(self, kernel: str, trace: str, time: float) -> object:
        """As Search.tell has it. True: predictions are others now."""
        ...


@dataclass(frozen=True)
class Progress:
    """A candidate has been tried."""

    kernel: str
    outcome: str  # "measured", "refused", "wrong", "crashed", "timed out" or "not tried"
    trials: int  # of this kernel
    default_seconds: float  # of all calls of kernels that have been measured, by the compiler's own schedules
    seconds: float  # and by the best so far


@dataclass(frozen=True)
class TunedKernel:
    """A kernel, with the best schedule that was found. Times are those of a call; 0: it was not measured."""

    name: str
    structure: str  # what it computes, as records of a database have it
    symbols: str  # "n=128,t=4", what it was measured with
    calls: int  # in a run of the model
    weight: float  # of a call's time, among several extents
    default_seconds: float  # by the compiler's own schedule
    seconds: float
    roof_seconds: float  # what the machine takes at least
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
    """The times of a run of the whole model, without and with what was found, which is kept only where it is a gain."""

    symbols: str  # "n=128", one of several sets of extents; empty: the only one
    default_seconds: float
    seconds: float
    refusal: str  # why the model was not measured; empty: it was


@dataclass(frozen=True)
class Tuned:
    """What `perpend.tune` found. Times are the sums of all calls of kernels in a run of the model."""

    kernels: list[TunedKernel]
    default_seconds: float
    seconds: float
    database: str | None
    target: str  # the machine, as records of the database have it
    model: list[ModelGain] = field(default_factory=list)  # empty: nothing was found, or there was no time

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

    model, dims, operators, example_inputs, dynamic_shapes: as in `perpend.compile`.
    output: the database; what is in it stays, unless measuring refutes it. None: the kernels are only measured.
    budget: seconds, or a time such as "90s", "10m" or "1h". trials: how many candidates to try at most.
    symbols: extents to measure with, such as {"n": 128}; several as {"n": [1, 128]}, with parts of the time as
        {"n": {1: 10, 128: 1}}. Else those of `inputs`, arrays by the names of inputs, whose values go to kernels that
        read them; else 2, with a warning.
    threads: to measure with. kernels: only these. progress: is called for each candidate.
    search, space, cost_model, scheduler, seed, sketches (a file): as in `perpend tune` (docs/howto/tune-a-model.md); or
        a function that makes a Search for a kernel, of its choices and what its own trace has, and a CostModel.
    options: opt_level, precision, intrinsics and unpacked, as in `perpend.compile`.
    Errors: CompileError. An exception that `progress` raises, or KeyboardInterrupt, ends the search and is raised once
        what was found is in the database.
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
            "no kernel of the model could be measured\nhint: the warnings say why; a larger budget if there are none"
        )
    model = [ModelGain(each.symbols, each.default_seconds, each.seconds, each.refusal) for each in result.model]
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
    """`tune` of a module. Not measured: its kernels are only named."""
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
    """As `--symbol` has them: n=128, n=1,128 or n=1:10,128:1. What is wrong with a value is for the compiler to say."""
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
