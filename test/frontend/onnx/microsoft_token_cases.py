"""More models of one com.microsoft operator each: hashes, streams of hidden states, and what old exporters wrote."""

import numpy as np
from microsoft_cases import case, half
from microsoft_fused_cases import CASES
from operator_cases import integers, normal, positive

__all__ = ["CASES"]

# Hashes.
for dtype in [np.int32, np.uint32, np.int64, np.uint64]:
    case("MurmurHash3", [integers(0, 2**31, 3, 5, dtype=dtype)], label=np.dtype(dtype).name)
case("MurmurHash3", [normal(3, 5)], symbols={(0, 0): "n"}, seed=42, positive=0)
case("MurmurHash3", [normal(3, 5).astype(np.float64)], label="f64", seed=2**32 - 1)
case("MurmurHash3", [np.array([-1, -(2**31), 0], np.int32)], label="negative", seed=7, positive=0)


def ngrams(dtype=np.int64, longest=3, heads=2, past=False, offsets=False, end=None, segments=None, ids=None):
    count = (longest - 1) * heads
    ids = integers(0, 9, 2, 7, dtype=dtype) if ids is None else ids
    return [
        ids,
        integers(-(2**40), 2**40, longest).astype(dtype) | 1,
        integers(3, 97, count, dtype=dtype),
        integers(0, 9, 2, longest - 1, dtype=dtype) if past else None,
        integers(0, 1000, count, dtype=dtype) if offsets else None,
        None if end is None else np.array(end, dtype),
        segments,
    ]


SEGMENTS = np.array([[0, 0, 1, 1, 1, 2, 3], [5, 5, 5, 5, 5, 5, 5]], np.int32)
SYMBOLS = {(0, 0): "b", (0, 1): "s"}
for dtype in [np.int32, np.int64]:
    case("NGramHashMapping", ngrams(dtype), 2, symbols=SYMBOLS, max_ngram_size=3, n_head_per_ngram=2, pad_id=4)
case("NGramHashMapping", ngrams(longest=2, heads=1), 2, label="pairs", max_ngram_size=2, n_head_per_ngram=1, pad_id=4)
case(
    "NGramHashMapping",
    ngrams(past=True, offsets=True),
    2,
    label="past",
    symbols={**SYMBOLS, (3, 0): "b"},
    max_ngram_size=3,
    n_head_per_ngram=2,
    pad_id=4,
)
for resets in [0, 1]:
    for segments in [None, SEGMENTS]:
        for past in [False, True]:
            case(
                "NGramHashMapping",
                ngrams(longest=4, past=past, end=3, segments=segments),
                2,
                label=f"{past}-{segments is None}",
                max_ngram_size=4,
                n_head_per_ngram=2,
                pad_id=5,
                reset_on_eos=resets,
            )
case("NGramHashMapping", ngrams(longest=4, segments=SEGMENTS), 2, label="segments", max_ngram_size=4,
     n_head_per_ngram=2, pad_id=5)  # fmt: skip
case("NGramHashMapping", ngrams(ids=np.zeros((2, 0), np.int64), past=True), 2, label="no tokens", max_ngram_size=3,
     n_head_per_ngram=2, pad_id=5)  # fmt: skip

# Streams.
for gates in [(2, 3, 4), (2, 3, 4, 1), (2, 3, 4, 5)]:
    case("HyperConnectionPreMix", [normal(2, 3, 4, 5), normal(*gates)], label=str(gates), reduction_scale=0.5)
    case(
        "HyperConnectionPostMix",
        [normal(2, 3, 4, 5), normal(2, 3, 5), normal(*gates), normal(2, 3, 4, 4)],
        label=str(gates),
        symbols={(0, 0): "b", (1, 0): "b", (2, 0): "b", (3, 0): "b"},
    )
case("HyperConnectionPreMix", [normal(2, 3, 20), normal(2, 3, 20)], label="flat", num_branches=4)
case("HyperConnectionPreMix", [half(normal(2, 3, 20)), half(normal(2, 3, 4))], label="f16", num_branches=4)
case("HyperConnectionPostMix", [normal(2, 3, 20), normal(2, 3, 5), normal(2, 3, 4)], label="flat", num_branches=4)
keys = [normal(2, 3, 4, 5), normal(2, 3, 4, 5), normal(2, 3, 5), normal(4, 5), normal(4, 5)]
case("EngramGate", keys, symbols={(0, 1): "s", (1, 1): "s", (2, 1): "s"})
case("EngramGate", [*keys, positive(4, 5)], 2, epsilon=1e-2)
case("EngramGate", [half(x) for x in [*keys, positive(4, 5)]], 2, label="f16")

