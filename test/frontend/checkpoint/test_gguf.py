"""GGUF files: the same logits as transformers, types of tensors, files in parts."""

from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
import torch
from frontend.checkpoint.gguf_file import Stored, split_names, write_gguf
from frontend.checkpoint.k_quants import KINDS, random_blocks
from frontend.checkpoint.tiny_models import CASES, Case, agree, logits, make, prompt
from frontend.checkpoint.to_gguf import Array, converted, metadata_of, save_gguf, split_latent

# What GGUF cannot say: windows of Llama and Qwen, dynamic scaling, dense layers among experts, halves that rotate.
UNSPEAKABLE = {"mistral", "qwen2-windows", "llama-dynamic", "qwen3-moe-mixed", "phi3", "llama-llama3"}
UNSPEAKABLE |= {"deepseek3-halves"}
# Facts of the published models, which GGUF files do not have.
AS_PUBLISHED = {"query_pre_attn_scalar": 16}
LATENT_AS_PUBLISHED = {"attention_bias": False, "mlp_bias": False}


def case_of(name: str) -> Case:
    settings = dict(CASES[name].settings)
    if name.startswith(("gemma2", "gemma3")):
        settings |= AS_PUBLISHED
    if name.startswith("deepseek2"):
        settings |= LATENT_AS_PUBLISHED
    if name == "deepseek3-yarn":
        settings["rope_parameters"] = settings["rope_parameters"] | {"mscale": 0.5}
    return Case(CASES[name].type, settings)


def check(model: Any, path: Path, is_compiled: bool = False) -> None:
    """In the interpreter, which takes a thousandth of the time of a compilation, or compiled."""
    compiled = perpend.compile(path) if is_compiled else None
    module = perpend.import_model(path)
    for length in (1, 7, 128):
        tokens = prompt(length)
        agree(compiled(tokens) if compiled else module.evaluate(tokens)[0], logits(model, tokens))


@pytest.mark.parametrize("name", [name for name in CASES if name not in UNSPEAKABLE])
def test_file(name: str, tmp_path: Path) -> None:
    model = make(case_of(name))
    settings = {"expert_weights_norm": False} if name == "qwen3-moe" else {}
    check(model, save_gguf(model, tmp_path / "model.gguf", **settings))


def test_divisors_of_frequencies(tmp_path: Path) -> None:
    """Llama 3.1: the converter writes what its scaling does as a tensor."""
    model = make(CASES["llama-llama3"])
    rotary = model.model.rotary_emb
    plain = 1 / 10000.0 ** (np.arange(0, 16, 2) / 16)
    divisors = (plain / rotary.inv_freq.numpy()).astype(np.float32)
    assert divisors.max() > 7
    tensors = converted(model)
    metadata = metadata_of(model, tensors)
    check(model, write_gguf(tmp_path / "m.gguf", metadata, tensors | {"rope_freqs.weight": divisors}))


def test_experts_one_by_one(tmp_path: Path) -> None:
    """As old files have them."""
    model = make(CASES["mixtral"])
    tensors = converted(model)
    metadata = metadata_of(model, tensors)
    for name in [name for name in tensors if "_exps" in name]:
        for number, matrix in enumerate(tensors.pop(name)):
            tensors[name.replace("_exps", f".{number}")] = matrix
    check(model, write_gguf(tmp_path / "model.gguf", metadata, tensors))
    del tensors["blk.1.ffn_down.3.weight"]
    write_gguf(tmp_path / "model.gguf", metadata, tensors)
    with pytest.raises(perpend.CompileError, match=r"the tensor 'blk\.1\.ffn_down\.3\.weight' is missing"):
        perpend.import_model(tmp_path / "model.gguf")


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("deepseek") and name not in UNSPEAKABLE])
def test_matrices_of_latents_apart(name: str, tmp_path: Path) -> None:
    """As newer files have them; the files above have one matrix for keys and values."""
    model = make(case_of(name))
    tensors = split_latent(model.config, converted(model))
    check(model, write_gguf(tmp_path / "model.gguf", metadata_of(model, tensors), tensors))


def test_latent_mistakes(tmp_path: Path) -> None:
    model = make(case_of("deepseek3-yarn"))
    tensors = converted(model)
    metadata = metadata_of(model, tensors)

    def error_with(**settings: Any) -> str:
        changed = metadata | {f"deepseek2.{key.replace('__', '.')}": value for key, value in settings.items()}
        used = {key: value for key, value in changed.items() if value is not None}
        with pytest.raises(perpend.CompileError) as caught:
            perpend.import_model(write_gguf(tmp_path / "model.gguf", used, tensors))
        return str(caught.value)

    for settings, words in [
        ({"rope__scaling__yarn_log_multiplier": None}, "yarn_log_multiplier' is missing"),
        ({"rope__dimension_count": 24}, "expected less than the size of a head, 24, got 24"),
        ({"expert_gating_func": 3}, "expected 1 (softmax) or 2 (sigmoid), got 3"),
        ({"expert_group_count": 3}, "expected a divisor of the 8 experts, got 3"),
        ({"attention__temperature_scale": 0.1}, "temperature_scale': expected no such scale"),
        ({"attention__key_length_mla": 24}, "value_length_mla' is missing"),
    ]:
        assert words in error_with(**settings)


def f16(array: Array) -> Array:
    return array.astype(np.float16).astype(np.float32)


# The sixteen values of IQ4_NL.
UNEVEN = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)


