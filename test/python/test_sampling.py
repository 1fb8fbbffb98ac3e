"""perpend.sampling against transformers' logits processors and beam search, and against formulas in numpy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from perpend.sampling import BeamSearch, Sampler, StopStrings, random_number
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.generation import logits_process as reference

Vector = NDArray[np.float32]
VOCABULARY = 500


def logits_of(seed: int, spread: float = 3.0, count: int = VOCABULARY) -> Vector:
    return (spread * np.random.default_rng(seed).standard_normal(count)).astype(np.float32)


def text_of(seed: int, count: int = 40, vocabulary: int = VOCABULARY) -> list[int]:
    return [int(token) for token in np.random.default_rng(seed).integers(0, vocabulary, count)]


def softmax(logits: NDArray[Any]) -> NDArray[np.float64]:
    weights = np.exp(logits.astype(np.float64) - np.max(logits))
    return np.asarray(weights / weights.sum())


def expect_distribution(found: tuple[Any, Any], logits: NDArray[Any]) -> None:
    """Equal sets of tokens, and probabilities within 1e-6; logits that were filtered out are -inf."""
    tokens, probabilities = found
    expected = np.flatnonzero(~np.isneginf(logits))
    assert tokens.tolist() == expected.tolist()
    assert np.abs(probabilities - softmax(logits[expected])).max() < 1e-6


def by_transformers(logits: Vector, tokens: list[int], processors: list[Any]) -> Vector:
    scores = torch.from_numpy(logits)[None]
    for processor in processors:
        scores = processor(torch.tensor([tokens]), scores)
    return np.asarray(scores[0].numpy())


FILTERS: dict[str, tuple[list[float], Any]] = {
    "temperature": ([0.6, 1.7], reference.TemperatureLogitsWarper),
    "top_k": ([1, 40], reference.TopKLogitsWarper),
    "top_p": ([0.05, 0.6, 0.95], reference.TopPLogitsWarper),
    "min_p": ([0.01, 0.3], reference.MinPLogitsWarper),
    "typical_p": ([0.2, 0.9], reference.TypicalLogitsWarper),
}


@pytest.mark.parametrize("names", [c for n in (1, 2, 3, 5) for c in itertools.combinations(FILTERS, n)], ids="-".join)
@pytest.mark.parametrize("spread", [0.7, 3.0])
def test_filters_of_transformers(names: tuple[str, ...], spread: float) -> None:
    values = [FILTERS[name][0] for name in names]
    for seed, chosen in enumerate(itertools.islice(itertools.product(*values), 12)):
        logits = logits_of(seed, spread)
        processors = [FILTERS[name][1](value) for name, value in zip(names, chosen, strict=True)]
        options: dict[str, Any] = dict(zip(names, chosen, strict=True))
        expect_distribution(Sampler(**options).distribution(logits), by_transformers(logits, [0], processors))


@pytest.mark.parametrize("options", [{"top_p": 0.9}, {"top_p": 0.6}, {"typical_p": 0.8}, {"top_k": 9000}], ids=str)
@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_filters_over_large_vocabularies(options: dict[str, Any], spread: float) -> None:
    """Where the tokens kept are too many to be sorted. torch adds up in f32, so its border may be off by some."""
    logits = logits_of(1, spread, 32000)
    name, value = next(iter(options.items()))
    tokens, probabilities = Sampler(**options).distribution(logits)
    expected = np.flatnonzero(np.isfinite(by_transformers(logits, [0], [FILTERS[name][1](value)])))
    differing = np.setxor1d(tokens, expected)
    assert len(tokens) > 256
    assert softmax(logits)[differing].sum() < 1e-5
    assert np.abs(probabilities - softmax(logits[tokens])).max() < 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_penalties_of_transformers(seed: int) -> None:
    logits, tokens = logits_of(seed), text_of(seed, vocabulary=20)
    tokens = tokens + tokens[3:5]  # an n-gram begins again
    bias: dict[Any, float] = {(7,): 4.5, (9,): -100.0, (499,): 0.25}
    processors = [
        reference.SequenceBiasLogitsProcessor(bias),
        reference.RepetitionPenaltyLogitsProcessor(1.3),
        reference.NoRepeatNGramLogitsProcessor(3),
        reference.MinNewTokensLengthLogitsProcessor(40, 5, [11, 12], device="cpu"),
        reference.TemperatureLogitsWarper(0.8),
        reference.TopPLogitsWarper(0.97),
    ]
    sampler = Sampler(
        logit_bias={token[0]: value for token, value in bias.items()},
        repetition_penalty=1.3,
        no_repeat_ngram=3,
        stop_tokens=[11, 12],
        min_tokens=5,
        temperature=0.8,
        top_p=0.97,
    )
    expected = by_transformers(logits, tokens, processors)
    assert np.isneginf(expected[tokens[5]])
    expect_distribution(sampler.distribution(logits, tokens, prompt=40), expected)


@pytest.mark.parametrize("n", [1, 2, 4, 60])
def test_ngrams_of_transformers(n: int) -> None:
    for seed in range(8):
        logits, tokens = logits_of(seed), text_of(seed, vocabulary=3)
        expected = by_transformers(logits, tokens, [reference.NoRepeatNGramLogitsProcessor(n)])
        expect_distribution(Sampler(no_repeat_ngram=n).distribution(logits, tokens), expected)


@pytest.mark.parametrize("window", [0, 1, 7, 1000])
def test_penalties_by_formula(window: int) -> None:
    logits, tokens, prompt = logits_of(3), text_of(4, vocabulary=15), 30
    expected = logits.astype(np.float64)
    seen = range(len(tokens) - window if 0 < window < len(tokens) else 0, len(tokens))
    for token in {tokens[i] for i in seen}:
        expected[token] *= 1.2 if expected[token] < 0 else 1 / 1.2
        count = sum(tokens[i] == token for i in seen if i >= prompt)
        expected[token] -= 0.3 * count + (0.7 if count else 0)
    sampler = Sampler(repetition_penalty=1.2, frequency_penalty=0.3, presence_penalty=0.7, penalty_window=window)
    expect_distribution(sampler.distribution(logits, tokens, prompt=prompt), expected)


def by_llama_order(logits: Vector, k: int, typical: float, top_p: float, min_p: float, temperature: float) -> Vector:
    """llama.cpp's chain: each filter on the softmax of what is left, at temperature 1, and the temperature last."""
    kept = np.argsort(-logits, kind="stable")[:k]

    def first(order: NDArray[Any], mass: float) -> NDArray[Any]:
        sums = np.cumsum(softmax(logits[kept])[order])
        return np.asarray(kept[order[: int(np.searchsorted(sums, mass)) + 1]])

    p = softmax(logits[kept])
    kept = first(np.argsort(np.abs(-np.log(p) - np.sum(-p * np.log(p))), kind="stable"), typical)
    kept = first(np.argsort(-logits[kept], kind="stable"), top_p)
    p = softmax(logits[kept])
    kept = kept[p >= min_p * p.max()]
    result = np.full_like(logits, -np.inf)
    result[kept] = logits[kept] / np.float32(temperature)
    return result


