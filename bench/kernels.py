"""Times single products and convolutions of every data type against peers in turns, and writes JSON and Markdown.

usage: kernels.py [--families products,weights4 ...] [--types f32,bf16,int8] [--threads 1,2] [--only TEXT]

Each kernel is a model of one operator with constant weights, as an exporter writes it. Precision f32 and bf16 are the
same model; int8 is it between QuantizeLinear and DequantizeLinear, from bytes to bytes; weights of 8 and 4 bits are
MatMulNBits, for OpenVINO DequantizeLinear before a product. The reference is ONNX Runtime's result. The part of the
roof is the larger of arithmetic and of reading and writing each tensor once, with the peaks of one thread that
peaks.c measures in the same run, over Perpend's time.
"""

import argparse
import datetime
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import models
import numpy as np
import onnx
import onnxruntime
import turns
import worker
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

CLANG = "clang-19"
OPSET = 21
TOLERANCES = {
    "f32": 1e-4,
    "bf16": 3e-2,
    "int8": 2.1 / 255,  # two steps
    "weights": 1e-4,
}


@dataclass
class Kernel:
    """One operator: its models by engine, and what it costs at least."""

    name: str
    family: str
    precision: str  # f32, bf16 or int8: of products
    operations: float
    bytes: float
    model: onnx.ModelProto
    inputs: turns.Arrays
    others: dict[str, onnx.ModelProto] = field(default_factory=dict)

    def model_for(self, engine: str) -> onnx.ModelProto:
        return self.others.get(engine, self.model)


@dataclass
class Row:
    kernel: Kernel
    threads: int
    timings: dict[str, turns.Timing]
    roof_s: float


# Models


def make_model(nodes: Sequence[Any], inputs: Sequence[Any], output: Any, constants: dict[str, Any]) -> onnx.ModelProto:
    initializers = [
        value if isinstance(value, TensorProto) else numpy_helper.from_array(value, name)
        for name, value in constants.items()
    ]
    graph = helper.make_graph(list(nodes), "kernel", list(inputs), [output], initializers)
    imports = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def tensor(name: str, kind: int, shape: Sequence[int]) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def random_numbers(shape: Sequence[int]) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def quantised_model(
    operator: str,
    x: Sequence[int],
    weights: NDArray[np.float32],
    y: Sequence[int],
    axis: int,
    attributes: dict[str, Any],
) -> onnx.ModelProto:
    """From bytes to bytes: signed weights with a scale per output channel, `axis` of the weights."""
    others = tuple(i for i in range(weights.ndim) if i != axis)
    scales = (np.abs(weights).max(axis=others) / 127).astype(np.float32)
    shape = [-1 if i == axis else 1 for i in range(weights.ndim)]
    numbers = np.clip(np.rint(weights / scales.reshape(shape)), -127, 127).astype(np.int8)
    depth = weights.size // weights.shape[axis]
    constants = {
        "w": numbers,
        "w_scale": scales,
        "w_zero": np.zeros(len(scales), np.int8),
        "x_scale": np.float32(0.02),
        "x_zero": np.uint8(128),
        "y_scale": np.float32(0.04 * np.sqrt(depth)),
        "y_zero": np.uint8(128),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "x_scale", "x_zero"], ["x_real"]),
        helper.make_node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["w_real"], axis=axis),
        helper.make_node(operator, ["x_real", "w_real"], ["y_real"], **attributes),
        helper.make_node("QuantizeLinear", ["y_real", "y_scale", "y_zero"], ["y"]),
    ]
    return make_model(nodes, [tensor("x", TensorProto.UINT8, x)], tensor("y", TensorProto.UINT8, y), constants)


def plain_model(
    operator: str, x: Sequence[int], weights: NDArray[np.float32], y: Sequence[int], attributes: dict[str, Any]
) -> onnx.ModelProto:
    node = helper.make_node(operator, ["x", "w"], ["y"], **attributes)
    return make_model([node], [tensor("x", TensorProto.FLOAT, x)], tensor("y", TensorProto.FLOAT, y), {"w": weights})