# Products and windows.
case("ConvTransposeWithDynamicPads", [normal(1, 3, 5, 4), normal(3, 2, 3, 3), np.array([1, 0, 1, 2]), normal(2)],
     constants=[2], strides=[2, 2])  # fmt: skip

# Sequences.
for rows, columns in [(4, 5), (1, 1), (1, 6), (7, 1), (6, 3)]:
    case("DynamicTimeWarping", [positive(rows, columns)], label=f"{rows}x{columns}", symbols={(0, 0): "m", (0, 1): "n"})
case("DynamicTimeWarping", [np.zeros((3, 4), np.float32)], label="equal")
case("DynamicTimeWarping", [positive(1, 5, 4) - 1], label="rank 3")
# Of words that begin with 0 ONNX Runtime leaves the result as it was.
WORDS = np.array([[1, 2, 3, 0, 0], [3, 0, 0, 0, 0], [1, 2, 0, 3, 4], [5, 4, 3, 2, 1]], np.int32)
case("WordConvEmbedding", [WORDS, normal(4, 1, 2, 3), normal(4), normal(6, 3)], symbols={(0, 0): "w"})


def blocks_of_4_bits(rows, columns, has_zeros):
    """A matrix [rows, columns] of MatMulFpQ4 for blocks of 32 rows."""
    count = -(-rows // 32)
    scales = positive(columns, count)[..., None].view(np.uint8)
    zeros = [integers(0, 16, columns, count, 1, dtype=np.uint8)] if has_zeros else []
    return np.concatenate([scales, *zeros, integers(0, 256, columns, count, 16, dtype=np.uint8)], -1).reshape(-1)


for kind in [0, 1]:
    blob, shape = blocks_of_4_bits(40, 3, kind == 1), np.array([40, 3])
    case("MatMulFpQ4", [normal(2, 40), blob, shape], constants=[1, 2], symbols={(0, 0): "n"}, blk_quant_type=kind)


def attending(directions, read=7, lengths=False, states=False, bias=True, peepholes=False):
    """Inputs of AttnLSTM: 4 steps of 2 sequences, a memory of 6 places."""
    depth, keys, hidden = 3, 5, 4
    width = 3 + (read or depth)
    return [
        normal(4, 2, 3),
        normal(directions, 4 * hidden, width) / 2,
        normal(directions, 4 * hidden, hidden) / 2,
        normal(directions, 8 * hidden) if bias else None,
        np.array([4, 2], np.int32) if lengths else None,
        normal(directions, 2, hidden) if states else None,
        normal(directions, 2, hidden) if states else None,
        normal(directions, 3 * hidden) if peepholes else None,
        normal(directions, hidden, keys),
        normal(directions, depth, keys),
        normal(directions, keys),
        normal(2, 6, depth),
        np.array([6, 3], np.int32) if lengths else None,
        normal(directions, depth + hidden, read) if read else None,
    ]


for name in ["forward", "reverse", "bidirectional"]:
    count = 2 if name == "bidirectional" else 1
    for has_lengths in [False, True]:
        case(
            "AttnLSTM", attending(count, lengths=has_lengths), 3, label=f"{has_lengths}", hidden_size=4, direction=name
        )
case(
    "AttnLSTM",
    attending(1, states=True, peepholes=True),
    3,
    label="states",
    symbols={(0, 0): "s", (11, 1): "m"},
    hidden_size=4,
)
case("AttnLSTM", attending(1, bias=False), 3, label="no bias", hidden_size=4, clip=0.5, input_forget=1)

# Tokens that were predicted ahead.
for number, (least, most) in enumerate([(1, 1), (1, 3), (2, 3), (3, 6), (1, 9)] * 3):
    source = integers(0, 2 + number % 4, 11, dtype=np.int64)
    place = number % 11
    predicted = np.append(source[place:], 1) if number % 3 else integers(0, 3, 12 - place, dtype=np.int64)
    predicted[number % 5 :][:1] += number % 2
    inputs = [source, integers(0, 3, 4, dtype=np.int64), np.array([place]), predicted]
    form = {"label": str(number), "min_ngram_size": least, "max_ngram_size": most}
    case("BifurcationDetector", inputs, 2, symbols={(0, 0): "s", (1, 0): "c", (3, 0): "p"}, **form)
    case("BifurcationDetector", [inputs[0], source[2 : 3 + number % 8], inputs[2]], 2, **form)
case("BifurcationDetector", [np.array([5, 6, 7, 6]), np.array([5, 6]), np.array([0])], 2, label="defaults")
case("BifurcationDetector", [np.zeros(0, np.int64), integers(0, 3, 2, dtype=np.int64), np.array([0]), np.array([2])], 2,
     label="no source", min_ngram_size=1, max_ngram_size=3)  # fmt: skip