@pytest.mark.parametrize("seed", range(20))
def test_order_of_llama(seed: int) -> None:
    logits = logits_of(seed, 1.0 + seed % 3)
    values = (100, 0.9, 0.8, 0.1, 0.5 + seed % 4)
    names = ("top_k", "typical_p", "top_p", "min_p", "temperature")
    options: dict[str, Any] = dict(zip(names, values, strict=True))
    expected = by_llama_order(logits, *values)
    expect_distribution(Sampler(order="llama.cpp", **options).distribution(logits), expected)


def test_orders_differ() -> None:
    logits = logits_of(1)
    first, last = (Sampler(temperature=2, top_p=0.9, order=order) for order in ("transformers", "llama.cpp"))
    assert len(first.distribution(logits)[0]) > len(last.distribution(logits)[0])


def chi_square(counts: NDArray[Any], probabilities: NDArray[Any]) -> float:
    """In standard deviations of its distribution, above the mean."""
    expected = counts.sum() * probabilities
    degrees = len(probabilities) - 1
    return float((((counts - expected) ** 2 / expected).sum() - degrees) / np.sqrt(2 * degrees))


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_random_numbers_are_uniform(seed: int) -> None:
    numbers = np.array([[random_number(seed, choice, position) for position in range(256)] for choice in range(256)])
    assert numbers.min() >= 0 and numbers.max() < 1
    counts = np.histogram(numbers, 64, (0, 1))[0]
    assert abs(chi_square(counts, np.full(64, 1 / 64))) < 4
    for following in (numbers[1:, :], np.roll(numbers, 1, axis=1)[1:, :]):  # pairs that are beside each other
        pairs = np.histogram2d(numbers[:-1].ravel(), following.ravel(), 16, [[0, 1], [0, 1]])[0]
        assert abs(chi_square(pairs.ravel(), np.full(256, 1 / 256))) < 4


