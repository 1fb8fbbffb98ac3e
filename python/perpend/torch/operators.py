"""The table of ATen operators: each is one expression in composites (src/graph/composites/Composites.def).

Decompositions leave core ATen and the operators that composites express directly (`decompositions`).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.export import default_decompositions

from .arithmetic import (
    add_product,
    addcmul,
    along,
    arg_extreme,
    attention,
    batch_norm,
    binary,
    clamp,
    comparison,
    convolution,
    divide,
    elu,
    extreme_along,
    group_norm,
    group_norm_with_statistics,
    instance_norm,
    layer_norm,
    layer_norm_with_statistics,
    leaky_relu,
    linear,
    logical,
    masked_fill,
    normal_quantile,
    on_input,
    power,
    prelu,
    reduction,
    remainder,
    reversed_difference,
    rms_norm,
    round_even,
    sign,
    softmax,
    softplus,
    truth_reduction,
    unary,
    variance,
    variance_and_mean,
    vector_norm,
    where,
    whole_quotient,
    with_statistics,
)
from .assertions import ASSERTIONS
from .call import Call, arguments_of, called, name_of
from .complex_numbers import short_time
from .control import CONTROL
from .decompositions import DECOMPOSITIONS
from .factorisations import FACTORISATIONS
from .gamma import GAMMA
from .groups import GROUPED
from .linear_algebra import LINEAR_ALGEBRA
from .losses import chunked_losses
from .movement import (
    arange,
    as_strided,
    as_strided_scatter,
    cast,
    concatenate,
    diagonal,
    difference,
    dropout,
    embedding,
    evaluated,
    filled,
    flip,
    gather,
    identity,
    index_select,
    narrow,
    pad,
    permute,
    random_integers,
    random_values,
    result_shape,
    roll,
    select,
    select_scatter,
    slice_dimension,
    slice_scatter,
    split,
    squeeze,
    stack,
    transpose,
    triangle,
    triangle_indices,
    unbind,
    unfold,
    view,
)
from .ordering import cumulated, index, index_along, index_put, kth_value, running_extreme, scatter, sorted_values
from .polynomials import POLYNOMIALS
from .quantisation import quantised_decompositions
from .recurrent import RECURRENT
from .sampling import SAMPLINGS
from .selection import SELECTIONS
from .triangles import TRIANGLES

Operator = Callable[["Call"], Any]

# Not decomposed: one composite computes the same and tells the compiler more.
KEPT = """
    hardsigmoid hardswish layer_norm linear matmul mish rms_norm scaled_dot_product_attention silu softplus
    group_norm instance_norm masked_fill select_scatter stack grid_sampler_2d
    upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d
    upsample_bicubic2d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    adaptive_max_pool2d adaptive_max_pool3d max_unpool2d max_unpool3d max_pool2d_with_indices max_pool3d_with_indices
    lstm gru rnn_tanh rnn_relu stft
    _pad_circular reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d
    replication_pad3d
"""

# Checks that the compiler makes itself.
IGNORED = {
    "aten._assert_tensor_metadata",
    "aten.sym_constrain_range",
    "aten.sym_constrain_range_for_size",
}

# Regions that are converted in place, and the position of their body among the arguments.
REGIONS = {"higher_order.wrap_with_set_grad_enabled": 1, "higher_order.wrap_with_autocast": 4}


def is_supported(name: str) -> bool:
    return name == "getitem" or any(name in table for table in (OPERATORS, IGNORED, REGIONS, CONTROL))


# Operators that torch would decompose, and the table takes whole.
WHOLE = """
    transpose.int t.default detach.default arange.default arange.start softmax.int __and__.Tensor diff.default
    zeros.default ones.default new_ones.default zeros_like.default ones_like.default where.ScalarOther where.ScalarSelf
    conv1d.default conv2d.default conv3d.default conv1d.padding conv2d.padding conv3d.padding
    conv_transpose1d.default conv_transpose2d.input conv_transpose3d.input
    adaptive_avg_pool2d.default adaptive_avg_pool3d.default
"""


def changes_statistics(node: torch.fx.Node) -> bool:
    """Whether a normalisation computes statistics of its input, and may update its own."""
    arguments = arguments_of(node)
    return bool(arguments.get("training", arguments.get("use_input_stats") and arguments["running_mean"] is not None))


def is_final(node: torch.fx.Node, table: Any) -> bool:
    """Whether decomposition would leave the operator as it is, or the table converts it as well. In a region under
    autocast, only a trace shows the casts of its operands."""
    target, _ = called(node)
    if not isinstance(target, torch._ops.OpOverload):
        return name_of(node) != "higher_order.wrap_with_autocast"
    if target._schema.is_mutable:
        return name_of(node) == "aten.detach_"
    if name_of(node) in ("aten.batch_norm", "aten.instance_norm") and changes_statistics(node):
        return False
    return target not in table or str(target).removeprefix("aten.") in WHOLE.split()


def decompositions() -> Mapping[Any, Any]:
    """Core ATen's decompositions, without those of the operators that stay."""
    registered = torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd")
    others = tuple(_operator_of(name) for name in sorted(registered) if not name.startswith("aten::"))
    return {**_decompositions(others), **chunked_losses()}


