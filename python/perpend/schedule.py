"""The schedule of one kernel of a model: loops, blocks and the primitives that transform them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, Signature, signature
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import Model, _limit, _perpend, check_options, import_model, in_folder
from ._perpend import ScheduleError


class Value:
    """A result of a primitive, such as a loop: valid until a later primitive consumes it."""

    def __init__(self, name: str, schedule: Schedule) -> None:
        self.name = name
        self.schedule = schedule

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def __str__(self) -> str:
        return self.name


class Block(Value):
    """A block of a schedule's kernel."""


class Loop(Value):
    """A loop of a schedule's kernel."""


class Number(Value):
    """A number that a primitive drew."""


CLASSES: dict[str, type[Value]] = {"Block": Block, "Loop": Loop, "Number": Number}


def _attribute(value: Any) -> str:
    """A note, as traces write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_attribute, value)) + "]"
    return _perpend.quoted(value) if isinstance(value, str) else "unit" if value is None else str(value)


def _text(kind: str, value: Any) -> str:
    """An operand, as traces write it. The primitive checks whether it is of the right kind."""
    if kind == "Attribute":
        return _attribute(value)
    if kind == "String" and isinstance(value, str):
        return _perpend.quoted(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join("_" if each is None else _text("", each) for each in value) + "]"
    if isinstance(value, (Value, str)):
        return str(value)
    return str(int(value)) if hasattr(value, "__index__") else repr(value)


class Kernel(Model):
    """A single kernel. Pass an extent that no dimension of its inputs determines by its name, as a number."""

    def _with_extents(self, named: dict[str, Any]) -> dict[str, Any]:
        import numpy as np

        extents = {info.name for info in self.inputs if info.dtype == "i8" and info.shape[1:] == [0]}
        return {
            name: np.empty((value, 0), np.int8) if name in extents and isinstance(value, int) else value
            for name, value in named.items()
        }

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        return super().__call__(*inputs, **self._with_extents(named))

    def profile(self, *inputs: Any, **named: Any) -> list[tuple[str, int, int]]:
        return super().profile(*inputs, **self._with_extents(named))


class Schedule:
    """A kernel of a model as loops around blocks, and its trace. Its methods are the primitives.

    model: as in `perpend.compile`, a Module, or the path of a module in text form (.mlir).
    kernel: its name; may be left out if the model has only one.
    target: the machine to compile for.
    packed: whether products and convolutions have packed operands for micro-kernels, as `perpend.compile` makes them;
        otherwise they are plain blocks.
    intrinsics: a file of tensor intrinsics that `tensorize` may name besides the compiler's
        (docs/howto/add-an-intrinsic.md). Each is compared with its description on random data.
    arguments: those of `perpend.import_model`.
    Errors: ScheduleError if a primitive refuses (the kernel is then unchanged); CompileError if the model or the kernel
        cannot be opened.
    """

    def __init__(
        self,
        model: Any,
        kernel: str | None = None,
        *,
        target: str = "host",
        packed: bool = False,
        intrinsics: str | PathLike[str] | None = None,
        **arguments: Any,
    ) -> None:
        _check_names(arguments)
        module, path = _module(model, arguments), fspath(intrinsics or "")
        self._scheduler = _perpend.Scheduler.open(module, kernel or "", target, packed, path)

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        return self._scheduler.kernel

    @property
    def mod(self) -> str:
        """The text of the kernel in its present state."""
        return self._scheduler.mod

    @property
    def trace(self) -> str:
        """The primitives applied so far, one per line, as `replay` reads them."""
        return self._scheduler.trace

    def __str__(self) -> str:
        """The trace with the kernel's name, as `perpend compile --schedules FILE` reads it."""
        return self._scheduler.schedule

    def __repr__(self) -> str:
        return f"<perpend.Schedule of '{self.kernel}' with {self.trace.count(chr(10))} instructions>"

    def show(self) -> None:
        """Prints the kernel and the trace."""
        print(f"{self.mod}\n{self.trace}", end="")

    def replay(self, trace: str) -> None:
        """Applies all primitives of a trace, or none."""
        if not isinstance(trace, str):
            raise TypeError(
                f"replay: expected the text of a trace, got {type(trace).__name__}\n"
                "hint: schedule.trace is the text of what was done"
            )
        if trace.lstrip().startswith("schedule @"):
            raise ScheduleError(
                "replay: expected a trace, got a section of a file of schedules\n"
                "hint: str(schedule) is what --schedules reads; schedule.trace is what replay reads"
            )
        self._scheduler.replay(trace)

    def build(self, threads: int | None = None, **options: bool | int | str) -> Kernel:
        """Compiles this kernel alone into a model: call it with arrays.

        threads, options: as in `perpend.compile`. Constants of the model are not inputs. An extent that no dimension
        of an input determines, such as t if one is floordiv(t + 1, 2), is an input: `run(x, t=33)`.
        """
        check_options(options, ("threads",))
        limit = _limit(threads)
        return in_folder(lambda path: self._scheduler.compile(path, options), lambda path: Kernel(path, limit))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...


