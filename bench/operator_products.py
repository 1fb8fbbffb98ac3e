"""More rows for operators.py: selections, products, windows, matrices, spectra and random numbers of other types and
shapes than in operator_rows.py."""

import torch
import torch.nn.functional as F
from operator_relatives import FLAT
from operator_rows import LOOSE, PLANE, ROWS, add, bf16, f16, f32, f64, i32, i64, node, truth

__all__ = ["ROWS"]

# ----------------------------------------------------------------------------------------------------------------------
# Selection and sorting
# ----------------------------------------------------------------------------------------------------------------------

for operand in (
    f64(16, 50000),
    i32(16, 50000, high=10**9),
    bf16(16, 50000),
    f64(1, 8400),
    i64(64, 256, high=10**12),
    f32(2000, 64),
    f32(20000, 8),
):
    count = 50 if operand.shape[-1] > 64 else 2
    add("selection", f"topk {count}", lambda x, count=count: x.topk(count), operand, compared=(0,))
add("selection", "topk 5 of columns", lambda x: x.topk(5, 0), i64(1000, 256), compared=(0,))
add("selection", "topk 5 of columns", lambda x: x.topk(5, 0), f64(1000, 256), compared=(0,))
add("selection", "topk 20 of channels", lambda x: x.topk(20, 1), f32(1, 100, 64, 64), compared=(0,))
add("selection", "topk 50, sorted", lambda x: (x.cumsum(-1)).topk(50), i64(16, 50000), compared=(0,))
add("selection", "topk 50, smallest", lambda x: x.topk(50, largest=False), f32(16, 50000), compared=(0,))
add("selection", "topk 50, all equal", lambda x: (x * 0).topk(50), i64(16, 50000), compared=(0,))
for operand in (
    f16(64, 10000),
    i64(64, 10000),
    f32(20000, 8),
    f32(2000, 64),
    f32(64, 100),
    i64(1, 1000000, high=10**12),
    truth(64, 10000),
    f64(64, 1000),
    i32(64, 1000, high=10**9),
):
    add("selection", "sort", lambda x: x.sort(stable=True), operand)
add("selection", "sort of columns", lambda x: x.sort(0), i64(1000, 256, high=10**12), **FLAT)
add("selection", "sort of columns", lambda x: x.sort(0), f64(1000, 256), compared=(0,))
add("selection", "sort, descending", lambda x: x.sort(descending=True, stable=True), i64(64, 10000, high=10**12))
for operand in (f64(64, 1000), f32(64, 10000), f32(20000, 8), i32(64, 1000, high=10**9)):
    add("selection", "argsort", lambda x: x.argsort(stable=True), operand)
add("selection", "argsort twice", lambda x: x.argsort(stable=True).argsort(stable=True), f32(64, 1000))
for operand in (f64(64, 1000), i64(64, 1000, high=10**12), f32(20000, 9), bf16(64, 1000)):
    add("selection", "median", lambda x: x.median(-1), operand, compared=(0,))
add("selection", "median of columns", lambda x: x.median(0), f32(1000, 256), compared=(0,))
add("selection", "nanmedian", lambda x: x.nanmedian(-1), f32(64, 1000), compared=(0,))
add("selection", "kthvalue", lambda x: x.kthvalue(100), i64(64, 1000, high=10**12), compared=(0,))
add("selection", "kthvalue", lambda x: x.kthvalue(100), f64(64, 1000), compared=(0,))
add("selection", "quantile", lambda x: x.quantile(0.9, -1), f64(64, 1000))
add("selection", "quantile of columns", lambda x: x.quantile(0.9, 0), f32(1000, 64))
add("selection", "nanquantile", lambda x: x.nanquantile(0.9, -1), f32(64, 1000))
add("selection", "mode", lambda x: x.mode(-1), f64(64, 1000), compared=(0,))
add("selection", "mode", lambda x: x.mode(-1), i32(64, 1000, high=50), compared=(0,))
add("selection", "unique", lambda x: torch.unique(x), f64(100000))
add("selection", "unique", lambda x: torch.unique(x), i32(100000))
add("selection", "unique, all", lambda x: torch.unique(x), i64(100000, high=10**12))
add("selection", "unique of rows", lambda x: torch.unique(x, dim=0), i64(5000, 4, high=10))
add("selection", "unique_consecutive", lambda x: torch.unique_consecutive(x), f32(100000))
add(
    "selection",
    "unique_consecutive, with inverse",
    lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True),
    i64(100000, high=3),
)
add("selection", "isin", lambda x, y: torch.isin(x, y), i64(100000, high=10**6), i64(1000, high=10**6))
add("selection", "isin", lambda x, y: torch.isin(x, y), f32(100000), f32(1000))
add("selection", "bincount, with weights", lambda x, w: torch.bincount(x, w, minlength=1000), i64(100000), f32(100000))
add("selection", "histc", lambda x: torch.histc(x, 100, -3, 3), f64(*PLANE))
add("selection", "argwhere", lambda x: torch.argwhere(x > 1), f32(*PLANE))

