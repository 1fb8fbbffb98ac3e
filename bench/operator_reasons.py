"""Why rows of operators.py are slow: what the peer does that Perpend does not. The page shows the reason of a row above
its limit."""

REASONS: dict[tuple[str, str], str] = {}


def explain(reason: str, family: str, *keys: str) -> None:
    for key in keys:
        REASONS[family, key] = reason


explain(
    "PyTorch calls MKL's vector functions; ours evaluate every branch: 60 to 95 operations per vector (decision 0054)",
    "elementwise",
    "erfc, f32 512x1024",
    "erfinv, f32 512x1024",
    "erfc, f64 512x1024",
    "erfinv, f64 512x1024",
)
explain(
    "reduced arguments keep what they round off; PyTorch calls MKL's vector functions",
    "elementwise",
    "tan, f32 512x1024",
    "tan, f64 512x1024",
    "cos, f64 512x1024",
    "log10, f64 512x1024",
)
explain(
    "all numbers take as many steps of Euclid's algorithm as the slowest one; PyTorch ends each by itself",
    "elementwise",
    "gcd, i64 512x1024, i64 512x1024",
    "gcd, i32 512x1024, i32 512x1024",
)
explain(
    "the extremum and its position are two passes over the elements; PyTorch's is one",
    "reductions",
    "max with position, i64 512x1024",
)
explain(
    "four kernels move the tensor six times; PyTorch's one keeps a part of the columns in the cache",
    "rows",
    "softmax of channels, f32 8x21x64x64",
    "log_softmax of channels, f32 8x21x64x64",
    "softmax of channels, bf16 8x21x64x64",
)
explain(
    "keys of all columns are made first; ONNX Runtime keeps a heap of 5 per column (0.35 ms)",
    "selection",
    "topk 5 of columns, f32 1000x256",
    "topk 5 of columns, f64 1000x256",
)
explain(
    "keys of 8 bytes are written and read again: 6.4 MB; ONNX Runtime keeps a heap of 50 per row",
    "selection",
    "topk 50, i64 16x50000",
)
explain(
    "the rank is found by counting bytes: the same time for all orders, of which PyTorch's quickselect depends",
    "selection",
    "median of all, i64 100000",
    "median of all, f32 512x1024",
    "median, f64 64x1000",
    "median, i64 64x1000",
)
explain(
    "the weights of the softmax stay f32, and so does their product with the values; PyTorch rounds them to bf16",
    "products",
    "attention, bf16 1x12x256x64, bf16 1x12x256x64, bf16 1x12x256x64",
    "attention, causal, bf16 1x12x256x64, bf16 1x12x256x64, bf16 1x12x256x64",
    "attention, bf16 1x8x1024x64, bf16 1x8x1024x64, bf16 1x8x1024x64",
)
explain(
    "computed with channels last: transposes take 20 to 65 % here, and are none between the layers of a model",
    "products",
    "conv2d, depthwise, f32 1x128x56x56, f32 128x1x3x3",
    "conv2d, depthwise /2, f32 1x96x112x112, f32 96x1x3x3",
    "conv2d, depthwise 5x5, f32 1x128x28x28, f32 128x1x5x5",
    "conv2d 1x1, f32 1x128x28x28, f32 256x128x1x1",
    "conv1d 1, f32 4x128x500, f32 128x128x1",
    "conv1d of a wave, f32 1x1x16000, f32 512x1x10",
)
explain(
    "reflections one after the other, in f64; LAPACK's are blocks, and f32 for f32 (decision 0057)",
    "matrices",
    "qr, f32 4x128x64",
    "qr, f32 1x256x256",
    "eigvalsh, f32 4x64x64",
    "eigvalsh, f64 4x64x64",
    "eigh, f32 1x200x200",
    "eigvalsh, f32 1x200x200",
    "svdvals, f32 4x64x64",
    "svdvals, f64 4x64x64",
    "svdvals, f32 1x128x128",
    "svdvals, f32 8x100x20",
    "svd, f32 1x128x128",
    "matrix_rank, f32 4x64x64",
    "norm 2, f32 4x64x64",
)
explain(
    "PyTorch calls MKL, whose plans make fewer passes over a line",
    "spectra",
    "rfft, f32 256x400",
    "rfft of a prime, f32 64x1009",
    "rfft2, f32 4x256x256",
    "rfft, f32 256x256",
    "ifft, f32 128x1024x2",
    "fft of complex numbers, f32 64x1000x2",
    "ifft, f64 64x1024x2",
    "fft of complex numbers, f32 64x997x2",
    "ifft, f32 64x997x2",
    "irfft, f32 256x201x2",
    "irfft, f64 128x513x2",
    "fft2, f32 3x224x224x2",
)
explain(
    "14 = 2 x 7 numbers fill no vector; PyTorch calls MKL",
    "spectra",
    "rfft2, f32 64x14x14",
)
explain(
    "a sort of random keys; PyTorch exchanges elements in one loop",
    "random",
    "randperm, f32 1",
)
explain(
    "at most 1.3 units in the last place; ONNX Runtime's is up to 4.7 off",
    "elementwise",
    "tanh, f32 512x1024",
)
explain(
    "at most 2.1 units in the last place; ONNX Runtime's, of normal numbers times 3, is up to a million off",
    "elementwise",
    "sigmoid, f32 512x1024",
)
explain(
    "each of log2(n) passes takes an exponential and a logarithm of each element; PyTorch's loop one of each",
    "reductions",
    "logcumsumexp, f32 512x1024",
    "logcumsumexp, f64 512x1024",
)
explain(
    "rows 4 KiB apart share few sets of the first cache: 1000 x 1021 elements take half the time",
    "movement",
    "rot90, f32 1024x1024",
)
explain(
    "a kernel marks where groups begin (53 us), a function lists the positions, a kernel reads them (45 us)",
    "selection",
    "unique_consecutive, f32 100000",
)
explain(
    "one matrix after the other, with row exchanges, 75 ns each",
    "matrices",
    "determinant, f32 10000x3x3",
)
explain(
    "56 instructions per vector, 18 of them constants that find no register, and a chain of some 25; "
    "ONNX Runtime interleaves four vectors",
    "elementwise",
    "erf, f32 512x1024",
)
explain(
    "to be measured again without load: another run took 0.105 ms, 47 GB/s",
    "elementwise",
    "to bool, i64 512x1024",
)
explain(
    "60 % are exponentials of 35 instructions per vector with spills and range checks; ONNX Runtime's take about 16, "
    "and add up in the same pass",
    "rows",
    "softmax, f32 512x1024",
    "log_softmax, f32 16x50257",
)
explain(
    "squares add up in one accumulator that is reduced every 32 elements, 45 % of the time; scaling and rounding to "
    "bf16 take 33 %",
    "rows",
    "group_norm, bf16 4x128x32x32, bf16 128, bf16 128",
)
explain(
    "17 dependent steps for 4 numbers at a time without gathers: 112 of 310 instructions move positions and elements "
    "between registers",
    "movement",
    "searchsorted, f32 4x100000, f32 4x10000",
)
explain(
    "keys with positions, 16 bytes each, move once for each byte that differs: half of the time; then elements are "
    "read at sorted positions to compare neighbours",
    "selection",
    "unique, all, i64 100000",
    "unique, with inverse, i64 100000",
)
explain(
    "a bound from 16 samples keeps some 176 of a row's 256 keys, which are sorted by bytes: 8 tables of 256 counts for "
    "each row",
    "selection",
    "topk 50, i64 64x256",
)
explain(
    "a sorting network with loops that are not unrolled, 150 ns for each row of 9; to be measured again without load: "
    "another run took 2.7 ms",
    "selection",
    "median, f32 20000x9",
)
explain(
    "blocks of 8 columns: 40 are computed for 33, and a call of memcpy moves the last one of each row",
    "products",
    "matmul, f32 1000x17, f32 17x33",
)
explain(
    "four convolutions, one for each parity (58 %); pads, transposes and interleaving are the rest",
    "products",
    "conv_transpose2d 3x3, f32 1x64x32x32, f32 64x32x3x3",
)
explain(
    "a padded copy is made first, a third of the time",
    "windows",
    "max_pool2d, f32 1x64x112x112",
)
explain(
    "to be measured again without load: other runs took 0.037 to 0.049 ms",
    "reductions",
    "cummax of one line, f64 60000",
)
explain(
    "computed in f64, and the series of all ranges for every element",
    "elementwise",
    "i1e, f32 512x1024",
    "bessel_j0, f32 512x1024",
)
explain(
    "computed in f64, and all elements take as many terms as the slowest",
    "elementwise",
    "igamma, f32 100x200, f32 100x200",
)
explain(
    "running sums lie in memory: a store and a load between two additions",
    "reductions",
    "cumsum of few columns, f32 100000x3",
)
explain(
    "29 elements are three whole vectors and one of 4, and a last one by itself: six exponentials in place of four",
    "rows",
    "log_softmax, f32 4000x29",
)
explain(
    "rows are added to bags that lie in memory; PyTorch adds a bag's rows in registers",
    "movement",
    "embedding_bag, sums from given offsets, i64 20000, f32 10000x64, i64 2000",
)
explain(
    "keys are sorted, where 256 values, or two, could be counted",
    "selection",
    "unique, with counts, u8 300x900",
    "unique, bool 100000",
)
explain(
    "rounded once, to nearest; PyTorch rounds to f32 first, and 7 of these elements are not the nearest",
    "elementwise",
    "to bf16, f64 512x1024",
)
