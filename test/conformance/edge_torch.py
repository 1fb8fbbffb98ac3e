"""Calls of PyTorch operators at the edges: the entries of PyTorch's own table of tests, in every type that it names.

Its samples say which arguments fit together; then values, shapes and the options that the schemas of ATen name are
changed, and whatever eager PyTorch accepts counts. It is the judge, too; the same call in double precision says how far
rounding may go.
"""

from __future__ import annotations

import logging
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import ml_dtypes
import numpy as np
import perpend
import torch
from edge_cases import Call, Group, Trial
from edge_judge import Witness, is_elementwise
from edge_values import filled, fills, table
from torch.utils import _pytree as pytree
from torch_operators import Called, comparable, differ, is_tensor, processed
from torch_samples import Sample, full_name, op_db

DRAWN = 100
# Complex numbers are pairs of real ones here, which the types below cover.
NUMPY_TYPES: dict[torch.dtype, np.dtype] = {
    torch.bool: np.dtype(np.bool_),
    **{
        getattr(torch, name): np.dtype(name)
        for name in ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
    },
    torch.float16: np.dtype(np.float16),
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
    torch.bfloat16: np.dtype(ml_dtypes.bfloat16),
    torch.float8_e4m3fn: np.dtype(ml_dtypes.float8_e4m3fn),
    torch.float8_e5m2: np.dtype(ml_dtypes.float8_e5m2),
    torch.float8_e4m3fnuz: np.dtype(ml_dtypes.float8_e4m3fnuz),
    torch.float8_e5m2fnuz: np.dtype(ml_dtypes.float8_e5m2fnuz),
}
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
# Not with tables of special values: results grow with a power of the length, or eager PyTorch counts from -2^52 to 0.
WITHOUT_TABLE = {
    ("combinations", None),
    ("polygamma", torch.float64),
    ("special.polygamma", torch.float64),
    ("special.zeta", torch.float64),
}
# A degree of 2^55 takes eager PyTorch as many steps.
OF_DEGREES, OF_FEW_STEPS = "polynomial", ("own", "small", "all equal", "signed zeros")
# With all options and more samples than the others.
WITH_OPTIONS = (torch.float32, torch.int64, torch.uint8)


def as_numpy(tensor: torch.Tensor) -> np.ndarray:
    dtype = NUMPY_TYPES[tensor.dtype]
    plain = tensor.detach().contiguous()
    return plain.numpy() if dtype.kind in "biuf" else plain.view(WORDS[dtype.itemsize]).numpy().view(dtype)