def operator_kernel(
    name: str, family: str, precision: str, operator: str, x: Sequence[int], w: Sequence[int], y: Sequence[int],
    operations: float, axis: int, attributes: dict[str, Any],
) -> Kernel:  # fmt: skip
    weights = random_numbers(w) / np.float32(np.sqrt(np.prod(w) / w[axis]))
    if precision == "int8":
        model = quantised_model(operator, x, weights, y, axis, attributes)
        values: NDArray[Any] = np.random.default_rng(1).integers(0, 256, x).astype(np.uint8)
    else:
        model = plain_model(operator, x, weights, y, attributes)
        values = random_numbers(x)
    width = {"f32": 4, "bf16": 2, "int8": 1}[precision]
    ends = 1 if precision == "int8" else 4  # inputs and outputs stay f32 in bf16
    least = np.prod(w) * width + (np.prod(x) + np.prod(y)) * ends
    return Kernel(name, family, precision, operations, float(least), model, [values])


# Families

# rows x depth x columns
PRODUCTS = [
    (128, 768, 768), (128, 768, 3072), (128, 3072, 768), (197, 768, 770), (197, 768, 3072), (384, 1024, 1024),
    (384, 1024, 4096), (1500, 384, 1536), (1024, 2560, 1024), (64, 64, 64), (256, 256, 256), (512, 512, 512),
    (1024, 1024, 1024), (8, 1024, 4096), (1, 768, 3072), (1, 4096, 4096),
]  # fmt: skip


def products(precision: str) -> list[Kernel]:
    return [
        operator_kernel(f"{m}x{k}x{n}", "products", precision, "MatMul", [m, k], [k, n], [m, n], 2.0 * m * k * n, 1, {})
        for m, k, n in PRODUCTS
    ]


# input channels, output channels, size of the input, window, stride, groups
RESNET50 = [
    (3, 64, 224, 7, 2, 1),
    *((c, 64, 56, 1, 1, 1) for c in (64, 256)), (64, 64, 56, 3, 1, 1), (64, 256, 56, 1, 1, 1),
    (256, 128, 56, 1, 1, 1), (128, 128, 56, 3, 2, 1), (128, 512, 28, 1, 1, 1), (256, 512, 56, 1, 2, 1),
    (512, 128, 28, 1, 1, 1), (128, 128, 28, 3, 1, 1),
    (512, 256, 28, 1, 1, 1), (256, 256, 28, 3, 2, 1), (256, 1024, 14, 1, 1, 1), (512, 1024, 28, 1, 2, 1),
    (1024, 256, 14, 1, 1, 1), (256, 256, 14, 3, 1, 1),
    (1024, 512, 14, 1, 1, 1), (512, 512, 14, 3, 2, 1), (512, 2048, 7, 1, 1, 1), (1024, 2048, 14, 1, 2, 1),
    (2048, 512, 7, 1, 1, 1), (512, 512, 7, 3, 1, 1),
]  # fmt: skip
MOBILENETV2 = [
    (3, 32, 224, 3, 2, 1), (32, 32, 112, 3, 1, 32), (32, 16, 112, 1, 1, 1), (16, 96, 112, 1, 1, 1),
    (96, 96, 112, 3, 2, 96), (96, 24, 56, 1, 1, 1), (24, 144, 56, 1, 1, 1), (144, 144, 56, 3, 1, 144),
    (144, 24, 56, 1, 1, 1), (144, 144, 56, 3, 2, 144), (144, 32, 28, 1, 1, 1), (32, 192, 28, 1, 1, 1),
    (192, 192, 28, 3, 1, 192), (192, 32, 28, 1, 1, 1), (192, 192, 28, 3, 2, 192), (192, 64, 14, 1, 1, 1),
    (64, 384, 14, 1, 1, 1), (384, 384, 14, 3, 1, 384), (384, 64, 14, 1, 1, 1), (384, 96, 14, 1, 1, 1),
    (96, 576, 14, 1, 1, 1), (576, 576, 14, 3, 1, 576), (576, 96, 14, 1, 1, 1), (576, 576, 14, 3, 2, 576),
    (576, 160, 7, 1, 1, 1), (160, 960, 7, 1, 1, 1), (960, 960, 7, 3, 1, 960), (960, 160, 7, 1, 1, 1),
    (960, 320, 7, 1, 1, 1), (320, 1280, 7, 1, 1, 1),
]  # fmt: skip


