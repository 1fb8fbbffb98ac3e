"""Operators that the user writes as Python functions, for models that are compiled and run in one process."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from itertools import count
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from . import _perpend
from .temporary_folders import TemporaryFolder

_numbers = count()
table: WeakValueDictionary[int, Operator] = WeakValueDictionary()  # those that models may call
Pattern = tuple[str, Sequence[int | str]]


def _plain(value: Any) -> int | float | str | None:
    """The number or text as a plain int, float or str (not numpy's); None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    return str(value) if isinstance(value, str) else None


def _default(label: str, name: str, value: Any) -> Any:
    """The default as the kernel receives it. Errors: TypeError."""
    is_list = isinstance(value, (list, tuple))
    elements = [_plain(element) for element in (value if is_list else [value])]
    if is_list and len({isinstance(element, str) for element in elements}) > 1 and None not in elements:
        raise TypeError(f"{label}: attribute '{name}': expected a list of numbers or of texts, got both: {value!r}")
    if None not in elements:
        return elements if is_list else elements[0]
    wrong = (value if is_list else [value])[elements.index(None)]
    kind = f"a list with an element of type {type(wrong).__name__}" if is_list else type(wrong).__name__
    hints = {"bool": "write 1 for True and 0 for False", "ndarray": "write array.tolist()"}
    raise TypeError(
        f"{label}: attribute '{name}': expected a number, a text or a list of these, got {kind}\n"
        f"hint: {hints.get(type(wrong).__name__, 'let the kernel refer to other values itself')}"
    )


def _kind(value: Any) -> str:
    """The kind of a default, by its name in descriptions."""
    if isinstance(value, list):
        return _kind(value[0]) + "s"
    return "text" if isinstance(value, str) else "number"


def _defaults(label: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Errors: TypeError, ValueError for a reserved name."""
    _expect(label, "attributes", attributes, Mapping, "a dict of defaults")
    for name in attributes:
        if not isinstance(name, str):
            raise TypeError(
                f"{label}: names of attributes: expected texts, got {type(name).__name__}\n"
                "hint: name them as the kernel's parameters"
            )
        if name.startswith("perpend."):
            raise ValueError(
                f"{label}: attribute '{name}': names that begin with 'perpend.' are reserved\n"
                "hint: rename the attribute"
            )
    return {name: _default(label, name, value) for name, value in attributes.items()}


def _expect(label: str, what: str, value: Any, kind: Any, expected: str) -> None:
    """Errors: TypeError."""
    if not isinstance(value, kind):
        raise TypeError(f"{label}: {what}: expected {expected}, got {type(value).__name__}")


def _described(patterns: Sequence[Pattern], name: str) -> list[dict[str, Any]]:
    """Patterns as a JSON description has them. Errors: TypeError unless it is a list of (type, [extent, ...])."""
    described = []
    for pattern in patterns if isinstance(patterns, Sequence) else [patterns]:
        is_pair = isinstance(pattern, Sequence) and not isinstance(pattern, str) and len(pattern) == 2
        if not is_pair or isinstance(pattern[1], str) or not isinstance(pattern[1], Sequence):
            raise TypeError(f'{name}: expected a list of (type, shape) such as [("f32", ["n", 3])], got {pattern!r}')
        shape = [int(extent) if isinstance(extent, Integral) else extent for extent in pattern[1]]
        described.append({"type": pattern[0], "shape": shape})
    return described


def is_required(parameter: Parameter) -> bool:
    """Whether a node must supply this array or attribute. Otherwise nodes may supply it by name only."""
    return parameter.default is Parameter.empty and parameter.kind in (
        Parameter.POSITIONAL_ONLY,
        Parameter.POSITIONAL_OR_KEYWORD,
    )


def _check_kernel(label: str, kernel: Callable[..., Any], inputs: int, attributes: Sequence[str]) -> None:
    """Errors: TypeError if the kernel does not take this number of arrays, or lacks an attribute."""
    try:
        taken = signature(kernel)
    except ValueError:
        return  # the signature of a C function is unknown
    try:
        bound = taken.bind_partial(*range(inputs), **dict.fromkeys(attributes)).arguments
        if missing := [name for name, kind in taken.parameters.items() if is_required(kind) and name not in bound]:
            raise TypeError(f"missing a required argument: '{missing[0]}'")
    except TypeError as error:
        named = f" and the attributes {', '.join(attributes)}" if attributes else ""
        raise TypeError(
            f"{label}: the kernel cannot be called with {inputs} array{'s' * (inputs != 1)}{named}: {error}\n"
            "hint: kernel(*inputs, **attributes), with the attributes by their names"
        ) from None


def _check(label: str, description: Mapping[str, Any]) -> None:
    """Errors: TypeError for what JSON cannot express, ValueError for a description that the compiler refuses."""
    try:
        text = json.dumps(description)
    except TypeError as error:
        raise TypeError(f"{label}: {error}\nhint: types and names are texts, extents numbers or texts") from None
    if wrong := _perpend.error_of_operator(text):
        raise ValueError(wrong)


class Operator:
    """An operator like ONNX's, with a kernel in Python.

    domain, name: of the nodes that call it, from version `since` of the domain's operator set on.
    kernel: `kernel(*inputs, **attributes)` receives numpy arrays and returns one, or a tuple of them, of exactly the
        types in `outputs`. `Module.evaluate` and checks use it as the reference.
    inputs, outputs: the element type and shape of each, such as ("f32", ["n", "2*m"]). A capital letter stands for any
        type. The kernel chooses an extent whose name occurs in outputs but in no input
        (docs/howto/bring-an-operator.md).
    attributes: defaults; each a number, a text or a list of these. An attribute without a default is a keyword-only
        parameter of the kernel; nodes must supply it.
    pure: the outputs depend on the inputs and attributes alone, and a call has no side effects. Calls of an operator
        that is not pure are neither merged nor removed.
    Errors: TypeError, ValueError for an invalid description, or one that does not fit the kernel.
    """

    def __init__(
        self,
        domain: str,
        name: str,
        kernel: Callable[..., Any],
        *,
        inputs: Sequence[Pattern],
        outputs: Sequence[Pattern],
        attributes: Mapping[str, Any] | None = None,
        since: int = 1,
        pure: bool = True,
    ) -> None:
        _expect("Operator", "domain", domain, str, "a text")
        _expect("Operator", "name", name, str, "a text")
        self.label = f"{domain}.{name}"
        if not callable(kernel):
            raise TypeError(f"{self.label}: kernel: expected a function, got {type(kernel).__name__}")
        self._kernel = kernel
        self._defaults = _defaults(self.label, attributes or {})
        number = next(_numbers)
        self.description = {
            "domain": domain,
            "name": name,
            "since": since,
            "function": "host.call",
            "inputs": _described(inputs, "inputs"),
            "outputs": _described(outputs, "outputs"),
            "attributes": _perpend.host_parameters(number),  # JSON would lose the types of defaults
            "kinds": {key: _kind(value) for key, value in self._defaults.items() if value != []},
            "pure": pure,
        }
        _check(self.label, self.description)
        _check_kernel(self.label, kernel, len(inputs), list(self._defaults))
        table[number] = self

    def call(self, arrays: list[Any], parameters: str) -> list[Any]:
        """Runs the kernel on these inputs and attributes (a JSON object). The extension module calls this."""
        given = {key: value for key, value in json.loads(parameters).items() if not key.startswith("perpend.")}
        results = self._kernel(*arrays, **{**copy.deepcopy(self._defaults), **given})
        return list(results) if isinstance(results, tuple) else [results]


Operators = str | PathLike[str] | Operator | Sequence[str | PathLike[str] | Operator]


def _as_list(operators: Operators) -> Sequence[str | PathLike[str] | Operator]:
    single = (str, PathLike, Operator)
    given = operators if isinstance(operators, Sequence) and not isinstance(operators, (str, bytes)) else [operators]
    wrong = [type(operator).__name__ for operator in given if not isinstance(operator, single)]
    if wrong:
        raise TypeError(
            f"operators: expected paths of descriptions, or perpend.Operator, got {wrong[0]}"
            '\nhint: operators=["operators.json"]'
        )
    return given


def _from_source(
    source: str | bytes, dims: Mapping[str, int | str], paths: Sequence[str], cache: tuple[int, str, int]
) -> _perpend.Module:
    if isinstance(source, bytes):
        return _perpend.Module.from_onnx(source, dict(dims), paths)
    return _perpend.Module.from_file(source, dict(dims), paths, *cache)


def import_source(
    source: str | bytes,
    dims: Mapping[str, int | str],
    operators: Operators,
    cache: tuple[int, str, int] = (0, "f32", 1),
) -> _perpend.Module:
    """The module of a model, from the path of a file or folder, or the bytes of an ONNX file; it keeps its Python
    operators alive. cache: tokens, type and texts. Errors: FileNotFoundError, CompileError."""
    if isinstance(source, str) and not Path(source).exists():
        raise FileNotFoundError(f"cannot read the model '{source}': there is no such file\nhint: check the path")
    operators = _as_list(operators)
    own = [operator for operator in operators if isinstance(operator, Operator)]
    paths = [fspath(operator) for operator in operators if not isinstance(operator, Operator)]
    if not own:
        return _from_source(source, dims, paths, cache)
    with TemporaryFolder() as folder:
        path = Path(folder) / "operators in Python.json"
        path.write_text(json.dumps([operator.description for operator in own]))
        module = _from_source(source, dims, [*paths, str(path)], cache)
    module.operators = own
    return module


def in_python(module: _perpend.Module) -> list[Operator]:
    """The operators that the module may call in this process."""
    own: list[Operator] = getattr(module, "operators", [])
    return own if own and '"host.call"' in str(module) else []
