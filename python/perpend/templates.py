"""Templates: functions that schedule a kernel and declare their alternatives as knobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any, TypeVar

from ._perpend import ScheduleError
from .schedule import Loop, Schedule

T = TypeVar("T")


class Choices:
    """The choices of a template. Its methods are the knobs; each is a decision of the schedule space.

    A tuner chooses factors during its search. Orders, annotations and other knobs change the loop nest: the template
    runs once for each combination of them.
    """

    def __init__(self, schedule: Schedule, path: Sequence[int]) -> None:
        self.schedule = schedule
        self._path = path
        self._taken: list[tuple[int, int]] = []  # the choice, and the number of candidates

    def define_knob(self, candidates: Sequence[T]) -> T:
        """Chooses one of the candidates."""
        if not candidates:
            raise ValueError("define_knob: expected candidates, got none")
        choice = self._path[len(self._taken)] if len(self._taken) < len(self._path) else 0
        self._taken.append((choice, len(candidates)))
        return candidates[choice]

    def define_split(self, loop: Loop, parts: int, largest: int = 64) -> list[Loop]:
        """Splits the loop into this number of loops, whose extents are factors of its own; the last is at most
        `largest`."""
        loops: list[Loop] = self.schedule.split(loop, self.schedule.sample_perfect_tile(loop, parts, largest))
        return loops

    def define_reorder(self, *loops: Loop, candidates: Sequence[Sequence[Loop]] | None = None) -> list[Loop]:
        """Puts the loops into one of these orders; any order if none are given."""
        order = list(self.define_knob(list(candidates or permutations(loops))))
        self.schedule.reorder(*order)
        return order

    def define_annotate(self, loop: Loop, candidates: Sequence[str | None] = ("unroll", "vectorize", None)) -> None:
        """Applies one of these primitives to a loop, or none."""
        primitive = self.define_knob(candidates)
        if primitive is not None:
            getattr(self.schedule, primitive)(loop)

    def _next(self) -> list[int] | None:
        """The next path of choices; None after the last one."""
        taken = list(self._taken)
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        return [choice for choice, _ in taken[:-1]] + [taken[-1][0] + 1] if taken else None


def _runs(template: Callable[[Choices], object], model: Any, kernel: str | None, arguments: Any) -> Iterator[Any]:
    """The trace of each run, or the reason why a primitive refuses."""
    path: list[int] | None = []
    while path is not None:
        choices = Choices(Schedule(model, kernel, **arguments), path)
        try:
            template(choices)
            yield str(choices.schedule)
        except ScheduleError as error:
            yield error
        path = choices._next()


def sketches(
    template: Callable[[Choices], object], model: Any, kernel: str | None = None, *, most: int = 64, **arguments: Any
) -> str:
    """The schedules for `perpend tune --sketches FILE`: one for each combination of the template's knobs.

    template: a function that is called with a `Choices`, whose `schedule` is a `perpend.Schedule` of the kernel.
    model, kernel, arguments: as in `perpend.Schedule`; packed=True opens the kernel as it is tuned without --unpacked.
    most: the maximal number of combinations.
    Errors: ScheduleError if primitives refuse every combination, ValueError if there are more than `most`.
    """
    texts: list[str] = []
    refusal: ScheduleError | None = None
    for number, run in enumerate(_runs(template, model, kernel, arguments)):
        if number == most:
            raise ValueError(f"sketches: the template has more than {most} combinations of knobs\nhint: most=N")
        if isinstance(run, ScheduleError):
            refusal = refusal or run
        else:
            texts.append(run)
    if refusal and not texts:
        raise refusal
    return "\n".join(texts)