@pytest.mark.parametrize("options", [{}, {"top_k": 20}, {"top_p": 0.8, "temperature": 1.3}, {"min_p": 0.05}], ids=str)
@pytest.mark.parametrize("by", ["position", "choice", "seed"])
def test_draws_follow_the_distribution(options: dict[str, Any], by: str) -> None:
    logits = logits_of(9, 1.0, 60)
    sampler = Sampler(seed=5, **options)
    tokens, probabilities = sampler.distribution(logits)
    draws = []
    for i in range(20000 if by != "seed" else 5000):
        if by == "seed":
            draws.append(Sampler(seed=i, **options).sample(logits).token)
        else:
            where: dict[str, int] = {by: i}
            draws.append(sampler.sample(logits, **where).token)
    counts = np.bincount(draws, minlength=60)
    assert counts.sum() == counts[tokens].sum()
    assert abs(chi_square(counts[tokens], probabilities)) < 4


def test_a_draw_is_the_inverse_of_sums_by_id() -> None:
    logits = logits_of(2, 2.0, 3000)
    for options in ({}, {"top_k": 50}):
        sampler = Sampler(seed=3, **options)  # type: ignore[arg-type]
        tokens, probabilities = sampler.distribution(logits)
        sums = np.cumsum(probabilities)
        for position in range(300):
            expected = tokens[np.searchsorted(sums, random_number(3, 1, position), side="right")]
            assert sampler.sample(logits, choice=1, position=position).token == expected


def test_position_is_that_among_the_generated() -> None:
    logits = np.zeros(1000, np.float32)
    sampler = Sampler(seed=1)
    assert sampler.sample(logits, [1, 2, 3, 4], prompt=3) == sampler.sample(logits, position=1)
    assert sampler.sample(logits, [1, 2, 3], prompt=3) == sampler.sample(logits)
    assert sampler.sample(logits, position=0) != sampler.sample(logits, position=1)


@pytest.mark.parametrize("of", ["model", "draw"])
def test_logprobs(of: str) -> None:
    logits = logits_of(6)
    options: dict[str, Any] = {"temperature": 0.7, "top_k": 12, "repetition_penalty": 1.5, "seed": 3}
    sampler = Sampler(top_logprobs=20, logprobs_of=of, **options)
    for position in range(10):
        sample = sampler.sample(logits, [5, 6, int(logits.argmax())], position=position)
        if of == "model":
            expected = torch.log_softmax(torch.from_numpy(logits).double(), 0).numpy()
            order = np.argsort(-expected)[:20]
        else:
            tokens, probabilities = sampler.distribution(logits, [5, 6, int(logits.argmax())])
            expected = np.full(VOCABULARY, -np.inf)
            expected[tokens] = np.log(probabilities)
            order = np.argsort(-expected)[:12]
        assert sample.top is not None and sample.logprob is not None
        assert [token for token, _ in sample.top] == order.tolist()
        assert np.abs(np.array([value for _, value in sample.top]) - expected[order]).max() < 1e-6
        assert abs(sample.logprob - expected[sample.token]) < 1e-6
    assert Sampler(**options).sample(logits, [5])[2:] == (None, None)


def test_greedy_after_penalties() -> None:
    logits = np.array([1, 3, 2, -1], np.float32)
    sampler = Sampler(temperature=0, repetition_penalty=2.0, top_logprobs=0, stop_tokens=[2])
    assert sampler.sample(logits).token == 1
    sample = sampler.sample(logits, [1, 1])
    assert (sample.token, sample.is_stop, sample.top) == (2, True, [])
    assert sampler.sample(logits, [1], allowed=np.array([True, True, False, True])).token == 1
    assert sampler.sample(logits, [1], allowed=[False, False, False, True]).token == 3