def convolutions(shapes: Sequence[tuple[int, ...]], family: str, precision: str) -> list[Kernel]:
    kernels = []
    for c, o, size, window, stride, groups in shapes:
        extent = (size + stride - 1) // stride
        name = f"{window}x{window} {c}>{o} {size}x{size}" + f" /{stride}" * (stride > 1) + " depthwise" * (groups > 1)
        attributes = {"strides": [stride] * 2, "pads": [window // 2] * 4, "group": groups, "kernel_shape": [window] * 2}
        operations = 2.0 * o * (c // groups) * window * window * extent * extent
        x, w, y = [1, c, size, size], [o, c // groups, window, window], [1, o, extent, extent]
        kernels.append(operator_kernel(name, family, precision, "Conv", x, w, y, operations, 0, attributes))
    return kernels


def resnet50(precision: str) -> list[Kernel]:
    return convolutions(RESNET50, "resnet50", precision)


def mobilenetv2(precision: str) -> list[Kernel]:
    return convolutions(MOBILENETV2, "mobilenetv2", precision)


def plain_kernel(
    name: str, nodes: Sequence[Any], inputs: dict[str, Sequence[int]], y: Sequence[int],
    constants: dict[str, Any] | None = None, operations: float = 0.0,
) -> Kernel:  # fmt: skip
    values = [random_numbers(shape) for shape in inputs.values()]
    ends = [tensor(input_name, TensorProto.FLOAT, shape) for input_name, shape in inputs.items()]
    model = make_model(nodes, ends, tensor("y", TensorProto.FLOAT, y), constants or {})
    least = 4.0 * (sum(value.size for value in values) + np.prod(y))
    return Kernel(name, "rows", "f32", operations, float(least), model, list(values))


def attention(heads: int, tokens: int, size: int, queries: int | None = None) -> Kernel:
    """Of all tokens to all, or of so many."""
    nodes = [
        helper.make_node("Transpose", ["k"], ["keys"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "keys"], ["products"]),
        helper.make_node("Mul", ["products", "scale"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["weights"]),
        helper.make_node("MatMul", ["weights", "v"], ["y"]),
    ]
    count = queries or tokens
    shape, rows = [1, heads, tokens, size], [1, heads, count, size]
    constants = {"scale": np.float32(1 / np.sqrt(size))}
    name = f"attention {heads} heads x {size}, {f'{count} of ' if queries else ''}{tokens} tokens"
    inputs: dict[str, Sequence[int]] = {"q": rows, "k": shape, "v": shape}
    return plain_kernel(name, nodes, inputs, rows, constants, 4.0 * heads * count * tokens * size)


def rows(_: str) -> list[Kernel]:
    """What moves and normalises; arithmetic other than of products is not counted."""

    def unary(operator: str, x: Sequence[int], **attributes: Any) -> Kernel:
        node = helper.make_node(operator, ["x"], ["y"], **attributes)
        perm = attributes.get("perm", range(len(x)))
        name = " ".join([operator, "x".join(map(str, x)), *([f"by {perm}"] if "perm" in attributes else [])])
        return plain_kernel(name, [node], {"x": x}, [x[i] for i in perm])

    ones = {"scale": random_numbers([768]), "shift": random_numbers([768])}
    norm = helper.make_node("LayerNormalization", ["x", "scale", "shift"], ["y"])
    return [
        unary("Softmax", [8, 512, 1024]),
        unary("Softmax", [512, 1024]),
        plain_kernel("LayerNormalization 8x128x768", [norm], {"x": [8, 128, 768]}, [8, 128, 768], ones),
        unary("Gelu", [8, 512, 1024]),
        unary("Transpose", [8, 512, 1024], perm=[0, 2, 1]),
        unary("Transpose", [1, 64, 56, 56], perm=[0, 2, 3, 1]),
        unary("Transpose", [1, 128, 12, 64], perm=[0, 2, 1, 3]),
        *(attention(12, tokens, 64) for tokens in (128, 512, 1500)),
        *(attention(12, 512, 64, queries) for queries in (1, 4)),
    ]


BLOCK = 32


def weights_model(rows: int, depth: int, columns: int, bits: int) -> Kernel:
    """A product with weights of few bits in blocks of 32, without zero points."""
    generator = np.random.default_rng(0)
    numbers = generator.integers(0, 2**bits, (columns, depth // BLOCK, BLOCK)).astype(np.uint8)
    scales = generator.uniform(0.001, 0.01, (columns, depth // BLOCK)).astype(np.float32)
    packed = numbers if bits == 8 else numbers[..., 0::2] | (numbers[..., 1::2] << 4)
    x = tensor("x", TensorProto.FLOAT, [rows, depth])
    y = tensor("y", TensorProto.FLOAT, [rows, columns])
    node = helper.make_node(
        "MatMulNBits", ["x", "w", "scales"], ["y"], domain="com.microsoft",
        K=depth, N=columns, bits=bits, block_size=BLOCK,
    )  # fmt: skip
    model = make_model([node], [x], y, {"w": packed, "scales": scales})
    # The same for those without MatMulNBits: [depth, columns], centred.
    centred = (numbers.astype(np.int16) - 2 ** (bits - 1)).astype(np.int8).reshape(columns, depth).T
    kind = TensorProto.INT8 if bits == 8 else TensorProto.INT4
    flat = centred.flatten()
    raw = flat if bits == 8 else (flat[0::2] & 15) | ((flat[1::2] & 15) << 4)
    constant = TensorProto(name="w", data_type=kind, dims=centred.shape, raw_data=raw.astype(np.int8).tobytes())
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "scales"], ["w_real"], axis=0, block_size=BLOCK),
        helper.make_node("MatMul", ["x", "w_real"], ["y"]),
    ]
    other = make_model(nodes, [x], y, {"w": constant, "scales": np.ascontiguousarray(scales.T)})
    least = depth * columns * bits / 8 + scales.nbytes + 4.0 * rows * (depth + columns)
    return Kernel(
        f"{rows}x{depth}x{columns}, {bits} bits", f"weights{bits}", "weights", 2.0 * rows * depth * columns, least,
        model, [random_numbers([rows, depth])], {"openvino": other},
    )  # fmt: skip


def weights4(_: str) -> list[Kernel]:
    return [weights_model(rows, 4096, 4096, 4) for rows in (1, 8, 128)]


def weights8(_: str) -> list[Kernel]:
    return [weights_model(rows, 4096, 4096, 8) for rows in (1, 8, 128)]


FAMILIES: dict[str, Callable[[str], list[Kernel]]] = {
    "products": products,
    "resnet50": resnet50,
    "mobilenetv2": mobilenetv2,
    "rows": rows,
    "weights4": weights4,
    "weights8": weights8,
}


def kernels_of(family: str, types: Sequence[str]) -> list[Kernel]:
    if family not in ("products", "resnet50", "mobilenetv2"):
        return FAMILIES[family]("f32")
    return [kernel for precision in types for kernel in FAMILIES[family](precision)]


# Measuring


def measured_peaks(folder: Path) -> dict[str, float]:
    """Of one thread: operations per second by type, and bytes per second."""
    program = folder / "peaks"
    subprocess.run([CLANG, "-O2", Path(__file__).with_name("peaks.c"), "-o", program], check=True)
    result: dict[str, float] = json.loads(subprocess.run([program], capture_output=True, check=True).stdout)
    return result


def roof(kernel: Kernel, peaks: dict[str, float]) -> float:
    """Seconds that one thread needs at least, in the widest type that may compute it."""
    peak = peaks.get("f32" if kernel.precision == "weights" else kernel.precision) or peaks["f32"]
    return max(kernel.operations / peak, kernel.bytes / peaks["bytes"])


def measure(kernel: Kernel, options: argparse.Namespace, peaks: dict[str, float]) -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = {}
        for engine in ("perpend", *options.peers):
            paths[engine] = folder / f"{engine}.onnx"
            onnx.save(kernel.model_for(engine), paths[engine])
        session = onnxruntime.InferenceSession(kernel.model.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_inputs()]
        reference = session.run(None, dict(zip(names, kernel.inputs, strict=True)))
        np.savez(folder / "inputs.npz", *kernel.inputs)
        precision = "bf16" if kernel.precision == "bf16" else "f32"
        library = folder / "kernel.so"
        models.compile_model(paths["perpend"], library, ["--precision", precision])
        paths["perpend"] = library
        rows = []
        for threads in options.threads:
            timings = turns.measure(
                [
                    turns.Candidate(
                        engine, worker.command(engine, paths[engine], folder / "inputs.npz", threads, precision)
                    )
                    for engine in ("perpend", *options.peers)
                ],
                deviation=lambda outputs: turns.largest_deviation(outputs, reference),
                turns=options.turns,
                fill_s=options.fill,
            )
            rows.append(Row(kernel, threads, timings, roof(kernel, peaks) / threads))
    return rows


# Tables


def is_right(row: Row, engine: str) -> bool:
    timing = row.timings.get(engine)
    return bool(timing and not timing.error and timing.excess <= TOLERANCES[row.kernel.precision])


def best_ratio(row: Row, peers: Sequence[str]) -> float | None:
    """The best right peer's time over Perpend's."""
    values = [turns.ratio(row.timings[p], row.timings["perpend"]).value for p in peers if is_right(row, p)]
    return min(values) if values and is_right(row, "perpend") else None


def cell(row: Row, engine: str) -> str:
    timing = row.timings.get(engine)
    if timing is None:
        return "—"
    if timing.error:
        return "fails"
    text = f"{timing.median_s * 1e3:.4g}"
    return text if is_right(row, engine) else f"{text} (wrong: {timing.deviation:.0e})"


def table(rows: list[Row], options: argparse.Namespace) -> list[str]:
    """One of each family and precision."""
    lines = []
    groups = dict.fromkeys((row.kernel.family, row.kernel.precision) for row in rows)
    for family, precision in groups:
        mine = [row for row in rows if (row.kernel.family, row.kernel.precision) == (family, precision)]
        lines += [
            f"## {family}, {precision}" if precision != "weights" else f"## {family}",
            "",
            "| kernel | threads | Perpend | of the roof | " + " | ".join(options.peers) + " | best peer / Perpend |",
            "|---|---|---|---|" + "---|" * (len(options.peers) + 1),
        ]
        for row in mine:
            ours, best = row.timings["perpend"], best_ratio(row, options.peers)
            part = f"{row.roof_s / ours.median_s:.2f}" if not ours.error else "—"
            cells = [row.kernel.name, str(row.threads), cell(row, "perpend"), part]
            cells += [cell(row, peer) for peer in options.peers] + [f"{best:.2f}" if best else "—"]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
        for threads in options.threads:
            values = [v for row in mine if row.threads == threads and (v := best_ratio(row, options.peers))]
            if values:
                lines.append(
                    f"Threads: {threads}. Geometric mean {statistics.geometric_mean(values):.2f}, "
                    f"lowest {min(values):.2f}, of {len(values)} kernels."
                )
        lines.append("")
    return lines


def describe(row: Row) -> dict[str, Any]:
    kernel = row.kernel
    return {
        "kernel": kernel.name,
        "family": kernel.family,
        "precision": kernel.precision,
        "threads": row.threads,
        "operations": kernel.operations,
        "bytes": kernel.bytes,
        "roof_s": row.roof_s,
        "timings": {name: vars(timing) for name, timing in row.timings.items()},
    }


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--families", default=",".join(FAMILIES), help="comma-separated (default: all)")
    parser.add_argument("--types", default="f32,bf16,int8", help="comma-separated, of products and convolutions")
    parser.add_argument("--peers", default="onnxruntime,openvino", help="comma-separated")
    parser.add_argument("--threads", default="1,2", help="comma-separated numbers of threads")
    parser.add_argument("--turns", type=int, default=turns.TURNS, help="of each engine, for each kernel")
    parser.add_argument("--fill", type=float, default=turns.FILL_S, metavar="SECONDS", help="of one turn")
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels whose name has TEXT")
    parser.add_argument("--out", type=Path, default=models.ROOT / "build" / "bench", help="for NAME.json and NAME.md")
    parser.add_argument("--name", default="kernels", help="of the two files")
    options = parser.parse_args()
    for name, known in (("families", FAMILIES), ("types", ("f32", "bf16", "int8")), ("peers", worker.ENGINES)):
        setattr(options, name, getattr(options, name).split(","))
        if wrong := [value for value in getattr(options, name) if value not in known]:
            parser.error(f"--{name}: no '{wrong[0]}'; there are {', '.join(known)}")
    options.threads = [int(number) for number in options.threads.split(",")]
    return options


def main() -> int:
    options = parse_arguments()
    models.require_perpend()
    with tempfile.TemporaryDirectory() as folder:
        peaks = measured_peaks(Path(folder))
    kernels = [kernel for family in options.families for kernel in kernels_of(family, options.types)]
    kernels = [kernel for kernel in kernels if options.only in kernel.name]
    rows: list[Row] = []
    for number, kernel in enumerate(kernels, 1):
        print(
            f"[{number}/{len(kernels)}] {kernel.family} {kernel.precision} {kernel.name}", file=sys.stderr, flush=True
        )
        try:
            rows += measure(kernel, options, peaks)
        except RuntimeError as error:
            print(f"  {error}", file=sys.stderr)
    versions = {name: worker.version(name) for name in options.peers}
    machine = {
        "processor": turns.processor(),
        "peaks": peaks,
        "versions": versions,
        "command": turns.command_line(),
        "date": datetime.date.today().isoformat(),
    }
    heading = [
        "# Single kernels",
        "",
        f"Written by `{machine['command']}`, {machine['date']}.",
        f"Processor: {machine['processor']}. Versions: {', '.join(f'{n} {v}' for n, v in versions.items())}.",
        f"Times in ms, median of the medians of {options.turns} turns of {options.fill:g} s each.",
        f"Peaks of one thread: f32 {peaks['f32'] / 1e9:.0f} GFLOP/s, bf16 {peaks['bf16'] / 1e9:.0f} GFLOP/s, bytes "
        f"{peaks['int8'] / 1e9:.0f} GOP/s, reading memory {peaks['bytes'] / 1e9:.0f} GB/s.",
        "",
    ]
    text = "\n".join([*heading, *table(rows, options)])
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"{options.name}.json").write_text(
        json.dumps({"machine": machine, "rows": [describe(row) for row in rows]}, indent=1) + "\n"
    )
    (options.out / f"{options.name}.md").write_text(text)
    print(text)
    return 0 if len(rows) == len(kernels) * len(options.threads) and all(is_right(r, "perpend") for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
