"""Decoders with a cache: what they compute for a text given in pieces is what they compute for the whole."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
import torch
from cli.tool import DIGITS, reject, succeed
from frontend.checkpoint.tiny_models import (
    CASES,
    DEPEND_ON_LENGTH,
    agree,
    generates_as_transformers,
    logits,
    make,
    prompt,
    save,
)
from language_checkpoints import write_checkpoint
from numpy.typing import NDArray
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask

TEXT = prompt(100)
PIECES = [7, *[1] * 33, 25, 16, 17, 2]  # 100 tokens


def in_pieces(model: perpend.Model, tokens: NDArray[np.int64], sizes: list[int]) -> dict[int, NDArray[np.float32]]:
    """By the number of tokens so far, the logits of the last of them."""
    model.reset()
    results, first = {}, 0
    for size in sizes:
        results[first + size] = model(tokens[first : first + size])
        first += size
    return results


@pytest.mark.parametrize("name", CASES)
def test_pieces(name: str, tmp_path: Path) -> None:
    model = make(CASES[name])
    compiled = perpend.compile(save(model, tmp_path), cache=100)
    expected = logits(model, TEXT)[0]
    got = in_pieces(compiled, TEXT[0], PIECES)
    counts = [100] if name in DEPEND_ON_LENGTH else list(got)
    agree(np.stack([got[count] for count in counts]), expected[[count - 1 for count in counts]])

    def continued(text: NDArray[np.int64]) -> NDArray[np.float32]:
        if len(text) == 7:
            compiled.reset()
        result: NDArray[np.float32] = compiled(text if len(text) == 7 else text[-1:])
        return result

    if name not in DEPEND_ON_LENGTH:
        generates_as_transformers(model, continued)


BITS = [
    "llama",
    "llama-tied",
    "gemma2",
    "gpt2",
    "qwen3",
    "phi3-partial",
    "mixtral",
    "mistral",
    "deepseek2-groups",
    "deepseek3",
]


@pytest.mark.parametrize("name", BITS)
def test_bits_do_not_depend_on_pieces(name: str, tmp_path: Path) -> None:
    path = save(make(CASES[name]), tmp_path)
    whole = perpend.compile(path, batch_invariant=True)(TEXT)[0]
    chunks = perpend.compile(path, cache=128, batch_invariant=True)
    single = perpend.compile(path, cache=128, dims={"n": 1}, batch_invariant=True)
    for sizes in ([1] * 100, PIECES, [100], [33, 67], [64, 36]):
        for model in (chunks, single) if set(sizes) == {1} else (chunks,):
            for count, result in in_pieces(model, TEXT[0], sizes).items():
                np.testing.assert_array_equal(result, whole[count - 1], err_msg=f"{count} tokens of {sizes}")


# How many tokens each of the texts is given, call by call.
STEPS = [[7, 1, 0, 30], [1, 1, 1, 1], [1, 0, 12, 1], [0, 0, 0, 5], [1, 1, 1, 1], [40, 33, 2, 1]]


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2", "qwen3", "mixtral", "deepseek3"])
def test_texts_together(name: str, tmp_path: Path) -> None:
    """Each of several texts, of any lengths, gets the bits that it gets alone."""
    path = save(make(CASES[name]), tmp_path)
    texts = [np.roll(TEXT[0], shift) for shift in range(4)]
    together = perpend.compile(path, cache=100, texts=4, batch_invariant=True)
    alone = perpend.compile(path, cache=100, batch_invariant=True)
    lengths = [0] * 4
    for counts in STEPS:
        rows = together(*(text[at : at + n] for text, at, n in zip(texts, lengths, counts, strict=True)))
        lengths = [at + n for at, n in zip(lengths, counts, strict=True)]
        for row, text, length, count in zip(rows, texts, lengths, counts, strict=True):
            alone.reset()
            expected = alone(text[:length]) if count else np.full_like(row, np.nan)
            np.testing.assert_array_equal(row, expected, err_msg=f"{length} tokens")


def test_eight_texts_of_one_token_each(tmp_path: Path) -> None:
    path = save(make(CASES["llama"]), tmp_path)
    options: dict[str, Any] = {"cache": 64, "batch_invariant": True, "cache_type": "f16"}
    together = perpend.compile(path, texts=8, **options)
    steps = perpend.compile(path, texts=8, dims={"n": 1}, **options)
    starts = [TEXT[0, : 3 + 5 * text] for text in range(8)]
    together(*starts)
    steps.load_states(together.save_states())
    rows = steps(*(TEXT[0, 60 + text : 61 + text] for text in range(8)))
    alone = perpend.compile(path, **options)
    for text, start in enumerate(starts):
        alone.reset()
        np.testing.assert_array_equal(rows[text], alone(np.append(start, TEXT[0, 60 + text])))


def test_mistakes_with_texts(tmp_path: Path) -> None:
    path = save(make(CASES["llama"]), tmp_path)
    together = perpend.compile(path, cache=8, texts=2)
    with pytest.raises(ValueError, match="at least 1 token"):
        together(TEXT[0, :0], TEXT[0, :0])
    together(TEXT[0, :6], TEXT[0, :1])
    with pytest.raises(ValueError, match=r"'keys.0.0' needs length0 \+ n0 <= 8, got 9"):
        together(TEXT[0, :3], TEXT[0, :1])
    with pytest.raises(perpend.CompileError, match=r"the number of texts: expected 1 to 64, got 65"):
        perpend.compile(path, cache=8, texts=65)
    with pytest.raises(perpend.CompileError, match="texts: only for a checkpoint with a cache"):
        perpend.compile(path, texts=2)
    assert "several texts, without a cache" in reject("inspect", str(path), "--texts", 2, folder=tmp_path)


def in_bytes(x: torch.Tensor) -> torch.Tensor:
    """Integers up to 127 for each token and head, times their scale."""
    scales = x.abs().amax(-1, keepdim=True)
    return (x * (127 / scales)).round() * (scales * np.float32(1 / 127))


NARROW: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "f16": lambda x: x.to(torch.float16).float(),
    "bf16": lambda x: x.to(torch.bfloat16).float(),
    "int8": in_bytes,
}


@pytest.mark.parametrize("type_name", NARROW)
@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2", "qwen3", "deepseek3"])
def test_bits_of_narrow_caches(name: str, type_name: str, tmp_path: Path) -> None:
    """Tokens of the same run read rounded keys and values, too."""
    path = save(make(CASES[name]), tmp_path)
    options: dict[str, Any] = {"cache": 128, "cache_type": type_name, "batch_invariant": True}
    chunks, single = perpend.compile(path, **options), perpend.compile(path, dims={"n": 1}, **options)
    expected = in_pieces(single, TEXT[0], [1] * 100)
    for sizes in ([1] * 100, PIECES, [100], [33, 67], [64, 36]):
        for count, result in in_pieces(chunks, TEXT[0], sizes).items():
            np.testing.assert_array_equal(result, expected[count], err_msg=f"{count} tokens of {sizes}")


def logits_of_rounded(model: Any, tokens: NDArray[np.int64], type_name: str) -> NDArray[np.float32]:
    """What transformers computes with keys and values that are rounded where the cache has them."""

    def attention(module: Any, query: Any, key: Any, value: Any, mask: Any, **rest: Any) -> Any:
        key, value = (NARROW[type_name](x) for x in (key, value))
        return sys.modules[type(module).__module__].eager_attention_forward(module, query, key, value, mask, **rest)

    latent = [module for module in model.modules() if hasattr(module, "expand_kv")]
    for module in latent:  # a cache has what these functions take
        module.expand_kv = lambda *rows, expand=module.expand_kv: expand(*map(NARROW[type_name], rows))
    if latent:
        return logits(model, tokens)
    AttentionInterface.register("rounded", attention)
    AttentionMaskInterface.register("rounded", eager_mask)
    model.set_attn_implementation("rounded")
    return logits(model, tokens)


@pytest.mark.parametrize("type_name", NARROW)
@pytest.mark.parametrize("name", ["llama-tied", "gemma2", "gpt2", "mixtral", "deepseek3"])
def test_numbers_are_rounded_once(name: str, type_name: str, tmp_path: Path) -> None:
    """Numbers halfway between two may be rounded to another one, so this compares with the distance to f32."""
    model = make(CASES[name])
    path = save(model, tmp_path)
    exact, rounded = logits(model, TEXT)[0], logits_of_rounded(model, TEXT, type_name)[0]
    for dims, sizes in ({}, PIECES), ({"n": 1}, [1] * 100):
        got = in_pieces(perpend.compile(path, cache=100, cache_type=type_name, dims=dims), TEXT[0], sizes)
        rows = [count - 1 for count in got]
        distance = np.abs(np.stack(list(got.values())) - rounded[rows]).mean()
        assert distance < np.abs(exact[rows] - rounded[rows]).mean() / 4


@pytest.mark.parametrize("name", ["tiny-q4_0", "tiny-q4_1", "tiny-q8_0", "small-q4_k", "small-q5_k", "small-q6_k"])
def test_rows_of_bytes(name: str, tmp_path: Path) -> None:
    """They have a scale for each group of the weights, so a row has the bits that it has alone, and stays near f32."""
    path = write_checkpoint(name, tmp_path)
    options: dict[str, Any] = {"cache": 128, "batch_invariant": True}
    chunks = perpend.compile(path, precision="int8", **options)
    single = perpend.compile(path, precision="int8", dims={"n": 1}, **options)
    exact = in_pieces(perpend.compile(path, **options), TEXT[0], [100])[100]
    expected = in_pieces(single, TEXT[0], [1] * 100)
    for sizes in (PIECES, [100], [33, 67]):
        for count, result in in_pieces(chunks, TEXT[0], sizes).items():
            np.testing.assert_array_equal(result, expected[count], err_msg=f"{count} tokens of {sizes}")
    assert 0 < np.abs(expected[100] - exact).max() < 0.02 * np.abs(exact).max()


def test_types_of_caches(tmp_path: Path) -> None:
    path = save(make(CASES["llama"]), tmp_path)
    with pytest.raises(perpend.CompileError, match=r"expected f32, f16, bf16, int8, got 'f64'"):
        perpend.compile(path, cache=8, cache_type="f64")
    with pytest.raises(perpend.CompileError, match="only for a checkpoint with a cache"):
        perpend.compile(path, cache_type="f16")
    assert "without a cache" in reject("inspect", str(path), "--cache-type", "f16", folder=tmp_path)
    narrow, wide = (perpend.compile(path, cache=8, cache_type=each) for each in ("bf16", "f32"))
    narrow(TEXT[0, :3])
    assert len(narrow.save_states()) < 1200
    with pytest.raises(TypeError, match=r"'keys.0': type: expected f32, got bf16"):
        wide.load_states(narrow.save_states())
    bytes_ = perpend.compile(path, cache=64, cache_type="int8")
    wide = perpend.compile(path, cache=64)
    for model in (bytes_, wide):
        model(TEXT[0, :60])
    assert len(bytes_.save_states()) < 0.4 * len(wide.save_states())


def test_a_session_is_cut_back(tmp_path: Path) -> None:
    model = perpend.compile(save(make(CASES["llama"]), tmp_path), cache=128, batch_invariant=True)
    expected = in_pieces(model, TEXT[0], [40, 20])[60]
    model.truncate(10)
    np.testing.assert_array_equal(model(TEXT[0, 10:60]), expected)
    saved = model.save_states()
    model.reset()
    model.load_states(saved)
    np.testing.assert_array_equal(model(TEXT[0, 60:61]), in_pieces(model, TEXT[0], [10, 50, 1])[61])


def test_limits(tmp_path: Path) -> None:
    path = save(make(CASES["llama"]), tmp_path)
    model = perpend.compile(path, cache=8)
    model(TEXT[0, :6])
    with pytest.raises(ValueError, match=r"'keys.0' needs length \+ n <= 8, got 9"):
        model(TEXT[0, 6:9])
    model(TEXT[0, 6:8])  # it is as before
    with pytest.raises(ValueError, match="at least 1 token"):
        model(TEXT[0, :0])
    with pytest.raises(perpend.CompileError, match=r"only for checkpoints and torch\.nn\.Modules"):
        perpend.compile(object(), cache=8)
    assert "for checkpoints" in reject("inspect", DIGITS, "--cache", 8, folder=tmp_path)


def test_memory_is_what_was_written(tmp_path: Path) -> None:
    """A million tokens are room for 512 MB; three need some pages."""
    model = perpend.compile(save(make(CASES["llama"]), tmp_path), cache=1_000_000)

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    before = resident()
    model(TEXT[0, :3])
    assert resident() - before < 32 << 20


def model_layers(folder: Path) -> int:
    return int(json.loads((folder / "config.json").read_text()).get("num_hidden_layers", 2))


@pytest.mark.parametrize("type_name", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("name, count", [("llama", 4), ("gpt2", 4), ("mistral", 4), ("deepseek3", 9)])
def test_nothing_copies_a_cache(name: str, count: int, type_name: str, tmp_path: Path) -> None:
    """Only products, and what is fused with them, read all keys and values where one token is added; a latent is
    both."""
    path = save(make(CASES[name]), tmp_path)
    options = ["--cache", "128", "--cache-type", type_name, "--dim", "n=1", "--stage", "fuse"]
    if name.startswith("deepseek"):  # whose latents of 24 numbers are no whole panels of AVX-512
        options += ["--target", "x86-64-v3"]
    text = succeed("inspect", str(path), *options, folder=tmp_path)
    caches = set(re.findall(r"(%\w+) = graph.concat %arg", text))
    assert len(caches) == 2 * model_layers(path)
    for kind in ("slice", "reshape"):
        caches |= {view for view, cache in re.findall(rf"(%\w+) = graph.{kind} (%\w+) ", text) if cache in caches}
    readers = [
        (kernel, inputs)
        for kernel, inputs in re.findall(r"graph.call_kernel @(\w+)\(([^)]*)\)", text)
        if caches & set(inputs.split(", "))
    ]
    assert len(readers) == count
    assert not [kernel for kernel, _ in readers if re.search("transpose|pad|reshape|ext_", kernel)]


def test_only_the_rows_of_a_window_are_read(tmp_path: Path) -> None:
    """Up to 15 more, so that sums keep their order."""
    path = save(make(CASES["mistral"]), tmp_path)
    text = succeed("inspect", str(path), "--cache", "128", "--dim", "n=1", "--stage", "fuse", folder=tmp_path)
    first = r"16\*floordiv\(max\(0, length - 4\), 16\)"
    assert len(re.findall(rf'graph.slice %\w+ <\["{first}", 0, 0\]> \[1, 1, 1\] {{graph.in_place}}', text)) == 4
    assert len(re.findall(rf'call_kernel @matmul.*-> tensor<1x2x\?x2xf32, .*"length - {first} \+ 1"', text)) == 2


def products_of_softmax(text: str) -> list[int]:
    """For each call of a kernel that has a softmax (a maximum and a sum along rows): how many products it has."""
    bodies = dict(re.findall(r"func\.func private @(\w+)\((.*?)\n  }\n", text, re.DOTALL))
    calls = [bodies[call] for call in re.findall(r"graph\.call_kernel @(\w+)", text)]
    return [body.count("tile.matmul") for body in calls if "graph.reduce  max" in body and "graph.reduce  sum" in body]


@pytest.mark.parametrize("type_name", ["f32", "f16", "bf16", "int8"])
@pytest.mark.parametrize("name", ["llama", "llama-biases", "gpt2", "mistral", "gemma2"])
def test_attention_is_one_kernel(name: str, type_name: str, tmp_path: Path) -> None:
    """Scores, mask, softmax and values of a prompt, whatever heads share, and in whatever type a cache is."""
    path = save(make(CASES[name]), tmp_path)
    options = ["--cache", "128", "--cache-type", type_name, "--stage", "fuse"]
    assert products_of_softmax(succeed("inspect", str(path), *options, folder=tmp_path)) == [2, 2]
