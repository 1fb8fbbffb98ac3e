"""From a language model's logits to tokens: ``Sampler(temperature=0.7, top_p=0.9).sample(logits, tokens)``.

The choice is made by the runtime (perpend_sampling.h), so a program in C chooses the same tokens. It depends on the
arguments alone: equal logits, options, choice and position give the same token in any process, batch or thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

from . import _perpend

__all__ = ["Beam", "BeamSearch", "Sample", "Sampler", "StopStrings", "random_number"]

ORDERS = ("transformers", "llama.cpp")
DISTRIBUTIONS = ("model", "draw")
ENDINGS = ("likely", "full", "certain")


class Sample(NamedTuple):
    """A choice. The last two are None unless the sampler has `top_logprobs`."""

    token: int
    is_stop: bool
    logprob: float | None = None
    top: list[tuple[int, float]] | None = None


class Beam(NamedTuple):
    """`score` is the sum of log-probabilities, of a finished beam divided by its length ** length_penalty. `parent` is
    the row of the latest step that a live beam continues."""

    tokens: list[int]
    score: float
    parent: int


def _one_of(name: str, value: str, known: Sequence[str]) -> int:
    if value not in known:
        raise ValueError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
    return known.index(value)


def whole(name: str, value: Any, bits: int, signed: bool = True) -> int:
    """What a user gives as a whole number of so many bits. Errors: TypeError, ValueError, with the argument's name."""
    least, limit = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError(f"{name}: expected a whole number, got {value!r}") from None
    if not least <= number < limit:
        raise ValueError(f"{name}: expected a number from {least} to {limit - 1}, got {number}")
    return int(number)