@contextlib.contextmanager
def own_formulas() -> Iterator[None]:
    """Inside, formulas of DECOMPOSITIONS come before those that PyTorch has for derivatives of the same operators."""
    key = torch._C.DispatchKey.Autograd
    theirs = {operator: operator.py_kernels.pop(key, None) for operator in DECOMPOSITIONS}
    changed = {operator: kernel for operator, kernel in theirs.items() if kernel is not None}
    for operator in changed:
        operator._dispatch_cache.clear()
    try:
        yield
    finally:
        for operator, kernel in changed.items():
            operator.py_kernels[key] = kernel
            operator._dispatch_cache.clear()


def _operator_of(name: str) -> Any:
    """The operator "namespace::name.overload". One that is destroyed and defined again is another object."""
    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")


@functools.lru_cache(maxsize=1)
def _decompositions(registered: tuple[Any, ...]) -> Mapping[Any, Any]:
    """Rebuilt if the program has registered more operators since: their decompositions belong to the table."""
    table = default_decompositions()
    for operator in list(table):
        if operator.namespace == "aten" and operator._schema.name.split("::")[1] in KEPT.split():
            del table[operator]
    return dict(table.items()) | DECOMPOSITIONS | quantised_decompositions()


# Operators with the name of a composite.
UNARY = """
    abs neg reciprocal sqrt rsqrt exp exp2 log log2 log10 log1p expm1 erf erfc erfinv lgamma digamma sin cos tan asin
    acos atan sinh cosh tanh asinh acosh atanh ceil floor trunc relu sigmoid silu mish
"""
COPIES = "alias clone contiguous detach detach_ lift_fresh_copy positive resolve_conj"
ZEROS = "zeros zeros_like new_zeros empty empty_like new_empty empty_permuted empty_strided new_empty_strided"
CONVOLUTIONS = "convolution conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d"
EVALUATED = "hamming_window kaiser_window blackman_window bartlett_window fft_fftfreq fft_rfftfreq"

# Operators with a form that copies.
VIEWS = """
    alias as_strided diagonal expand permute select slice split split_with_sizes squeeze t transpose unbind unfold
    unsqueeze view detach
"""

# Operators along a dimension; they accept tensors of rank 0 as well.
ALONG = """
    sum mean prod amax amin logsumexp any all max min argmax argmin var var_mean linalg_vector_norm _softmax softmax
    _log_softmax log_softmax gather index_select scatter scatter_add scatter_reduce index_add index_copy unfold
    unfold_copy sort topk argsort cumsum cumprod cummax cummin logcumsumexp
"""

