"""What torch_operators.py tries: calls of ATen's core overloads, and the samples of PyTorch's own table of tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch.testing._internal import common_methods_invocations
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

SAMPLES = 2
op_db = common_methods_invocations.op_db
aten: Any = torch.ops.aten


def with_any_seed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


# PyTorch's table runs random operators with one seed, which hides that they are random.
common_methods_invocations.wrapper_set_seed = with_any_seed


@dataclass(frozen=True)
class Sample:
    """process: makes of results what can be compared, where an operator has several right ones, such as signs."""

    function: Callable[..., Any]
    args: Sequence[Any]
    kwargs: dict[str, Any]
    process: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Case:
    """samples: makes them anew, the same each time."""

    name: str
    samples: Callable[[], Sequence[Sample]]


# ----------------------------------------------------------------------------------------------------------------------
# PyTorch's table
# ----------------------------------------------------------------------------------------------------------------------


def dtype_of(entry: Any, is_float_only: bool = True) -> torch.dtype | None:
    supported = entry.supported_dtypes("cpu")
    wanted = (torch.float32,) if is_float_only else (torch.float32, torch.int64, *supported)
    return next((dtype for dtype in wanted if dtype in supported), None)


def samples_of(entry: Any, requires_grad: bool = False) -> Iterator[Sample]:
    dtype = dtype_of(entry, is_float_only=False)
    if dtype is None:
        return
    torch.manual_seed(0)
    for sample in islice(entry.sample_inputs("cpu", dtype, requires_grad=requires_grad), SAMPLES):
        process = getattr(sample, "output_process_fn_grad", None)
        yield Sample(entry.op, (sample.input, *sample.args), sample.kwargs, process)


def full_name(entry: Any) -> str:
    variant = entry.variant_test_name
    return f"{entry.name} ({variant})" if variant else str(entry.name)


def of_table() -> list[Case]:
    return [Case(full_name(entry), partial(lambda entry: list(samples_of(entry)), entry)) for entry in op_db]


def has_float_samples(case: Case) -> bool:
    return any(full_name(entry) == case.name and dtype_of(entry) for entry in op_db)


# ----------------------------------------------------------------------------------------------------------------------
# Core ATen
# ----------------------------------------------------------------------------------------------------------------------

IMAGE = torch.linspace(-1, 1, 60).reshape(1, 3, 4, 5)
VOLUME = torch.linspace(-1, 1, 120).reshape(1, 2, 3, 4, 5)
ROWS = torch.linspace(-2, 2, 12).reshape(3, 4)
INTEGERS = torch.arange(12).reshape(3, 4)
STATISTICS = (torch.tensor([0.5, -0.5, 0.1]), torch.tensor([1.5, 0.5, 1.0]))

# Calls of overloads that no sample of PyTorch's table comes to.
OTHERS: list[tuple[Any, tuple[Any, ...]]] = [
    (aten._native_batch_norm_legit.no_stats, (IMAGE, *STATISTICS, True, 0.1, 1e-5)),
    (aten._native_batch_norm_legit_no_training.default, (IMAGE, *STATISTICS, *STATISTICS, 0.1, 1e-5)),
    (aten.adaptive_avg_pool1d.default, (VOLUME[0, 0], [3])),
    (aten.any.dims, (ROWS > 1, [0, 1])),
    (aten.avg_pool1d.default, (VOLUME[0, 0], [2])),
    (aten.bitwise_and.Scalar, (INTEGERS, 6)),
    (aten.bitwise_or.Scalar, (INTEGERS, 6)),
    (aten.bitwise_xor.Scalar, (INTEGERS, 6)),
    (aten.clamp.default, (ROWS, -1, 1.5)),
    (aten.copy.default, (ROWS, ROWS[0] + 1)),
    (aten.div.Scalar_mode, (ROWS, 0.3)),
    (aten.fmod.Scalar, (ROWS, 0.7)),
    (aten.native_dropout.default, (ROWS, 0.5, False)),
    (aten.randperm.default, (9,)),
    (aten.reflection_pad2d.default, (IMAGE, [1, 2, 3, 1])),
    (aten.reflection_pad3d.default, (VOLUME, [1, 2, 3, 1, 1, 2])),
    (aten.replication_pad3d.default, (VOLUME, [1, 2, 3, 1, 1, 2])),
    (aten.upsample_bilinear2d.vec, (IMAGE, [7, 9], False, None)),
    (aten.upsample_nearest2d.vec, (IMAGE, [7, 9], None)),
    (aten.var.dim, (ROWS, [1])),
]
NAMED: dict[Any, dict[str, Any]] = {aten.div.Scalar_mode: {"rounding_mode": "floor"}}


def core_overloads() -> list[Any]:
    """Those tagged core; without the ones that write into given tensors or ask for shapes, which no graph has."""
    overloads = []
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        if namespace != "aten" or packet.startswith("sym_") or overload == "out":
            continue
        operator = getattr(getattr(aten, packet, None), overload or "default", None)
        if operator is not None and torch.Tag.core in operator.tags:
            overloads.append(operator)
    return sorted(overloads, key=str)


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Keeps the first calls of each of `overloads` while PyTorch runs something."""

    def __init__(self, overloads: Sequence[Any]) -> None:
        super().__init__()
        self.calls: dict[Any, list[Sample]] = {overload: [] for overload in overloads}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        kept = self.calls.get(function)
        if kept is not None and len(kept) < SAMPLES and all(map(is_ordinary, pytree.tree_leaves((args, kwargs)))):
            copied = pytree.tree_map_only(torch.Tensor, copy_of, (tuple(args), dict(kwargs)))
            kept.append(Sample(function, *copied))
        return function(*args, **kwargs)


def is_ordinary(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout == torch.strided and value.is_cpu
    return not isinstance(value, torch.Generator)


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    """With the same place in memory for each element, which some operators look at."""
    result = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    return result.copy_(tensor.detach())


def run_with_gradients(sample: Sample) -> None:
    results = pytree.tree_leaves(sample.function(*sample.args, **sample.kwargs))
    sums = [
        value.abs().sum()
        for value in results
        if isinstance(value, torch.Tensor) and value.requires_grad and value.layout == torch.strided
    ]
    if sums:
        torch.stack([total.double() for total in sums]).sum().backward()


def of_core() -> list[Case]:
    """The calls that the samples of PyTorch's table come to, with gradients, and OTHERS."""
    recorder = Recorder(core_overloads())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in op_db:
            dtype = dtype_of(entry, is_float_only=False)
            needs_gradients = bool(entry.supports_autograd and dtype and dtype.is_floating_point)
            try:
                for sample in samples_of(entry, needs_gradients):
                    with recorder:
                        run_with_gradients(sample)
            except (RuntimeError, TypeError, AttributeError, AssertionError):
                continue  # what this machine's PyTorch cannot run
    for overload, args in OTHERS:
        recorder.calls[overload] = [Sample(overload, args, NAMED.get(overload, {}))]
    return [
        Case(str(overload).removeprefix("torch.ops."), partial(list[Sample], samples))
        for overload, samples in recorder.calls.items()
    ]