def quantised(kind: str, array: Array) -> tuple[Stored, Array]:
    """Blocks of a matrix, and the numbers that they stand for."""
    blocks = array.reshape(-1, 32).astype(np.float32)
    least, most = blocks.min(1, keepdims=True), blocks.max(1, keepdims=True)
    if kind in ("Q4_1", "Q5_1"):
        largest = 15 if kind == "Q4_1" else 31
        scale, offset = f16((most - least) / largest), f16(least)
        numbers = np.clip(np.round((blocks - offset) / scale), 0, largest)
        values = numbers * scale + offset
        heads = [scale, offset]
    elif kind == "IQ4_NL":
        scale = f16(np.abs(blocks).max(1, keepdims=True) / 113)
        numbers = np.abs(blocks[..., None] / scale[..., None] - UNEVEN).argmin(-1)
        values = UNEVEN[numbers] * scale
        heads = [scale]
    else:
        middle = {"Q8_0": 128, "Q5_0": 16, "Q4_0": 8}[kind]
        scale = f16(np.abs(blocks).max(1, keepdims=True) / (middle - 1))
        numbers = np.clip(np.round(blocks / scale), -middle, middle - 1)
        values = numbers * scale
        numbers = numbers if kind == "Q8_0" else numbers + middle
        heads = [scale]
    data = numbers.astype(np.int8).view(np.uint8)
    rows = [head.astype(np.float16).view(np.uint8) for head in heads]
    if kind in ("Q5_0", "Q5_1"):
        rows.append(np.packbits(data >> 4, axis=1, bitorder="little"))
    if kind != "Q8_0":
        data = (data[:, :16] & 15) | data[:, 16:] << 4
    return Stored(kind, array.shape, np.concatenate([*rows, data], 1).tobytes()), values.reshape(array.shape)


def plain(kind: str, array: Array) -> tuple[Stored, Array]:
    if kind == "F16":
        return Stored(kind, array.shape, array.astype(np.float16).tobytes()), f16(array)
    upper = (np.ascontiguousarray(array, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return Stored(kind, array.shape, upper.tobytes()), (upper.astype(np.uint32) << 16).view(np.float32)


def loaded_with(model: Any, values: dict[str, Array]) -> Any:
    """The model with these numbers as its matrices."""
    mine = model.state_dict()
    with torch.no_grad():
        for name, array in values.items():
            mine[name].copy_(torch.tensor(array))
    return model


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q5_0", "Q5_1", "Q4_0", "Q4_1", "IQ4_NL"])
@pytest.mark.parametrize("name", ["qwen2", "qwen3-moe"])
def test_types_of_tensors(kind: str, name: str, tmp_path: Path) -> None:
    """Every matrix of this type, the embedding and the head too; of two architectures that GGUF does not reorder."""
    settings = {"norm_topk_prob": True} if name == "qwen3-moe" else {}
    model = make(Case(CASES[name].type, CASES[name].settings | settings))
    store = plain if kind in ("F16", "BF16") else quantised
    values: dict[str, Array] = {}

    def stored(array: Array) -> tuple[Stored, Array]:
        return store(kind, array)

    for key, parameter in model.state_dict().items():
        if parameter.ndim > 1 and not key.endswith("mlp.gate.weight"):
            values[key] = stored(parameter.numpy())[1]

    def as_blocks(key: str, array: Array) -> Array | Stored:
        return stored(array)[0] if array.ndim > 1 and "ffn_gate_inp" not in key else array

    path = save_gguf(model, tmp_path / "model.gguf", as_blocks)
    check(loaded_with(model, values), path, is_compiled=True)


@pytest.mark.parametrize("kind", KINDS)
def test_models_in_blocks_of_256(kind: str, tmp_path: Path) -> None:
    """All matrices are blocks of random bytes; the same numbers as f32 in transformers are the judge."""
    model = make(Case("qwen2", {"hidden_size": 256, "intermediate_size": 512}))
    blocks = {
        key: random_blocks(kind, tuple(parameter.shape), 1 / 16)
        for key, parameter in model.state_dict().items()
        if parameter.ndim > 1
    }
    by_bytes = {model.state_dict()[key].numpy().tobytes(): stored for key, (stored, _) in blocks.items()}

    def as_blocks(key: str, array: Array) -> Array | Stored:
        return by_bytes[array.tobytes()] if array.ndim > 1 else array

    path = save_gguf(model, tmp_path / "model.gguf", as_blocks)
    check(loaded_with(model, {key: values for key, (_, values) in blocks.items()}), path, is_compiled=True)


def test_files_in_parts(tmp_path: Path) -> None:
    model = make(CASES["llama"])
    tensors = converted(model)
    metadata = metadata_of(model, tensors)
    names = list(tensors)
    for number, name in enumerate(split_names("model", 3)):
        part = {"split.no": number, "split.count": 3, "split.tensors.count": len(names)}
        mine = {key: tensors[key] for key in names[number::3]}
        write_gguf(tmp_path / name, (metadata if number == 0 else {}) | part, mine)
    check(model, tmp_path / "model-00001-of-00003.gguf")
    with pytest.raises(perpend.CompileError, match="part 2 of 3\nhint: give the first"):
        perpend.compile(tmp_path / "model-00002-of-00003.gguf")
    (tmp_path / "model-00003-of-00003.gguf").unlink()
    with pytest.raises(perpend.CompileError, match=r"cannot read .*model-00003-of-00003\.gguf"):
        perpend.compile(tmp_path / "model-00001-of-00003.gguf")