# ----------------------------------------------------------------------------------------------------------------------
# Products, convolutions, windows
# ----------------------------------------------------------------------------------------------------------------------

add("products", "matmul", torch.matmul, f64(64, 64), f64(64, 64))
add("products", "matmul", torch.matmul, f64(512, 512), f64(512, 512))
add("products", "matmul", torch.matmul, i64(128, 128), i64(128, 128))
add("products", "matmul", torch.matmul, i32(256, 256), i32(256, 256))
add("products", "matmul", torch.matmul, f16(384, 384), f16(384, 384), tolerance=2e-2)
add("products", "matmul", torch.matmul, f32(64, 64), f32(64, 64), node=node("MatMul"))
add("products", "matmul", torch.matmul, f32(1000, 17), f32(17, 33), node=node("MatMul"))
add("products", "bmm", torch.bmm, f32(1000, 4, 4), f32(1000, 4, 4), node=node("MatMul"))
add("products", "bmm", torch.bmm, f32(64, 32, 32), f32(64, 32, 32), node=node("MatMul"))
add("products", "bmm, one row", torch.bmm, f32(64, 1, 128), f32(64, 128, 256), node=node("MatMul"))
add("products", "bmm", torch.bmm, f64(64, 32, 32), f64(64, 32, 32))
add("products", "bmm", torch.bmm, bf16(12, 128, 64), bf16(12, 64, 128))
add("products", "matrix by vector", torch.mv, f64(1000, 1000), f64(1000))
add("products", "vector by matrix", lambda x, y: x @ y, f32(1000), f32(1000, 1000))
add("products", "dot", torch.dot, f32(500000), f32(500000))
add("products", "addmm", torch.addmm, f32(512), f32(128, 512), f32(512, 512))
add("products", "linear", F.linear, f32(1, 768), weights=[f32(3072, 768), f32(3072)], node=node("Gemm", transB=1))
add("products", "linear", F.linear, f64(128, 256), weights=[f64(256, 256), f64(256)])
add("products", "bilinear", F.bilinear, f32(128, 32), f32(128, 32), f32(16, 32, 32))
add("products", "cdist, p=1", lambda x, y: torch.cdist(x, y, p=1), f32(256, 64), f32(256, 64))
add("products", "pdist", lambda x: torch.pdist(x), f32(200, 64))
add("products", "tensordot", lambda x, y: torch.tensordot(x, y, 2), f32(64, 16, 32), f32(16, 32, 64))
add(
    "products",
    "einsum of three",
    lambda x, y, z: torch.einsum("ij,jk,kl->il", x, y, z),
    f32(128, 128),
    f32(128, 128),
    f32(128, 128),
)
add("products", "attention", F.scaled_dot_product_attention, *[f16(1, 12, 256, 64)] * 3)
add("products", "attention", F.scaled_dot_product_attention, *[f64(1, 4, 128, 64)] * 3)
add(
    "products",
    "attention, causal",
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    *[bf16(1, 12, 256, 64)] * 3,
)
add("products", "attention", F.scaled_dot_product_attention, *[bf16(1, 8, 1024, 64)] * 3)
add("products", "attention", F.scaled_dot_product_attention, *[f32(64, 4, 49, 32)] * 3)
add("products", "conv2d 3x3", lambda x, w: F.conv2d(x, w, padding=1), f64(1, 16, 56, 56), weights=[f64(16, 16, 3, 3)])
add("products", "conv2d 3x3", lambda x, w: F.conv2d(x, w, padding=1), bf16(1, 64, 56, 56), weights=[bf16(64, 64, 3, 3)])
add(
    "products",
    "conv2d 3x3 /2",
    lambda x, w: F.conv2d(x, w, padding=1, stride=2),
    f32(1, 64, 56, 56),
    weights=[f32(128, 64, 3, 3)],
    node=node("Conv", pads=[1] * 4, strides=[2, 2]),
)
add(
    "products",
    "conv2d 3x3, dilated",
    lambda x, w: F.conv2d(x, w, padding=2, dilation=2),
    f32(1, 64, 28, 28),
    weights=[f32(64, 64, 3, 3)],
    node=node("Conv", pads=[2] * 4, dilations=[2, 2]),
)
add(
    "products",
    "conv2d, grouped",
    lambda x, w: F.conv2d(x, w, padding=1, groups=8),
    f32(1, 64, 56, 56),
    weights=[f32(64, 8, 3, 3)],
    node=node("Conv", pads=[1] * 4, group=8),
)
add(
    "products",
    "conv2d, depthwise 5x5",
    lambda x, w: F.conv2d(x, w, padding=2, groups=128),
    f32(1, 128, 28, 28),
    weights=[f32(128, 1, 5, 5)],
    node=node("Conv", pads=[2] * 4, group=128),
)
add(
    "products",
    "conv2d, depthwise /2",
    lambda x, w: F.conv2d(x, w, padding=1, stride=2, groups=96),
    f32(1, 96, 112, 112),
    weights=[f32(96, 1, 3, 3)],
    node=node("Conv", pads=[1] * 4, strides=[2, 2], group=96),
)
add(
    "products",
    "conv2d, depthwise 7x7",
    lambda x, w: F.conv2d(x, w, padding=3, groups=96),
    f32(1, 96, 56, 56),
    weights=[f32(96, 1, 7, 7)],
    node=node("Conv", pads=[3] * 4, group=96),
)
add(
    "products",
    "conv2d of patches",
    lambda x, w: F.conv2d(x, w, stride=16),
    f32(1, 3, 224, 224),
    weights=[f32(192, 3, 16, 16)],
    node=node("Conv", strides=[16, 16]),
)
add(
    "products",
    "conv2d, one channel",
    lambda x, w: F.conv2d(x, w, padding=1),
    f32(1, 1, 256, 256),
    weights=[f32(8, 1, 3, 3)],
    node=node("Conv", pads=[1] * 4),
)
add(
    "products",
    "conv1d, depthwise",
    lambda x, w: F.conv1d(x, w, padding=15, groups=256),
    f32(1, 256, 400),
    weights=[f32(256, 1, 31)],
    node=node("Conv", pads=[15, 15], group=256),
)
add(
    "products",
    "conv1d of a wave",
    lambda x, w: F.conv1d(x, w, stride=5),
    f32(1, 1, 16000),
    weights=[f32(512, 1, 10)],
    node=node("Conv", strides=[5]),
)
add(
    "products", "conv1d 1", lambda x, w: F.conv1d(x, w), f32(4, 128, 500), weights=[f32(128, 128, 1)], node=node("Conv")
)
add(
    "products",
    "conv3d /2",
    lambda x, w: F.conv3d(x, w, stride=2, padding=1),
    f32(1, 8, 16, 56, 56),
    weights=[f32(16, 8, 3, 3, 3)],
    node=node("Conv", pads=[1] * 6, strides=[2] * 3),
)
add(
    "products",
    "conv_transpose1d",
    lambda x, w: F.conv_transpose1d(x, w, stride=4, padding=2),
    f32(1, 128, 250),
    weights=[f32(128, 64, 8)],
    node=node("ConvTranspose", strides=[4], pads=[2, 2]),
)
add(
    "products",
    "conv_transpose3d",
    lambda x, w: F.conv_transpose3d(x, w, stride=2),
    f32(1, 16, 8, 16, 16),
    weights=[f32(16, 8, 2, 2, 2)],
    node=node("ConvTranspose", strides=[2] * 3),
)
add(
    "products",
    "conv_transpose2d 3x3",
    lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
    f32(1, 64, 32, 32),
    weights=[f32(64, 32, 3, 3)],
    node=node("ConvTranspose", strides=[2, 2], pads=[1] * 4, output_padding=[1, 1]),
)
add(
    "products",
    "conv2d 3x3, weights given",
    lambda x, w: F.conv2d(x, w, padding=1),
    f32(1, 64, 28, 28),
    f32(64, 64, 3, 3),
    node=node("Conv", pads=[1] * 4),
)
add(
    "windows",
    "max_pool1d",
    lambda x: F.max_pool1d(x, 3, 2, 1),
    f32(8, 64, 1000),
    node=node("MaxPool", kernel_shape=[3], strides=[2], pads=[1, 1]),
)
add(
    "windows",
    "max_pool3d",
    lambda x: F.max_pool3d(x, 2),
    f32(1, 16, 16, 56, 56),
    node=node("MaxPool", kernel_shape=[2] * 3, strides=[2] * 3),
)
add(
    "windows",
    "max_pool2d 5x5 /1",
    lambda x: F.max_pool2d(x, 5, 1, 2),
    f32(1, 128, 20, 20),
    node=node("MaxPool", kernel_shape=[5, 5], pads=[2] * 4),
)
add("windows", "max_pool2d", lambda x: F.max_pool2d(x, 2), bf16(1, 64, 112, 112))
add("windows", "max_pool2d", lambda x: F.max_pool2d(x, 2), f64(1, 32, 112, 112))
add(
    "windows",
    "avg_pool1d",
    lambda x: F.avg_pool1d(x, 4),
    f32(8, 64, 1000),
    node=node("AveragePool", kernel_shape=[4], strides=[4]),
)
add(
    "windows",
    "avg_pool3d",
    lambda x: F.avg_pool3d(x, 2),
    f32(1, 16, 16, 56, 56),
    node=node("AveragePool", kernel_shape=[2] * 3, strides=[2] * 3),
)
add(
    "windows",
    "avg_pool2d 3x3",
    lambda x: F.avg_pool2d(x, 3, 1, 1),
    f32(1, 64, 56, 56),
    node=node("AveragePool", kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=1),
)
add(
    "windows",
    "avg_pool2d of all",
    lambda x: F.avg_pool2d(x, 7),
    f32(8, 512, 7, 7),
    node=node("AveragePool", kernel_shape=[7, 7]),
)
add("windows", "adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, 7), f32(1, 256, 30, 30))
add("windows", "adaptive_avg_pool2d of all", lambda x: F.adaptive_avg_pool2d(x, 1), f32(8, 512, 7, 7))
add("windows", "adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, 100), f32(8, 64, 1030))
add("windows", "adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, 4), f32(1, 64, 9, 30, 30))
add("windows", "lp_pool2d", lambda x: F.lp_pool2d(x, 2, 2), f32(1, 64, 56, 56))
add(
    "windows",
    "max_unpool2d",
    lambda x, i: F.max_unpool2d(x, i, 2),
    f32(1, 64, 28, 28),
    i64(1, 64, 28, 28, high=3136),
    **FLAT,
)
for mode, shape, more in [
    ("linear", (4, 64, 1000), {}),
    ("trilinear", (1, 16, 8, 28, 28), {}),
    ("nearest-exact", (1, 64, 64, 64), {}),
    ("area", (1, 64, 64, 64), {}),
    ("bilinear", (1, 64, 64, 64), {"align_corners": True}),
]:
    add(
        "windows",
        f"interpolate, {mode}{', corners' if more else ''}",
        lambda x, mode=mode, more=more: F.interpolate(x, scale_factor=2, mode=mode, **more),
        f32(*shape),
    )
for mode in ("bilinear", "nearest", "bicubic", "area"):
    add(
        "windows",
        f"interpolate to a third, {mode}",
        lambda x, mode=mode: F.interpolate(x, (75, 75), mode=mode),
        f32(1, 16, 224, 224),
    )
add(
    "windows",
    "interpolate, bicubic, smooth",
    lambda x: F.interpolate(x, (224, 224), mode="bicubic", antialias=True),
    f32(1, 3, 480, 640),
)
add("windows", "interpolate, bilinear", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), f64(1, 16, 64, 64))
add(
    "windows", "interpolate, bilinear", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), bf16(1, 64, 64, 64)
)
add("windows", "interpolate, bilinear", lambda x: F.interpolate(x, (480, 640), mode="bilinear"), f32(1, 3, 128, 128))
for mode, padding in [("nearest", "zeros"), ("bicubic", "zeros"), ("bilinear", "border"), ("bilinear", "reflection")]:
    add(
        "windows",
        f"grid_sample, {mode}, {padding}",
        lambda x, g, mode=mode, padding=padding: F.grid_sample(x, g, mode, padding, align_corners=False),
        f32(1, 32, 64, 64),
        f32(1, 64, 64, 2, kind="inside"),
    )
add(
    "windows",
    "grid_sample",
    lambda x, g: F.grid_sample(x, g, align_corners=False),
    f32(1, 8, 16, 32, 32),
    f32(1, 16, 32, 32, 3, kind="inside"),
)
add("windows", "affine_grid", lambda t: F.affine_grid(t, [8, 3, 224, 224], align_corners=False), f32(8, 2, 3))

# ----------------------------------------------------------------------------------------------------------------------
# Matrices, spectra, random numbers
# ----------------------------------------------------------------------------------------------------------------------

add("matrices", "cholesky", torch.linalg.cholesky, f64(8, 128, 128, kind="definite"))
add("matrices", "cholesky", torch.linalg.cholesky, f32(1000, 8, 8, kind="definite"), **LOOSE)
add(
    "matrices",
    "cholesky_solve",
    lambda b, a: torch.cholesky_solve(b, a),
    f32(8, 128, 4),
    f32(8, 128, 128, kind="lower"),
    **LOOSE,
)
add("matrices", "solve", torch.linalg.solve, f64(256, 256, kind="definite"), f64(256, 1))
add("matrices", "solve", torch.linalg.solve, f64(32, 64, 64, kind="definite"), f64(32, 64, 16))
add(
    "matrices",
    "solve_triangular",
    lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
    f64(4, 128, 128, kind="lower"),
    f64(4, 128, 16),
)
add("matrices", "determinant", torch.linalg.det, f64(32, 64, 64, kind="definite"))
add("matrices", "determinant", torch.linalg.det, f32(10000, 3, 3, kind="definite"), **LOOSE)
add("matrices", "slogdet", torch.linalg.slogdet, f32(32, 64, 64, kind="definite"), **LOOSE)
add("matrices", "lu_factor", torch.linalg.lu_factor, f32(8, 128, 128, kind="definite"), **LOOSE)
add("matrices", "pinv", torch.linalg.pinv, f32(8, 64, 32), **LOOSE)
add("matrices", "matrix_power", lambda a: torch.linalg.matrix_power(a, 5), f32(8, 64, 64, kind="definite"), **LOOSE)
for operand in (f64(4, 128, 64), f32(1, 256, 256), f32(100, 16, 8)):
    add("matrices", "qr", torch.linalg.qr, operand, compared=(), **LOOSE)
for operand in (f64(4, 64, 64, kind="definite"), f32(1, 200, 200, kind="definite"), f32(1000, 3, 3, kind="definite")):
    add("matrices", "eigh", torch.linalg.eigh, operand, compared=(0,), **LOOSE)
    add("matrices", "eigvalsh", torch.linalg.eigvalsh, operand, **LOOSE)
for operand in (f64(4, 64, 64), f32(1, 128, 128), f32(8, 100, 20)):
    add("matrices", "svd", lambda x: torch.linalg.svd(x, full_matrices=False), operand, compared=(1,), **LOOSE)
    add("matrices", "svdvals", torch.linalg.svdvals, operand, **LOOSE)
add("matrices", "matrix_rank", torch.linalg.matrix_rank, f32(4, 64, 64))
add("matrices", "norm 2", lambda x: torch.linalg.matrix_norm(x, 2), f32(4, 64, 64), **LOOSE)


def pairs(x: torch.Tensor) -> torch.Tensor:
    return torch.view_as_complex(x)


def parts(x: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(x)


for operand in (
    f32(256, 256),
    f32(64, 2048),
    f32(64, 1000),
    f32(64, 1536),
    f32(1, 65536),
    f32(1000, 16),
    f32(16, 5000),
):
    add("spectra", "rfft", lambda x: parts(torch.fft.rfft(x)), operand)
for operand in (
    f32(128, 1024, 2),
    f32(256, 256, 2),
    f32(64, 1000, 2),
    f32(1, 65536, 2),
    f64(64, 1024, 2),
    f32(64, 997, 2),
    f32(16, 8192, 2),
):
    add("spectra", "fft of complex numbers", lambda x: parts(torch.fft.fft(pairs(x))), operand)
    add("spectra", "ifft", lambda x: parts(torch.fft.ifft(pairs(x))), operand)
add("spectra", "rfft", lambda x: parts(torch.fft.rfft(x)), f64(128, 1024))
add("spectra", "irfft", lambda x: torch.fft.irfft(pairs(x)), f32(256, 201, 2))
add("spectra", "irfft", lambda x: torch.fft.irfft(pairs(x)), f64(128, 513, 2))
add("spectra", "irfft2", lambda x: torch.fft.irfft2(pairs(x)), f32(4, 256, 129, 2))
add("spectra", "fft2", lambda x: parts(torch.fft.fft2(pairs(x))), f32(3, 224, 224, 2))
add("spectra", "rfft2", lambda x: parts(torch.fft.rfft2(x)), f32(64, 14, 14))
add("spectra", "rfft2", lambda x: parts(torch.fft.rfft2(x)), f32(1, 512, 512))
add("spectra", "fftn", lambda x: parts(torch.fft.fftn(x)), f32(2, 32, 32, 32))
add("spectra", "fft of columns", lambda x: parts(torch.fft.fft(x, dim=0)), f32(1024, 128))
add("spectra", "fftshift", lambda x: torch.fft.fftshift(x), f32(*PLANE))
add(
    "spectra",
    "stft",
    lambda x: parts(torch.stft(x, 400, 160, window=torch.hann_window(400), return_complex=True)),
    f32(1, 80000),
)
add(
    "spectra",
    "istft",
    lambda x: torch.istft(pairs(x), 512, 128, window=torch.hann_window(512)),
    f32(2, 257, 376, 2),
    **FLAT,
)
add("random", "rand_like", torch.rand_like, f64(*PLANE), **FLAT)
add("random", "randn_like", torch.randn_like, f64(*PLANE), **FLAT)
add("random", "randint_like", lambda x: torch.randint_like(x, 0, 1000), i64(*PLANE), **FLAT)
add("random", "normal", lambda x: torch.normal(x, 2.0), f32(*PLANE), **FLAT)
add("random", "exponential", lambda x: torch.empty_like(x).exponential_(), f32(*PLANE), **FLAT)
add("random", "dropout", lambda x: F.dropout(x, 0.3), f32(*PLANE), **FLAT)
add("random", "randperm", lambda x: torch.randperm(1000), f32(1), **FLAT)
add("random", "poisson", torch.poisson, f32(512, 128, kind="positive"), **FLAT)
