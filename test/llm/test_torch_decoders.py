"""Decoders in PyTorch are language models: transformers' of architectures without a description, and plain modules."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import perpend.llm
import pytest
import torch
from cli.tool import reject, succeed
from llm.checkpoints import END, FIXTURES, TEMPLATE
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers")

TOKENS = 640  # of the tokenizer in FIXTURES
CONTEXT = 96
NAMES = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1, "tie_word_embeddings": False}
SIZES = {**NAMES, "vocab_size": TOKENS, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
LAYERS = {**SIZES, "intermediate_size": 96, "max_position_embeddings": CONTEXT}
GROUPED = {**LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}

# The name of an architecture and what its configuration says.
DECODERS: dict[str, dict[str, Any]] = {
    "GPTNeoX": LAYERS,
    "OPT": {**LAYERS, "ffn_dim": 96, "word_embed_proj_dim": 64},
    "Falcon": {**SIZES, "max_position_embeddings": CONTEXT},
    "Bloom": {**NAMES, "vocab_size": TOKENS, "hidden_size": 64, "n_layer": 2, "n_head": 2},
    "StableLm": {**LAYERS, "num_key_value_heads": 1},
    "Olmo2": {**LAYERS, "num_key_value_heads": 1},
    "Granite": {**LAYERS, "num_key_value_heads": 1, "attention_multiplier": 0.3, "embedding_multiplier": 3.0},
    "Cohere2": {**GROUPED, "sliding_window": 8, "logit_scale": 1.0},
    "DeepseekV2": {
        **{**LAYERS, "kv_lora_rank": 16, "q_lora_rank": 16, "qk_nope_head_dim": 32, "qk_rope_head_dim": 32},
        **{"num_key_value_heads": 2, "v_head_dim": 32, "first_k_dense_replace": 2, "n_routed_experts": 4},
    },
}


def made(name: str, **settings: Any) -> Any:
    """A random model, whose most likely tokens are clear."""
    torch.manual_seed(0)
    config = getattr(transformers, name + "Config")(**DECODERS[name] | settings)
    net = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        net.get_output_embeddings().weight.mul_(40)
    return net


def numbers(count: int, seed: int = 0, most: int = TOKENS) -> list[int]:
    tokens: list[int] = np.random.default_rng(seed).integers(2, most, count).tolist()
    return tokens


def generated(net: Any, prompt: list[int], count: int) -> tuple[list[int], float]:
    """What transformers generates, and the least distance between the two most likely tokens."""
    options = {"max_new_tokens": count, "do_sample": False, "eos_token_id": None, "pad_token_id": 1}
    given = torch.tensor([prompt])
    found = net.generate(
        given, attention_mask=torch.ones_like(given), **options, output_logits=True, return_dict_in_generate=True
    )
    best = torch.cat(found.logits).topk(2).values
    said: list[int] = found.sequences[0, len(prompt) :].tolist()
    return said, float((best[:, 0] - best[:, 1]).min())


def clear_text(net: Any, count: int) -> tuple[list[int], list[int]]:
    """A prompt and what follows, in which no two tokens are about as likely."""
    for seed in range(20):
        said, margin = generated(net, prompt := numbers(9, seed), count)
        if margin > 1e-3 and len(set(said)) > 2:
            return prompt, said
    raise AssertionError("no prompt is clear: scale the head")


@pytest.mark.parametrize("name", DECODERS)
def test_a_model_without_a_description_generates_as_transformers_does(name: str) -> None:
    net = made(name)
    llm = perpend.llm.compile(net, context=CONTEXT)
    assert (llm.context, llm.vocabulary, llm.stop_tokens, llm.has_tokenizer) == (CONTEXT, TOKENS, [1], False)
    prompt, said = clear_text(net, 64)
    assert list(llm.generate_tokens(prompt, max_tokens=64, temperature=0, ignore_stop_tokens=True)) == said
    text = prompt + said[:40]
    with torch.no_grad():
        expected = net(torch.tensor([text])).logits[0, -1].numpy()
    whole = llm.session().logits(text)
    np.testing.assert_allclose(whole, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    pieces = llm.session()
    for count in (1, 2, 9, 10, 30, 48, 49):
        last = pieces.logits(text[:count])
    np.testing.assert_array_equal(last, whole)
    pieces.logits([*text[:20], 5, 6])
    np.testing.assert_array_equal(pieces.logits(text), whole)


def tokenizer_of(folder: Path, template: str | None = TEMPLATE) -> Any:
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(FIXTURES / "byte-level.json"), bos_token="<s>", eos_token="</s>"
    )
    tokenizer.chat_template = template
    return tokenizer


def spoken(tokenizer: Any, prompt: list[int], said: list[int]) -> str:
    before: str = tokenizer.decode(prompt, skip_special_tokens=True)
    whole: str = tokenizer.decode(prompt + said, skip_special_tokens=True)
    return whole[len(before) :]


def test_a_module_with_a_tokenizer_is_a_program(tmp_path: Path) -> None:
    net, tokenizer = made("GPTNeoX"), tokenizer_of(tmp_path)
    net.generation_config.eos_token_id = [1, END]
    llm = perpend.llm.compile(net, tmp_path / "chat", tokenizer=tokenizer)
    assert llm.context == CONTEXT and llm.has_template and llm.stop_tokens == [1, END]
    messages = [{"role": "user", "content": "Hello there"}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert llm.render(messages) == text
    prompt = llm.encode(text, add_special_tokens=False, parse_special_tokens=True)
    said, margin = generated(net, prompt, 24)
    assert margin > 1e-3
    expected = spoken(tokenizer, prompt, said)
    options = {"max_tokens": 24, "temperature": 0, "ignore_stop_tokens": True}
    assert llm.generate("Hello there", **options) == expected
    stream = llm.generate("Hello there", stream=True, top_logprobs=2, **options)
    assert "".join(stream) == expected and stream.tokens == said and stream.top_logprobs is not None
    assert [top[0][0] for top in stream.top_logprobs] == said
    drawn = [llm.generate("Hello", max_tokens=20, temperature=1.5, seed=seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    other = llm.fork()
    other.load_session(llm.save_session())
    assert other.tokens == llm.tokens
    assert perpend.llm.load(tmp_path / "chat").generate("Hello there", **options) == expected
    printed = succeed(
        "llm", "run", "chat", "--prompt", "Hello there", "--max-tokens", 24, "--temperature", 0, folder=tmp_path
    )
    until = next((i for i, token in enumerate(said) if token in (1, END)), 24)
    assert printed.rstrip("\n") == spoken(tokenizer, prompt, said[:until]).rstrip("\n")


def test_where_a_tokenizer_may_come_from(tmp_path: Path) -> None:
    net, tokenizer = made("StableLm"), tokenizer_of(tmp_path, None)
    tokenizer.save_pretrained(tmp_path / "folder")
    given = [tokenizer.backend_tokenizer, tmp_path / "folder", str(FIXTURES / "byte-level.json")]
    llms = [perpend.llm.load(net, tokenizer=each, context=32) for each in given]
    assert len({llm.generate("Hello", max_tokens=9, temperature=0, ignore_stop_tokens=True) for llm in llms}) == 1
    assert not llms[0].has_template
    with pytest.raises(TypeError, match=r"tokenizer: expected one of transformers or tokenizers.*got int"):
        perpend.llm.load(net, tokenizer=3)
    with pytest.raises(FileNotFoundError, match="tokenizer: there is no"):
        perpend.llm.load(net, tokenizer=tmp_path / "none")


def test_a_folder_without_a_description_goes_through_transformers(tmp_path: Path) -> None:
    net = made("Olmo2")
    net.save_pretrained(tmp_path / "model")
    tokenizer_of(tmp_path).save_pretrained(tmp_path / "model")
    llm = perpend.llm.load(tmp_path / "model", folder=tmp_path / "kept")
    assert llm.has_template and llm.context == CONTEXT
    prompt = llm.encode("Once upon a time")
    said, margin = generated(net, prompt, 20)
    assert margin > 1e-3
    assert list(llm.generate_tokens(prompt, max_tokens=20, temperature=0, ignore_stop_tokens=True)) == said
    with pytest.raises(perpend.CompileError, match=r"'olmo2' is not supported(.|\n)*perpend.llm.compile takes others"):
        perpend.import_model(tmp_path / "model", cache=8)
    config = json.loads((tmp_path / "model/config.json").read_text()) | {"model_type": "nothing_known"}
    (tmp_path / "model/config.json").write_text(json.dumps(config))
    with pytest.raises(perpend.CompileError, match="has no description here, and transformers cannot load it"):
        perpend.llm.load(tmp_path / "model")


@pytest.mark.parametrize(("cache_type", "tolerance"), [("f16", 1e-3), ("bf16", 1e-2), ("int8", 2e-2)])
def test_narrow_caches(cache_type: str, tolerance: float, tmp_path: Path) -> None:
    net, text = made("StableLm"), numbers(40)
    llm = perpend.llm.compile(net, cache_type=cache_type)
    with torch.no_grad():
        expected = net(torch.tensor([text])).logits[0, -1].numpy()
    whole = llm.logits(text)
    error = np.abs(whole - expected).max() / np.abs(expected).max()
    assert 1e-6 < error < tolerance
    pieces = llm.session()
    for count in (7, 8, 30, 40):
        last = pieces.logits(text[:count])
    np.testing.assert_array_equal(last, whole)
    assert len(pieces.save_session()) < 2 * 2 * 40 * 64 * 4 * 0.8  # two layers of keys and values in f32


# ----------------------------------------------------------------------------------------------------------------------
# Plain modules
# ----------------------------------------------------------------------------------------------------------------------

WORDS, WIDTH, HEADS = 100, 64, 4


class Layer(nn.Module):
    def __init__(self, rows: int) -> None:
        super().__init__()
        self.norm, self.mixed = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)
        self.out, self.inner = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        if rows:
            self.register_buffer("keys", torch.zeros(1, HEADS, rows, WIDTH // HEADS))
            self.register_buffer("values", torch.zeros(1, HEADS, rows, WIDTH // HEADS))

    def heads(self, x: Tensor) -> list[Tensor]:
        parts = self.mixed(self.norm(x)).split(WIDTH, -1)
        return [part.view(1, x.shape[1], HEADS, -1).transpose(1, 2) for part in parts]

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        x = x + self.out(attended.transpose(1, 2).reshape(x.shape))
        return x + self.inner(torch.nn.functional.gelu(x))


class Plain(nn.Module):
    """Keeps nothing, takes whole texts, and returns the logits of the last token and a loss."""

    rows = 0

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.layers = nn.ModuleList(Layer(self.rows) for _ in range(2))
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight.data.mul_(20)
        self.register_buffer("mask", torch.ones(CONTEXT, CONTEXT, dtype=torch.bool).tril(), persistent=False)

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Any:
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        for layer in self.layers:
            query, keys, values = layer.heads(x)
            x = layer.finish(x, scaled_dot_product_attention(query, keys, values, is_causal=True))
        return self.head(x[:, [-1]]), None


class Positions(Plain):
    """Keys and values in buffers of fixed size, written at positions."""

    rows = CONTEXT

    def forward(self, tokens: Tensor, input_pos: Tensor) -> Any:  # type: ignore[override]
        x = self.words(tokens) + self.places(input_pos)
        for layer in self.layers:
            query, keys, values = layer.heads(x)
            layer.keys[:, :, input_pos] = keys
            layer.values[:, :, input_pos] = values
            mask = self.mask[None, None, input_pos]
            x = layer.finish(x, scaled_dot_product_attention(query, layer.keys, layer.values, attn_mask=mask))
        return self.head(x)


class Number(Plain):
    """The same with slices, which begin behind the tokens before."""

    rows = CONTEXT

    def forward(self, tokens: Tensor, start: int) -> Any:  # type: ignore[override]
        end = start + tokens.shape[1]
        x = self.words(tokens) + self.places.weight[start:end]
        for layer in self.layers:
            query, keys, values = layer.heads(x)
            layer.keys[:, :, start:end] = keys
            layer.values[:, :, start:end] = values
            mask = self.mask[start:end, :end]
            seen = layer.keys[:, :, :end], layer.values[:, :, :end]
            x = layer.finish(x, scaled_dot_product_attention(query, *seen, attn_mask=mask))
        return self.head(x)


class Decaying(nn.Module):
    """h_t = (h_(t-1) + x_t) / 2: knows itself what came before, and cannot be cut back."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)
        self.head.weight.data.mul_(20)
        self.register_buffer("state", torch.zeros(1, WIDTH))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens)[0]
        number = torch.arange(x.shape[0])
        weights = (0.5 ** (number[:, None] - number + 1)).tril()
        h = weights @ x + 0.5 ** (number[:, None] + 1) * self.state
        self.state.copy_(h[-1:])
        return self.head(torch.tanh(h)).unsqueeze(0)