def _check_names(arguments: Iterable[str]) -> None:
    both = [*signature(Schedule).parameters.values(), *signature(import_model).parameters.values()]
    known = [each.name for each in both if each.kind is Parameter.KEYWORD_ONLY]
    for name in arguments:
        if name not in known:
            guess = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{guess[0]}'? " if guess else ""
            raise TypeError(f"Schedule: there is no argument '{name}'\nhint: {hint}the arguments are {' '.join(known)}")


def _module(model: Any, arguments: dict[str, Any]) -> _perpend.Module:
    if isinstance(model, (str, PathLike)) and fspath(model).endswith(".mlir"):
        return _perpend.Module.from_text(Path(model).read_text())
    return import_model(model, **arguments)


def _signature(primitive: _perpend.PrimitiveDescription) -> Signature:
    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
    for operand in primitive.operands:
        kind = Parameter.VAR_POSITIONAL if operand.is_list else Parameter.POSITIONAL_OR_KEYWORD
        default = None if operand.is_optional else Parameter.empty
        parameters.append(Parameter(operand.name, kind, default=default))
    return Signature(parameters)


def _operands(primitive: _perpend.PrimitiveDescription, values: dict[str, Any]) -> list[str]:
    texts = []
    for operand in primitive.operands:
        value = values.get(operand.name)
        if operand.is_list:
            several = list(value or ())
            if len(several) == 1 and isinstance(several[0], (list, tuple)):
                several = list(several[0])
            texts += [_text("", each) for each in several]
        elif not operand.is_optional:
            texts.append(_text(operand.kind, value))
        elif value is not None:
            texts.append(f"{operand.name} = {_text(operand.kind, value)}")
    return texts


def _check_owner(schedule: Schedule, primitive: str, value: Any) -> None:
    """Names are local to a schedule: in another they mean something else, or nothing."""
    if isinstance(value, (list, tuple)):
        for each in value:
            _check_owner(schedule, primitive, each)
    elif isinstance(value, Value) and value.schedule is not schedule:
        kind = type(value).__name__.lower()
        raise ScheduleError(
            f"{primitive}: {value} is a {kind} of another Schedule, of the kernel '{value.schedule.kernel}'\n"
            f"hint: get the {kind}s of '{schedule.kernel}' from its own Schedule"
        )


def _results(schedule: Schedule, kind: str, names: Sequence[str]) -> Any:
    if kind == "None":
        return None
    values = [CLASSES[kind.removesuffix("s")](name, schedule) for name in names]
    return values if kind.endswith("s") else values[0]


def _method(primitive: _perpend.PrimitiveDescription) -> Callable[..., Any]:
    own = _signature(primitive)

    def method(self: Schedule, *positional: Any, **named: Any) -> Any:
        try:
            bound = own.bind(self, *positional, **named)
        except TypeError as error:
            raise ScheduleError(f"{primitive.name}: {error}\nhint: {primitive.name}{own}") from None
        for value in list(bound.arguments.values())[1:]:
            _check_owner(self, primitive.name, value)
        texts = _operands(primitive, bound.arguments)
        return _results(self, primitive.results, self._scheduler.apply(primitive.name, texts))

    method.__name__ = primitive.name
    method.__qualname__ = f"Schedule.{primitive.name}"
    method.__doc__ = primitive.sentence
    method.__signature__ = own  # type: ignore[attr-defined]
    return method


for _primitive in _perpend.primitives():
    setattr(Schedule, _primitive.name, _method(_primitive))