def real(name: str, value: Any) -> float:
    """What a user gives as a number. Errors: TypeError with the argument's name."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name}: expected a number, got {value!r}") from None


class Sampler:
    """Chooses tokens: greedy, or a draw after penalties and filters.

    ``order="transformers"`` filters by temperature, top-k, top-p, min-p, typical; ``"llama.cpp"`` by top-k, typical,
    top-p, min-p, temperature. Before that, logits are changed by the allowed tokens, the bias, the penalties
    (repetition, frequency, presence), n-grams, and stop tokens that come too early.

    ``temperature=0`` is greedy, and ``top_logprobs=n`` reports the log-probabilities of the token and of the n most
    probable ones: of the model's distribution, or with ``logprobs_of="draw"`` of that after the filters.
    Errors: ValueError with the runtime's message. Threads: one at a time.
    """

    def __init__(
        self,
        *,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        typical_p: float = 1.0,
        repetition_penalty: float = 1.0,
        presence_penalty: float = 0.0,
        frequency_penalty: float = 0.0,
        penalty_window: int = 0,
        no_repeat_ngram: int = 0,
        logit_bias: Mapping[int, float] | None = None,
        stop_tokens: Sequence[int] = (),
        min_tokens: int = 0,
        seed: int = 0,
        order: str = "transformers",
        top_logprobs: int | None = None,
        logprobs_of: str = "model",
    ) -> None:
        numbers = {
            "temperature": real("temperature", temperature),
            "top_k": whole("top_k", top_k, 32),
            "top_p": real("top_p", top_p),
            "min_p": real("min_p", min_p),
            "typical_p": real("typical_p", typical_p),
            "repetition_penalty": real("repetition_penalty", repetition_penalty),
            "presence_penalty": real("presence_penalty", presence_penalty),
            "frequency_penalty": real("frequency_penalty", frequency_penalty),
            "penalty_window": whole("penalty_window", penalty_window, 64),
            "no_repeat_ngram": whole("no_repeat_ngram", no_repeat_ngram, 32),
            "min_tokens": whole("min_tokens", min_tokens, 32),
            "seed": whole("seed", seed, 64, signed=False),
            "temperature_last": bool(_one_of("order", order, ORDERS)),
            "top_logprobs": -1 if top_logprobs is None else whole("top_logprobs", top_logprobs, 31, signed=False),
            "of_draw": bool(_one_of("logprobs_of", logprobs_of, DISTRIBUTIONS)),
        }
        bias = [
            (whole("logit_bias", token, 32), real("logit_bias", value)) for token, value in (logit_bias or {}).items()
        ]
        self.settings = numbers, bias, [whole("stop_tokens", token, 32) for token in stop_tokens]
        self._sampler = _perpend.Sampler(*self.settings)
        self._has_logprobs = top_logprobs is not None

    def sample(
        self,
        logits: Any,
        tokens: Any = None,
        *,
        prompt: int = 0,
        choice: int = 0,
        position: int | None = None,
        allowed: Any = None,
    ) -> Sample:
        """The next token. `tokens` is the text so far, of which the first `prompt` tokens were given.

        `choice` and `position` (of the token among those generated, by default) select the random number. `allowed` has
        a truth value for each token of the vocabulary.
        """
        where = self._where(tokens, prompt, position)
        found = self._sampler.sample(
            logits, tokens, where[0], whole("choice", choice, 32, signed=False), where[1], allowed
        )
        return Sample(*found, *(self._sampler.logprobs() if self._has_logprobs else ()))

    def distribution(
        self, logits: Any, tokens: Any = None, *, prompt: int = 0, position: int | None = None, allowed: Any = None
    ) -> tuple[Any, Any]:
        """The tokens that `sample` draws from, by id, and their probabilities, as numpy arrays."""
        return self._sampler.distribution(logits, tokens, *self._where(tokens, prompt, position), allowed)

    def edit(
        self, logits: Any, tokens: Any = None, *, prompt: int = 0, position: int | None = None, allowed: Any = None
    ) -> Any:
        """The logits as the filters get them: with the bias, the penalties, and -inf for tokens that are excluded."""
        return self._sampler.edit(logits, tokens, *self._where(tokens, prompt, position), allowed)

    @staticmethod
    def _where(tokens: Any, prompt: int, position: int | None) -> tuple[int, int]:
        prompt = whole("prompt", prompt, 64)
        if position is None:
            position = max(0, (0 if tokens is None else len(tokens)) - prompt)
        return prompt, whole("position", position, 64, signed=False)


Text = TypeVar("Text", str, bytes)


class StopStrings(Generic[Text]):
    """Ends a text that arrives in pieces where the first of some strings is complete.

    ``add(piece)`` returns what may be shown, which never has a part of a stop string in it. When `found` is not None,
    it is the string that ended the text. ``finish()`` returns what was held back, and begins anew.
    """

    def __init__(self, strings: Sequence[Text]) -> None:
        given: Any = strings
        kinds = {type(string) for string in given}
        if isinstance(given, (str, bytes)) or len(kinds) > 1 or not kinds <= {str, bytes}:
            raise TypeError(f"stop strings: expected a list of str, or one of bytes, got {given!r}")
        self.strings: list[Text] = list(strings)
        self.found: Text | None = None
        self._is_text = kinds == {str}
        self._stop = _perpend.StopStrings([s.encode() if isinstance(s, str) else s for s in strings])

    def add(self, piece: Text) -> Text:
        if not self.strings:
            self._is_text = isinstance(piece, str)
        if isinstance(piece, str) != self._is_text:
            raise TypeError(f"stop strings: expected a piece of {'str' if self._is_text else 'bytes'}, got {piece!r}")
        released, found = self._stop.add(piece.encode() if isinstance(piece, str) else piece)
        self.found = self.strings[found] if found >= 0 else None
        return self._shown(released)

    def finish(self) -> Text:
        self.found = None
        return self._shown(self._stop.finish())

    def _shown(self, released: bytes) -> Text:
        return cast(Text, released.decode() if self._is_text else released)


class BeamSearch:
    """Beam search: while there are `live` beams, ``step(logits)`` with a row for each of them, in their order.

    ``ending="likely"`` ends when no live beam is, at its present length, better than the worst of `beams` finished
    ones; ``"full"`` when `beams` are finished; ``"certain"`` when no live beam can become better. In transformers these
    are early_stopping False, True and "never". With ``logprobs=True``, rows are log-probabilities and are added as they
    are, so those that a sampler has edited keep its penalties.
    """

    def __init__(
        self,
        beams: int,
        *,
        max_tokens: int,
        stop_tokens: Sequence[int] = (),
        length_penalty: float = 1.0,
        ending: str = "likely",
        logprobs: bool = False,
    ) -> None:
        self._beams = _perpend.BeamSearch(
            whole("beams", beams, 32),
            _one_of("ending", ending, ENDINGS),
            real("length_penalty", length_penalty),
            whole("max_tokens", max_tokens, 64),
            [whole("stop_tokens", token, 32) for token in stop_tokens],
            bool(logprobs),
        )

    def step(self, logits: Any) -> None:
        self._beams.step(logits)

    @property
    def live(self) -> list[Beam]:
        """The best first; empty when the search has ended."""
        return [Beam(*beam) for beam in self._beams.live]

    @property
    def finished(self) -> list[Beam]:
        """The best first."""
        return [Beam(*beam) for beam in self._beams.finished]


def random_number(seed: int, choice: int = 0, position: int = 0) -> float:
    """The number in [0, 1) that decides a draw."""
    return _perpend.random_number(
        whole("seed", seed, 64, signed=False),
        whole("choice", choice, 32, signed=False),
        whole("position", position, 64, signed=False),
    )