def last_logits(kind: type[nn.Module], text: list[int]) -> Any:
    """Eagerly, of a new module."""
    net, tokens = kind().eval(), torch.tensor([text])
    places = {Positions: (torch.arange(len(text)),), Number: (0,)}.get(kind, ())
    with torch.no_grad():
        found = net(tokens, *places)
    return (found[0] if isinstance(found, tuple) else found).reshape(-1, WORDS)[-1].numpy()


@pytest.mark.filterwarnings("ignore:perpend. Plain keeps nothing")
@pytest.mark.parametrize("kind", [Plain, Positions, Number, Decaying])
def test_plain_modules(kind: type[nn.Module]) -> None:
    llm, text = perpend.llm.compile(kind().eval(), context=48), numbers(30, most=WORDS)
    expected = last_logits(kind, text)
    tolerance = 1e-5 * np.abs(expected).max()
    whole = llm.logits(text)
    np.testing.assert_allclose(whole, expected, rtol=0, atol=tolerance)
    pieces = llm.session()
    for count in (1, 7, 8, 29, 30):
        last = pieces.logits(text[:count])
    if kind is Decaying:
        np.testing.assert_allclose(last, expected, rtol=0, atol=tolerance)
    else:
        np.testing.assert_array_equal(last, whole)
    other = [*text[:20], 5, 6]
    np.testing.assert_allclose(pieces.logits(other), last_logits(kind, other), rtol=0, atol=tolerance)
    np.testing.assert_allclose(pieces.logits(text), expected, rtol=0, atol=tolerance)
    said = list(pieces.generate_tokens(text, max_tokens=10, temperature=0))
    for i in range(10):
        assert said[i] == last_logits(kind, text + said[:i]).argmax()
    copy = pieces.fork()
    copy.load_session(pieces.save_session())
    assert list(copy.generate_tokens(copy.tokens, max_tokens=5, temperature=0)) == list(
        pieces.generate_tokens(pieces.tokens, max_tokens=5, temperature=0)
    )
    copy.logits(text[:3])
    assert copy.cached == 3
    np.testing.assert_allclose(copy.logits(text), expected, rtol=0, atol=tolerance)