OPERATORS: dict[str, Operator] = {
    **RECURRENT,
    **SELECTIONS,
    **SAMPLINGS,
    **GROUPED,
    **LINEAR_ALGEBRA,
    **ASSERTIONS,
    **FACTORISATIONS,
    **TRIANGLES,
    **POLYNOMIALS,
    **GAMMA,
    # Elementwise
    **{f"aten.{name}": unary(name) for name in UNARY.split()},
    "aten.special_erfcx": unary("erfcx"),
    "aten.special_ndtri": normal_quantile,
    "aten.sign": sign,
    "aten.round": round_even,
    "aten._neg_view": unary("neg"),
    "aten.gelu": lambda call: call.op("gelu", call.tensor("self"), approximate=call["approximate"]),
    "aten.hardsigmoid": unary("hard_sigmoid", alpha=1 / 6, beta=0.5),
    "aten.hardswish": unary("hard_swish"),
    "aten.softplus": softplus,
    "aten.elu": elu,
    "aten.leaky_relu": leaky_relu,
    "aten.hardtanh": clamp,
    "aten.clamp": clamp,
    "aten.clamp_min": clamp,
    "aten.clamp_max": clamp,
    "aten._prelu_kernel": prelu,
    "aten.isnan": on_input("isnan"),
    "aten.isinf": on_input("isinf"),
    "aten.logical_not": lambda call: call.op("logical_not", call.tensor("self", torch.bool)),
    "aten.bitwise_not": lambda call: call.op(
        "logical_not" if call.dtype == torch.bool else "bitwise_not", call.tensor("self")
    ),
    "aten.add": binary("add"),
    "aten.sub": binary("sub"),
    "aten.rsub": reversed_difference,
    "aten.mul": binary("mul", wide_numbers=True),
    "aten.div": divide,
    "aten.true_divide": divide,
    "aten.floor_divide": whole_quotient("floor"),
    "aten.remainder": remainder,
    "aten.fmod": binary("fmod"),
    "aten.maximum": binary("max"),
    "aten.minimum": binary("min"),
    "aten.gcd": binary("gcd"),
    "aten.pow": power,
    "aten.addcmul": addcmul("mul"),
    "aten.addcdiv": addcmul("div"),
    "aten.atan2": binary("atan2"),
    "aten.hypot": binary("hypot"),
    "aten.where": where,
    "aten.masked_fill": masked_fill,
    "aten.eq": comparison("equal"),
    "aten.ne": comparison("not_equal"),
    "aten.lt": comparison("less"),
    "aten.le": comparison("less_equal"),
    "aten.gt": comparison("greater"),
    "aten.ge": comparison("greater_equal"),
    "aten.logical_and": logical("logical_and"),
    "aten.logical_or": logical("logical_or"),
    "aten.logical_xor": logical("logical_xor"),
    "aten.bitwise_and": binary("bitwise_and"),
    "aten.bitwise_or": binary("bitwise_or"),
    "aten.bitwise_xor": binary("bitwise_xor"),
    "aten.__and__": binary("bitwise_and"),
    "aten.__or__": binary("bitwise_or"),
    "aten.__lshift__": binary("shift_left"),
    "aten.__rshift__": binary("shift_right"),
    "aten.bitwise_left_shift": binary("shift_left"),
    "aten.bitwise_right_shift": binary("shift_right"),
    # Reductions and normalisations
    "aten.sum": reduction("reduce_sum"),
    "aten.mean": reduction("reduce_mean"),
    "aten.prod": reduction("reduce_prod"),
    "aten.amax": reduction("reduce_max"),
    "aten.amin": reduction("reduce_min"),
    "aten.logsumexp": reduction("reduce_log_sum_exp"),
    "aten.any": truth_reduction("reduce_max"),
    "aten.all": truth_reduction("reduce_min"),
    "aten._is_all_true": truth_reduction("reduce_min"),
    "aten._is_any_true": truth_reduction("reduce_max"),
    "aten.max": extreme_along("reduce_max", "argmax"),
    "aten.min": extreme_along("reduce_min", "argmin"),
    "aten.argmax": arg_extreme("argmax"),
    "aten.argmin": arg_extreme("argmin"),
    "aten.var": variance,
    "aten.var_mean": variance_and_mean,
    "aten.linalg_vector_norm": vector_norm,
    "aten.cumsum": cumulated("cumsum"),
    "aten.cumprod": cumulated("cumprod"),
    "aten.cummax": running_extreme("cummax"),
    "aten.cummin": running_extreme("cummin"),
    "aten.logcumsumexp": cumulated("cumlogsumexp"),
    "aten._softmax": softmax("softmax"),
    "aten.softmax": softmax("softmax"),
    "aten._log_softmax": softmax("log_softmax"),
    "aten.log_softmax": softmax("log_softmax"),
    "aten._native_batch_norm_legit_no_training": batch_norm,
    "aten.batch_norm": with_statistics,
    "aten.instance_norm": instance_norm,
    "aten.layer_norm": layer_norm,
    "aten.native_layer_norm": layer_norm_with_statistics,
    "aten.rms_norm": rms_norm,
    "aten.group_norm": group_norm,
    "aten.native_group_norm": group_norm_with_statistics,
    # Products and windows
    "aten.mm": lambda call: call.op("matmul", call["self"], call["mat2"]),
    "aten.bmm": lambda call: call.op("matmul", call["self"], call["mat2"]),
    "aten.matmul": lambda call: call.op("matmul", call["self"], call["other"]),
    "aten.mv": lambda call: call.op("matmul", call["self"], call["vec"]),
    "aten.dot": lambda call: call.op("matmul", call["self"], call["tensor"]),
    "aten._int_mm": lambda call: call.op("matmul_integer", call["self"], call["mat2"]),
    "aten.addmm": add_product,
    "aten.baddbmm": add_product,
    "aten.addmv": add_product,
    "aten.linear": linear,
    "aten.scaled_dot_product_attention": attention,
    "aten._scaled_dot_product_flash_attention_for_cpu": attention,
    **{f"aten.{name}": convolution for name in CONVOLUTIONS.split()},
    # Movement
    **{f"aten.{name}": identity for name in COPIES.split()},
    "aten._to_copy": cast,
    "aten.copy": lambda call: call.op("expand", call.tensor("src", call.dtype), shape=result_shape(call)),
    "aten.to": cast,
    "aten.type_as": cast,
    "prims.convert_element_type": lambda call: call.cast(call.tensor("a"), call.dtype),
    "aten.dropout": dropout,
    "aten.native_dropout": dropout,
    "aten.view": view,
    "aten._unsafe_view": lambda call: call.reshape(call.tensor("self"), result_shape(call)),
    "aten.reshape": lambda call: call.reshape(call.tensor("self"), result_shape(call)),
    "aten.flatten": lambda call: call.reshape(call.tensor("self"), result_shape(call)),
    "aten.unflatten": lambda call: call.reshape(call.tensor("self"), result_shape(call)),
    "aten.expand": lambda call: call.op("expand", call.tensor("self"), shape=result_shape(call)),
    "aten.expand_as": lambda call: call.op("expand", call.tensor("self"), shape=result_shape(call)),
    "aten.permute": permute,
    "aten.transpose": transpose,
    "aten.t": transpose,
    "aten.unsqueeze": lambda call: call.op("unsqueeze", call.tensor("self"), axes=[call["dim"]]),
    "aten.squeeze": squeeze,
    "aten.slice": slice_dimension,
    "aten.select": select,
    "aten.narrow_copy": narrow,
    "aten.cat": concatenate,
    "aten.stack": stack,
    "aten.chunk": split,
    "aten.diff": difference,
    "aten.split": split,
    "aten.split_with_sizes": split,
    "aten.unbind": unbind,
    "aten.slice_scatter": slice_scatter,
    "aten.as_strided": as_strided,
    "aten.stft": short_time,
    "aten.as_strided_scatter": as_strided_scatter,
    "aten.select_scatter": select_scatter,
    "aten.repeat": lambda call: call.op("tile", call.tensor("self"), repeats=call["repeats"]),
    "aten.diagonal": diagonal,
    "aten.unfold": unfold,
    "aten.flip": flip,
    "aten.roll": roll,
    "aten.constant_pad_nd": pad("constant"),
    "aten.reflection_pad1d": pad("reflect"),
    "aten.reflection_pad2d": pad("reflect"),
    "aten.reflection_pad3d": pad("reflect"),
    "aten._pad_circular": pad("wrap"),
    "aten.replication_pad1d": pad("edge"),
    "aten.replication_pad2d": pad("edge"),
    "aten.replication_pad3d": pad("edge"),
    "aten.tril": triangle(upper=False),
    "aten.triu": triangle(upper=True),
    "aten.pixel_shuffle": lambda call: call.op(
        "depth_to_space", call.tensor("self"), blocksize=call["upscale_factor"], mode="CRD"
    ),
    # Creation and indexing
    "aten.full": filled(),
    "aten.full_like": filled(),
    "aten.new_full": filled(),
    "aten.fill": filled(),
    "aten.scalar_tensor": filled(),
    "prims.scalar_tensor": filled(),
    **{f"aten.{name}": filled(0) for name in ZEROS.split()},
    **{f"aten.{name}": filled(1) for name in ["ones", "ones_like", "new_ones"]},
    "aten.arange": arange,
    **{f"aten.{name}": evaluated for name in EVALUATED.split()},
    "aten.rand": random_values("random_uniform"),
    "aten.rand_like": random_values("random_uniform"),
    "aten.randn": random_values("random_normal"),
    "aten.randn_like": random_values("random_normal"),
    "aten.randint": random_integers,
    "aten.randint_like": random_integers,
    "aten.tril_indices": triangle_indices(torch.tril_indices),
    "aten.triu_indices": triangle_indices(torch.triu_indices),
    "aten.embedding": embedding,
    "aten.index_select": index_select,
    "aten.gather": gather,
    "aten.index": index,
    # Ordering and scattering
    "aten.sort": sorted_values,
    "aten.topk": sorted_values,
    "aten.kthvalue": kth_value,
    "aten.argsort": lambda call: sorted_values(call)[1],
    "aten.scatter": scatter,
    "aten.scatter_add": scatter,
    "aten.scatter_reduce": scatter,
    "aten.index_add": index_along("add"),
    "aten.index_copy": index_along("none"),
    "aten.index_put": index_put,
    "aten._unsafe_index_put": index_put,
}
OPERATORS |= {f"aten.{name}_copy": OPERATORS[f"aten.{name}"] for name in VIEWS.split()}
OPERATORS |= {f"aten.{name}": along(OPERATORS[f"aten.{name}"]) for name in ALONG.split()}