def as_torch(array: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    if array.dtype.kind in "biuf":
        return torch.from_numpy(np.array(array))
    return torch.from_numpy(np.array(array).view(f"i{array.dtype.itemsize}")).view(dtype)


# ----------------------------------------------------------------------------------------------------------------------
# Samples and their changes
# ----------------------------------------------------------------------------------------------------------------------


def value_text(value: Any) -> str:
    if is_tensor(value):
        return f"{list(value.shape)}"
    return str(value).removeprefix("torch.")[:30]


def form_of(sample: Sample) -> str:
    """The shapes of its tensors and its options."""
    shown = [value_text(value) for value in pytree.tree_leaves(tuple(sample.args))]
    shown += [f"{name}={' '.join(map(value_text, pytree.tree_leaves(value)))}" for name, value in sample.kwargs.items()]
    return " ".join(shown).replace("|", "/")


def samples_of(entry: Any, dtype: torch.dtype) -> list[Sample]:
    """Those that differ in shapes or options, from the whole of what the table has."""
    torch.manual_seed(0)
    found: dict[str, Sample] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for drawn in islice(entry.sample_inputs("cpu", dtype, requires_grad=False), DRAWN):
                process = getattr(drawn, "output_process_fn_grad", None)
                sample = Sample(entry.op, (drawn.input, *drawn.args), drawn.kwargs, process)
                if all(tensor.layout == torch.strided for tensor in tensors_of(sample)):
                    found.setdefault(form_of(sample), sample)
        except (RuntimeError, TypeError, AttributeError, AssertionError, ValueError):
            pass  # what this machine's PyTorch cannot make
    every, count = list(found.values()), 8 if dtype in WITH_OPTIONS else 4
    return every[:: max(1, len(every) // count)][:count]


def with_tensors(sample: Sample, change: Callable[[int, torch.Tensor], torch.Tensor]) -> Sample:
    leaves, spec = pytree.tree_flatten((tuple(sample.args), dict(sample.kwargs)))
    numbers = iter(range(len(leaves)))
    changed = [change(next(numbers), leaf) if is_tensor(leaf) else leaf for leaf in leaves]
    args, kwargs = pytree.tree_unflatten(changed, spec)
    return replace(sample, args=args, kwargs=kwargs)


def tensors_of(sample: Sample) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves((tuple(sample.args), dict(sample.kwargs))) if is_tensor(leaf)]


def as_table(sample: Sample, dtype: torch.dtype) -> Sample | None:
    """Vectors of special values in place of tensors of one shape and type."""
    tensors = tensors_of(sample)
    if not tensors or {(x.dtype, x.shape) for x in tensors} != {(dtype, tensors[0].shape)}:
        return None
    vectors = iter(table(len(tensors), NUMPY_TYPES[dtype], np.random.default_rng(0)))
    return with_tensors(sample, lambda number, tensor: as_torch(next(vectors), dtype))


def with_extent(sample: Sample, extent: int, other: int) -> Sample:
    def changed(number: int, tensor: torch.Tensor) -> torch.Tensor:
        if extent not in tensor.shape:
            return tensor
        shape = [other if each == extent else each for each in tensor.shape]
        return (
            torch.zeros(shape, dtype=tensor.dtype)
            if 0 in shape
            else tensor[tuple(slice(each) for each in shape)].contiguous()
        )

    return with_tensors(sample, changed)


def with_shapes(sample: Sample) -> Iterator[Sample]:
    """Extents of 0 and 1 in place of each one of the first tensor, wherever it occurs; scalars."""
    tensors = tensors_of(sample)
    if not tensors or any(x.is_complex() for x in tensors):
        return
    for extent in dict.fromkeys(tensors[0].shape):
        yield from (with_extent(sample, extent, other) for other in (0, 1) if other < extent)
    if len({x.shape for x in tensors}) == 1 and tensors[0].numel():
        yield with_tensors(sample, lambda number, tensor: tensor.flatten()[0].clone())


# By the type of an argument in a schema of ATen.
OPTION_VALUES: dict[str, list[Any]] = {
    "bool": [False, True],
    "int": [-2, -1, 0, 1, 2, 5],
    "SymInt": [-2, -1, 0, 1, 2, 5],
    "float": [-1.0, 0.0, 0.5, 2.0],
    "number": [-1, 0, 2, 0.5, 5, 2.5, float("inf"), float("nan")],
    "ScalarType": [torch.float16, torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool],
    "List[int]": [[0], [-1], [0, 1], []],
    "List[SymInt]": [[0], [-1], [0, 1], [1, 1]],
}
NO_OPTIONS = {"layout", "device", "pin_memory", "memory_format", "generator", "out"}


def overloads_of(entry: Any) -> list[Any]:
    packet = getattr(torch.ops.aten, entry.aten_name or entry.name, None)
    return [getattr(packet, name)._schema for name in packet.overloads()] if packet is not None else []


def options_of(entry: Any, given: int) -> dict[str, list[Any]]:
    """Values of arguments that are no tensors, behind as many as are given by position."""
    found: dict[str, list[Any]] = {}
    for schema in overloads_of(entry):
        for argument in schema.arguments[given:]:
            kind = str(argument.real_type).removeprefix("Optional[").removesuffix("]")
            if kind.startswith("List[") and not kind.endswith("]"):
                kind += "]"
            if argument.name not in NO_OPTIONS and kind in OPTION_VALUES:
                found.setdefault(argument.name, []).extend(OPTION_VALUES[kind])
    return found


def with_options(entry: Any, sample: Sample) -> Iterator[Sample]:
    for name, values in options_of(entry, len(sample.args)).items():
        for value in values:
            yield replace(sample, kwargs={**sample.kwargs, name: value})


# ----------------------------------------------------------------------------------------------------------------------
# Trials
# ----------------------------------------------------------------------------------------------------------------------


def answered(net: Called, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
    """What eager PyTorch says, or None where it refuses."""
    try:
        with torch.no_grad():
            results: list[torch.Tensor] = net(*(tensor.clone() for tensor in inputs))
    except Exception:
        return None
    return results


def comparable_arrays(sample: Sample, values: Sequence[torch.Tensor]) -> list[np.ndarray]:
    if sample.process and not any(value.dim() and value.shape[-1] == 2 for value in values):
        values = processed(sample, values)
    return [as_numpy(value) for value in values]


def eager(sample: Sample, net: Called, inputs: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    results = answered(net, [as_torch(x, y.dtype) for x, y in zip(inputs, net.inputs, strict=True)])
    return comparable_arrays(sample, results) if results else None


def widened(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.dtype.is_floating_point else tensor


def witnesses_of(sample: Sample, net: Called, inputs: Sequence[torch.Tensor]) -> list[Witness]:
    results = answered(net, inputs)
    if not results:
        return []
    found = [Witness("eager", comparable_arrays(sample, results))]
    doubles = answered(net, [widened(tensor) for tensor in inputs])
    if doubles is not None and all(x.dtype in NUMPY_TYPES for x in doubles):
        found.append(Witness("double", comparable_arrays(sample, doubles), rounded=False))
    return found


def is_deterministic(net: Called) -> bool:
    drawn = []
    for seed in range(2):
        torch.manual_seed(seed)
        drawn.append(answered(net, net.inputs))
    first, second = drawn
    name = str(getattr(net.function, "__name__", net.function))
    return (
        bool(first and second)
        and "empty" not in name
        and not any(differ(*pair) for pair in zip(first, second, strict=True))
    )


def inputs_of(net: Called, dtype: torch.dtype, form: str) -> Iterator[tuple[str, list[list[torch.Tensor]]]]:
    """(fill, alternatives): with all tensors of the type filled, or only the first, as the others may be indices."""
    yield "own", [list(net.inputs)]
    places = [place for place, tensor in enumerate(net.inputs) if tensor.dtype == dtype]
    if not places or max(net.inputs[place].numel() for place in places) <= 1:
        return
    kind = NUMPY_TYPES[dtype]
    tensors = {place: (tuple(net.inputs[place].shape), kind) for place in places}
    for fill in fills(kind):
        made = filled(fill, tensors, np.random.default_rng(zlib.crc32(f"{form} {fill}".encode())))
        filled_all = [as_torch(made[p], dtype) if p in made else tensor for p, tensor in enumerate(net.inputs)]
        first = [filled_all[p] if p == places[0] else tensor for p, tensor in enumerate(net.inputs)]
        yield fill, [filled_all, first] if len(places) > 1 else [filled_all]


TABLE = "table"
STRICT = ("signed zeros",)


def call_of(sample: Sample, dtype: torch.dtype, form: str, wanted: Sequence[str] | None = None) -> Call | None:
    """wanted: the fills, if not all."""
    try:
        net = Called(sample)
    except Exception:
        return None
    if any(tensor.dtype not in NUMPY_TYPES for tensor in net.inputs) or not is_deterministic(net):
        return None
    trials = []
    choices = inputs_of(net, dtype, form) if TABLE not in form else [("own", [list(net.inputs)])]
    is_table = TABLE in form and is_elementwise(partial(eager, sample, net), [as_numpy(x) for x in net.inputs])
    for fill, alternatives in choices if wanted is None else (each for each in choices if each[0] in wanted):
        for inputs in alternatives:
            if witnesses := witnesses_of(sample, net, inputs):
                is_strict = fill in STRICT or is_table
                trials.append(Trial(fill, [as_numpy(tensor) for tensor in inputs], witnesses, is_strict))
                break
    return Call(form, trials, net) if trials else None


def makers_of(entry: Any, dtype: torch.dtype) -> dict[str, Callable[[], Call | None]]:
    samples = samples_of(entry, dtype)
    forms = {form_of(sample): sample for sample in samples}
    for sample in samples[:1]:
        forms |= {form_of(each): each for each in with_shapes(sample)}
        if dtype in WITH_OPTIONS:
            forms |= {form_of(each): each for each in with_options(entry, sample)}
    wanted = OF_FEW_STEPS if OF_DEGREES in entry.name else None
    has_table = WITHOUT_TABLE.isdisjoint({(entry.name, None), (entry.name, dtype)}) and wanted is None
    for sample in samples[:4] if has_table else []:
        if tabled := as_table(sample, dtype):
            forms[f"{TABLE} {form_of(tabled)}"] = tabled
    return {form: partial(call_of, sample, dtype, form, wanted) for form, sample in forms.items()}


def tensors_among(values: Any) -> list[torch.Tensor]:
    """Of the results of a compiled module, which are arrays where it has no inputs."""
    by_type = {numpy_type: torch_type for torch_type, numpy_type in NUMPY_TYPES.items()}
    return comparable(pytree.tree_map_only(np.ndarray, lambda array: as_torch(array, by_type[array.dtype]), values))


class Many(torch.nn.Module):  # type: ignore[misc]
    """Several calls, one after the other."""

    def __init__(self, nets: Sequence[Called]) -> None:
        super().__init__()
        self.nets = torch.nn.ModuleList(nets)

    def forward(self, *tensors: torch.Tensor) -> list[list[torch.Tensor]]:
        given = iter(tensors)
        return [net(*(next(given) for _ in net.inputs)) for net in self.nets]


class TorchFrontEnd:
    name = "torch"

    def __init__(self) -> None:
        torch.set_num_threads(1)
        logging.disable(logging.CRITICAL)  # what is refused is told by errors, too
        # What every process would load and make for itself; without a compilation, which may start threads.
        perpend.import_model(torch.nn.ReLU(), example_inputs=(torch.ones(2),))

    def groups(self) -> list[Group]:
        found = []
        for entry in op_db:
            for dtype in sorted(entry.supported_dtypes("cpu") & NUMPY_TYPES.keys(), key=str):
                types = str(dtype).removeprefix("torch.")
                found.append(Group(full_name(entry), types, partial(makers_of, entry, dtype)))
        return found

    def compile(self, calls: Sequence[Call]) -> Any:
        nets = [call.payload for call in calls]
        example = tuple(tensor.clone() for net in nets for tensor in net.inputs)
        with torch.no_grad():
            model = perpend.compile(Many(nets), example_inputs=example)

        def execute(inputs: list[list[Any]]) -> list[list[Any]]:
            tensors = [
                as_torch(x, y.dtype)
                for net, each in zip(nets, inputs, strict=True)
                for x, y in zip(each, net.inputs, strict=True)
            ]
            results = model(*tensors)
            return [comparable_arrays(net.sample, tensors_among(each)) for net, each in zip(nets, results, strict=True)]

        return execute