def test_arrays() -> None:
    logits = logits_of(1)
    expected = Sampler(seed=4).sample(logits)
    assert Sampler(seed=4).sample(torch.from_numpy(logits)) == expected
    assert Sampler(seed=4).sample(np.stack([logits, logits], 1)[:, 0]) == expected
    assert Sampler(seed=4).sample(logits.tolist()) == expected
    sampler = Sampler(repetition_penalty=2)
    samples = [sampler.distribution(logits, kind([3, 4]))[1].tolist() for kind in (list, np.array, torch.tensor)]
    samples.append(sampler.distribution(logits, np.array([3, 4], np.int32))[1].tolist())
    assert all(sample == samples[0] for sample in samples)


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"temperature": -1}, ValueError, r"temperature: expected a number, 0 \(greedy\) or above, got -1"),
    ({"temperature": float("nan")}, ValueError, "temperature: expected a number"),
    ({"temperature": "hot"}, TypeError, "temperature: expected a number, got 'hot'"),
    ({"temperature": 10**400}, TypeError, "temperature: expected a number"),
    ({"top_k": 2**31}, ValueError, "top_k: expected a number from -2147483648 to 2147483647, got 2147483648"),
    ({"top_k": 1.5}, TypeError, "top_k: expected a whole number, got 1.5"),
    ({"top_p": 1.1}, ValueError, "top-p: expected a probability from 0 to 1, got 1.1"),
    ({"seed": -1}, ValueError, "seed: expected a number from 0"),
    ({"seed": 2**64}, ValueError, "seed: expected a number from 0"),
    ({"order": "other"}, ValueError, "order: expected one of transformers, llama.cpp, got 'other'"),
    ({"logprobs_of": ""}, ValueError, "logprobs_of: expected one of model, draw, got ''"),
    ({"top_logprobs": -1}, ValueError, "top_logprobs: expected a number from 0"),
    ({"logit_bias": {2**40: 1.0}}, ValueError, "logit_bias: expected a number from"),
    ({"logit_bias": {1: float("nan")}}, ValueError, "bias of token 1: expected a number"),
    ({"logit_bias": {1: 1e300}}, ValueError, "bias of token 1: expected a number"),
    ({"stop_tokens": [-1]}, ValueError, "stop tokens: expected token 0 to be in a vocabulary"),
]


@pytest.mark.parametrize(("options", "error", "text"), REFUSED, ids=lambda value: str(value)[:30])
def test_refused_options(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Sampler(**options)


def test_refused_arrays() -> None:
    sampler = Sampler(repetition_penalty=1.1)
    good = np.zeros(4, np.float32)
    with pytest.raises(TypeError, match="logits: expected a vector of f32, got rank 1 and f64"):
        sampler.sample(good.astype(np.float64))
    with pytest.raises(TypeError, match="logits: expected a vector of f32, got rank 2 and f32"):
        sampler.sample(good[None])
    with pytest.raises(ValueError, match="logit of token 1: expected a number or -inf, got nan"):
        sampler.sample([0, float("nan")])
    with pytest.raises(ValueError, match="tokens: expected token ids, got 4294967296"):
        sampler.sample(good, [2**32])
    with pytest.raises(ValueError, match="text: expected token 0 to be in a vocabulary of 4, got 4"):
        sampler.sample(good, [4])
    with pytest.raises(ValueError, match="allowed: expected a truth value for each of 4 tokens, got 3"):
        sampler.sample(good, allowed=[True] * 3)
    with pytest.raises(ValueError, match="expected a prompt of 0 or more tokens"):
        sampler.sample(good, [1], prompt=2)
    with pytest.raises(ValueError, match="position: expected a number from 0"):
        sampler.sample(good, position=-1)


def test_stop_strings() -> None:
    stop = StopStrings(["\nUser:", "für"])
    assert [stop.add(piece) for piece in ("a\nU", "ser", ": b", "c")] == ["a", "", "", ""]
    assert stop.found == "\nUser:"
    assert stop.finish() == "" and stop.found is None
    assert [stop.add(piece) for piece in ("f", "ürst", " fü")] == ["", "", ""]
    assert stop.found == "für"
    stop.finish()
    assert stop.add("fü") == "" and stop.finish() == "fü"
    stops = StopStrings([b"\xff\xfe"])
    assert stops.add(b"a\xff") == b"a" and stops.add(b"\xfeb") == b"" and stops.found == b"\xff\xfe"
    assert StopStrings([]).add("anything") == "anything"
    with pytest.raises(ValueError, match="stop strings: expected text, got an empty string"):
        StopStrings([""])
    for wrong in ("text", ["a", b"b"], [1]):
        with pytest.raises(TypeError, match="stop strings: expected a list of str, or one of bytes"):
            StopStrings(wrong)
    with pytest.raises(TypeError, match="expected a piece of str, got b'a'"):
        stop.add(b"a")


@pytest.fixture(scope="module")
def language_model() -> Any:
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=40, n_positions=32, n_embd=32, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=1)
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        model.lm_head.weight *= 20  # so that some tokens are much more probable than others
    return model