class Named(Plain):
    """The tokens have a default, the logits a name."""

    def forward(self, tokens: Tensor | None = None) -> Any:  # type: ignore[override]
        assert tokens is not None
        return {"logits": super().forward(tokens)[0]}


class Given(Plain):
    """Takes positions, and keeps nothing."""

    def forward(self, tokens: Tensor, positions: Tensor) -> Any:  # type: ignore[override]
        return super().forward(tokens)[0] + 0 * positions.sum()


class Counted(Plain):
    """Counts its calls, and keeps nothing that tokens need."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, tokens: Tensor) -> Any:  # type: ignore[override]
        self.calls += 1
        return super().forward(tokens)[0]


@pytest.mark.parametrize("kind", [Named, Given])
def test_modules_that_keep_nothing_compute_whole_texts(kind: type[nn.Module]) -> None:
    with pytest.warns(UserWarning, match="keeps nothing from call to call"):
        llm = perpend.llm.compile(kind().eval(), context=48)
    text = numbers(20, most=WORDS)
    for count in (4, 5, 20):
        expected = last_logits(Plain, text[:count])
        np.testing.assert_allclose(llm.logits(text[:count]), expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_array_equal(llm.logits(torch.tensor([text])), llm.logits(np.array(text)))


def test_what_is_no_language_model() -> None:
    with pytest.raises(perpend.CompileError, match=r"other logits for five tokens at once than for three and then two"):
        perpend.llm.compile(Counted().eval(), context=48)
    with pytest.raises(perpend.CompileError, match=rf"take a token at position {CONTEXT}, the last of {CONTEXT + 1}"):
        perpend.llm.compile(Positions().eval(), context=CONTEXT + 1)
    config = transformers.LlamaConfig(**LAYERS)
    with pytest.raises(perpend.CompileError, match=rf"logits of the {TOKENS} tokens of config.vocab_size, got"):
        perpend.llm.compile(transformers.LlamaForSequenceClassification(config))
    with pytest.raises(perpend.CompileError, match="an encoder with a decoder"):
        sizes = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2}
        perpend.llm.compile(transformers.BartForConditionalGeneration(transformers.BartConfig(**sizes)))
    for context in (0, -3, "48"):
        with pytest.raises(ValueError, match="context: expected a number of tokens above 0, or None"):
            perpend.llm.compile(Plain(), context=context)


RECURRENT = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2}
ATTENDING = {"num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 64}

# What their caches hold is not, or not only, keys and values.
OTHER_STATES: dict[str, dict[str, Any]] = {
    "Mamba": RECURRENT,
    "Mamba2": {**RECURRENT, "num_heads": 4, "head_dim": 16, "n_groups": 1, "state_size": 8},
    "Rwkv": {**RECURRENT, "attention_hidden_size": 32},
    "RecurrentGemma": {**RECURRENT, "num_hidden_layers": 3, **ATTENDING, "lru_width": 32},
    "Lfm2": {**RECURRENT, **ATTENDING, "layer_types": ["conv", "full_attention"]},
}


@pytest.mark.parametrize("name", OTHER_STATES)
def test_other_states_than_keys_and_values_are_refused(name: str, tmp_path: Path) -> None:
    config = getattr(transformers, name + "Config")(**OTHER_STATES[name])
    net = transformers.AutoModelForCausalLM.from_config(config).eval()
    expected = r"a model whose state is a cache of keys and values .*, got .*; such a state is not supported"
    with pytest.raises(perpend.CompileError, match=expected):
        perpend.llm.load(net, context=64)
    net.save_pretrained(tmp_path / "model")
    with pytest.raises(perpend.CompileError, match=expected):
        perpend.llm.load(tmp_path / "model")


def test_what_are_no_tokens(tmp_path: Path) -> None:
    llm = perpend.llm.compile(Positions().eval(), context=48)
    for wrong in ([1, 2.5], ["a", "b"], [[1], [2]]):
        with pytest.raises(TypeError, match=r"expected the numbers of tokens, such as \[1, 15043\]"):
            llm.logits(wrong)


def test_what_is_kept_is_written_where_it_stays(tmp_path: Path) -> None:
    from perpend.torch import decoders

    module = decoders.language_model(made("StableLm", num_key_value_heads=2), None, CONTEXT, "f32")
    (tmp_path / "model.mlir").write_bytes(module.to_bytes())
    said = succeed("inspect", "model.mlir", "--stage", "plan", folder=tmp_path)
    assert len(re.findall(r"host\.state .* growing 0", said)) == 4
    assert said.count("host.in_place") == 8  # two entries
    assert set(re.findall("host.copy .* to (<.*>)", said)) <= {f"<[{TOKENS}] x f32>"}  # logits


class Tuples(nn.Module):
    """Its cache is no object of transformers."""

    def forward(self, tokens: Tensor, past_key_values: Any = None) -> Any:
        length = 0 if past_key_values is None else past_key_values[0][0].shape[2]
        return torch.ones(1, tokens.shape[1], WORDS) * length, None


class Three(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return q


class Twice(nn.Module):
    def forward(self, tokens: Tensor) -> Tensor:
        return torch.ones(2, 5, 3) * tokens.sum()


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"expected the path of a checkpoint or a torch.nn.Module.*got int"):
        perpend.llm.compile(3)
    with pytest.raises(perpend.CompileError, match=r"does not say how many tokens(.|\n)*context=N"):
        perpend.llm.compile(Positions().eval())
    with pytest.raises(perpend.CompileError, match=r"expected the logits \[1, n, vocabulary\] .* got \[2, 5, 3\]"):
        perpend.llm.compile(Twice(), context=8)
    with pytest.raises(perpend.CompileError, match=r"expected a module whose forward takes tokens(.|\n)*takes q, k, v"):
        perpend.llm.compile(Three(), context=8)
    with pytest.raises(perpend.CompileError, match="cache_type: expected a module whose forward takes past_key_values"):
        perpend.llm.compile(Positions().eval(), context=8, cache_type="f16")
    with pytest.raises(perpend.CompileError, match=r"fails with an empty DynamicCache: (TypeError|IndexError)"):
        perpend.llm.compile(Tuples().eval(), context=8)
    with pytest.raises(perpend.CompileError, match="cache_type: expected f32, f16, bf16, int8, got 'q4'"):
        perpend.llm.compile(made("StableLm"), cache_type="q4")
    with pytest.raises(perpend.CompileError, match=f"expected at most {CONTEXT}"):
        perpend.llm.compile(made("StableLm"), context=CONTEXT + 1)
    other = perpend.import_model(nn.Linear(3, 4), example_inputs=(torch.ones(2, 3),))
    with pytest.raises(perpend.CompileError, match="expected a graph with states from tokens"):
        other.make_language_model(str(tmp_path))
    with pytest.raises(ValueError, match="folder: only for checkpoints"):
        perpend.llm.load(Positions().eval(), folder=tmp_path)
    with pytest.raises(ValueError, match=r"tokenizer: only for a torch.nn.Module"):
        perpend.llm.compile(tmp_path, tokenizer=tmp_path)
    llm = perpend.llm.compile(Positions().eval(), tmp_path / "model", context=8)
    for call in (lambda: llm.generate([3]), lambda: llm.encode("x"), lambda: llm.decode([3])):
        with pytest.raises(ValueError, match="no tokenizer"):
            call()
    with pytest.raises(ValueError, match="has no tokenizer, so its texts are tokens"):
        llm.generate_tokens("Hello")
    with pytest.raises(ValueError, match="expected at most 8 tokens"):
        llm.logits([3] * 9)
    assert "has no tokenizer" in reject("llm", "run", "model", "--prompt", "Hello", folder=tmp_path)