@pytest.mark.parametrize(("ending", "early"), [("likely", False), ("full", True), ("certain", "never")])
@pytest.mark.parametrize("penalty", [0.0, 1.0, 2.5, -0.5])
@pytest.mark.parametrize("stops", [[1], [1, 5, 7, 9]], ids=len)
def test_beams_of_transformers(language_model: Any, ending: str, early: Any, penalty: float, stops: list[int]) -> None:
    for first, count in itertools.product((2, 3, 4), (1, 4)):
        prompt = torch.tensor([[first, 3, 8]])
        search = BeamSearch(count, max_tokens=9, stop_tokens=stops, length_penalty=penalty, ending=ending)
        with torch.no_grad():
            while search.live:
                rows = [torch.cat([prompt[0], torch.tensor(beam.tokens, dtype=torch.int64)]) for beam in search.live]
                search.step(language_model(torch.stack(rows)).logits[:, -1])
            settings: dict[str, Any] = {"num_return_sequences": count, "pad_token_id": 0} | (
                {"length_penalty": penalty, "early_stopping": early} if count > 1 else {}
            )
            expected = language_model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                num_beams=count,
                do_sample=False,
                max_new_tokens=9,
                eos_token_id=stops,
                output_scores=True,
                return_dict_in_generate=True,
                **settings,
            )
        for number, beam in enumerate(search.finished):
            sequence = expected.sequences[number, 3:].tolist()
            assert beam.tokens == sequence[: len(beam.tokens)]
            assert all(token == 0 for token in sequence[len(beam.tokens) :])
            if count > 1:
                assert abs(beam.score - float(expected.sequences_scores[number])) < 1e-5


def test_beams_with_penalties_of_transformers(language_model: Any) -> None:
    """transformers edits log-probabilities, and does not normalise them again."""
    sampler = Sampler(repetition_penalty=1.4, no_repeat_ngram=2, logit_bias={6: 2.0})
    search = BeamSearch(3, max_tokens=12, stop_tokens=[1], logprobs=True)
    with torch.no_grad():
        while search.live:
            texts = [[2, 3, 8, *beam.tokens] for beam in search.live]
            logprobs = torch.log_softmax(language_model(torch.tensor(texts)).logits[:, -1], -1)
            search.step(np.stack([sampler.edit(row, text) for row, text in zip(logprobs, texts, strict=True)]))
        expected = language_model.generate(
            torch.tensor([[2, 3, 8]]),
            attention_mask=torch.ones(1, 3, dtype=torch.int64),
            num_beams=3,
            num_return_sequences=3,
            do_sample=False,
            max_new_tokens=12,
            eos_token_id=1,
            pad_token_id=0,
            repetition_penalty=1.4,
            no_repeat_ngram_size=2,
            sequence_bias=[[[6], 2.0]],
        )
    for beam, sequence in zip(search.finished, expected, strict=True):
        assert beam.tokens == sequence[3 : 3 + len(beam.tokens)].tolist()


def test_parents_of_beams() -> None:
    search = BeamSearch(2, max_tokens=5)
    search.step(np.log(np.array([[0.6, 0.4]], np.float32)))
    assert [(beam.tokens, beam.parent) for beam in search.live] == [([0], 0), ([1], 0)]
    search.step(np.log(np.array([[0.5, 0.5], [0.1, 0.9]], np.float32)))
    assert [(beam.tokens, beam.parent) for beam in search.live] == [([1, 1], 1), ([0, 0], 0)]
    with pytest.raises(ValueError, match="expected a row of logits for each of 2 live beams, got 1"):
        search.step(np.zeros((1, 2), np.float32))
    with pytest.raises(TypeError, match="logits: expected a matrix of f32, got rank 1 and f32"):
        search.step(np.zeros(2, np.float32))
    for options, text in (
        ({"beams": 0}, "beams: expected 1 or more, got 0"),
        ({"ending": "no"}, "ending: expected one"),
    ):
        with pytest.raises(ValueError, match=text):
            BeamSearch(**{"beams": 1, "max_tokens": 5, **options})  # type: ignore[arg-type]
