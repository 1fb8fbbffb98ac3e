"""Language models: ``perpend.llm.load("model.gguf").generate("Why is the sky blue?", max_tokens=100)``.

A model is a checkpoint, a decoder in PyTorch, or what `perpend llm compile` writes, or `compile` here. The runtime does
the work (perpend_llm.h), so a program in C says the same.
"""

from __future__ import annotations

import glob
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shutil
import sys
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, overload

from . import _limit, _perpend, check_options
from .prompts import Messages, check_names, encoded, listed, pairs_of, tokens_of
from .sampling import Sampler, real, whole
from .temporary_folders import TemporaryFolder

__all__ = ["Continuation", "LanguageModel", "compile", "load"]

_ADD_SPECIAL, _PARSE_SPECIAL, _SKIP_SPECIAL = 1, 2, 4
_POOLINGS = ("mean", "last", None)
_FINISHES = (None, "stop", "length")

# How tokens are chosen where neither the call nor the checkpoint says, as in `perpend llm run`.
DEFAULTS: Mapping[str, float | int] = MappingProxyType(
    {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05, "repetition_penalty": 1.0}
)


class _Turns:
    """Which generation of a text goes on, so that an earlier one takes none of its tokens."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.latest = 0


class Continuation(Iterator[str]):
    """The pieces of a text that is being generated; ``text``, ``tokens`` and ``finish_reason`` say what came so far.

    logprobs, top_logprobs: with ``top_logprobs=n``, for each of the tokens its log-probability, and the n most probable
    tokens with theirs, as perpend.sampling.Sampler has them; otherwise None.
    finish_reason: None while it goes on; "stop" for a stop token or a stop string, "length" for max_tokens or a full
    context.
    """

    def __init__(self, sequence: _perpend.TokenSequence, turns: _Turns, has_logprobs: bool = False) -> None:
        self._sequence, self._turns, self._turn = sequence, turns, turns.latest
        self.tokens: list[int] = []
        self.logprobs: list[float] | None = [] if has_logprobs else None
        self.top_logprobs: list[list[tuple[int, float]]] | None = [] if has_logprobs else None
        self.text = ""
        self.finish_reason: str | None = None

    def __next__(self) -> str:
        while self.finish_reason is None:
            _, piece = self._step()
            if piece:
                return piece
        raise StopIteration

    def each_token(self) -> Iterator[int]:
        """The tokens one by one, in place of the pieces of the text."""
        while self.finish_reason is None:
            token, _ = self._step()
            if token >= 0:
                yield token

    def _step(self) -> tuple[int, str]:
        with self._turns.lock:
            if self._turn != self._turns.latest:
                raise RuntimeError(
                    "a later call has begun another generation of this text\nhint: session() is a text of its own, for "
                    "each stream and each thread"
                )
            token, piece, finish, _, logprob, top = self._sequence.next()
        if token >= 0:
            self.tokens.append(token)
            if self.logprobs is not None and self.top_logprobs is not None:
                self.logprobs.append(logprob)
                self.top_logprobs.append(top)
        self.finish_reason = _FINISHES[finish]
        text = piece.decode()
        self.text += text
        return token, text


class LanguageModel:
    """A compiled language model with one text, whose start it does not compute again in the next call.

    Threads: one at a time; `session` gives another text of the same model. A generation that another call has replaced
    is an error (RuntimeError) at its next step.
    """

    def __init__(
        self,
        model: _perpend.LanguageModel,
        threads: int,
        sequence: _perpend.TokenSequence | None = None,
        folder: TemporaryFolder | None = None,
    ) -> None:
        self._model, self._threads = model, threads
        self._sequence = sequence or _perpend.TokenSequence(model, threads, 0)
        self._folder = folder
        self._turns = _Turns()

    @property
    def context(self) -> int:
        """The most tokens of a text."""
        return self._model.context

    @property
    def vocabulary(self) -> int:
        """How many logits there are."""
        return self._model.vocabulary

    @property
    def entries(self) -> list[str]:
        """The further entries that it was compiled with: embed, verify."""
        named = json.loads(self._model.descriptor).get("entries", ())
        return [entry["name"] for entry in named if entry["name"] in ("embed", "verify")]

    def __repr__(self) -> str:
        facts = [f"{self.vocabulary} tokens in the vocabulary", f"context {self.context}"]
        facts += [f"entries {', '.join(self.entries)}"] if self.entries else []
        facts += [] if self.has_tokenizer else ["no tokenizer"]
        name = json.loads(self._model.descriptor).get("name", "")
        return f"<LanguageModel {name}: {'; '.join(facts)}; {len(self.tokens)} tokens of text>"

    @property
    def sampling(self) -> dict[str, Any]:
        """How `generate` chooses tokens where it is not told: what the checkpoint says, otherwise DEFAULTS.

        ``Sampler(**model.sampling)`` chooses in the same way.
        """
        return {**DEFAULTS, **self._model.sampling}

    @property
    def stop_tokens(self) -> list[int]:
        """Tokens that end an answer."""
        return self._model.stop_tokens

    @property
    def has_tokenizer(self) -> bool:
        """Whether there are texts; otherwise there are tokens only, and `generate_tokens`."""
        return self._model.has_tokenizer

    @property
    def has_template(self) -> bool:
        """Whether the model has a chat template that can be rendered."""
        return self._model.has_template

    @property
    def tokens(self) -> list[int]:
        """The text so far, generated tokens included."""
        return self._sequence.tokens()[0]

    @property
    def cached(self) -> int:
        """How many of the tokens have been computed."""
        return self._sequence.tokens()[1]

    def session(self) -> LanguageModel:
        """Another text of the same model."""
        return self._with(_perpend.TokenSequence(self._model, self._threads, 0))

    def fork(self) -> LanguageModel:
        """Another text, which has all tokens of this one so far, and its cache."""
        return self._with(self._sequence.fork())

    def _with(self, sequence: _perpend.TokenSequence) -> LanguageModel:
        return LanguageModel(self._model, self._threads, sequence, self._folder)

    def truncate(self, count: int) -> None:
        """Keeps the first `count` tokens of the text, and their cache. Errors: ValueError if there are fewer."""
        self._sequence.truncate(whole("count", count, 64))

    def save_session(self) -> bytes:
        """The text and its cache, for `load_session` of the same compiled model, now or in another process."""
        return self._sequence.save()

    def load_session(self, data: bytes) -> None:
        """The text and its cache become what `save_session` gave; nothing of it is computed again.

        Errors: RuntimeError for bytes that are damaged, or of another model; MemoryError. This one's text and its cache
        are then as before.
        """
        if not isinstance(data, bytes):
            raise TypeError(f"data: expected bytes of save_session(), got {type(data).__name__}")
        self._sequence.load(data)

    def encode(self, text: str, *, add_special_tokens: bool = True, parse_special_tokens: bool = False) -> list[int]:
        """The tokens of a text."""
        flags = (_ADD_SPECIAL if add_special_tokens else 0) | (_PARSE_SPECIAL if parse_special_tokens else 0)
        return self._model.encode(encoded("text", text), flags)

    def decode(self, tokens: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """The text of tokens."""
        return self._model.decode(tokens_of(tokens), _SKIP_SPECIAL if skip_special_tokens else 0).decode()

    def render(self, messages: Messages) -> str:
        """What the chat template makes of messages, ending where the assistant begins to speak."""
        return self._model.render(pairs_of(messages)).decode()

    def logits(self, tokens: Iterable[int], rows: int | None = None) -> Any:
        """The logits of the token that follows these, f32 [vocabulary].

        Only what differs from the text so far is computed.
        rows: the logits behind each of the last tokens, so many, [rows, vocabulary], which are computed in one run; of
            a model with the entry `verify`.
        Errors: ValueError.
        """
        self._sequence.set(tokens_of(tokens))
        return self._sequence.logits() if rows is None else self._sequence.row_logits(whole("rows", rows, 64))

    @property
    def embedding_size(self) -> int:
        """The elements of an embedding, the width of the model; 0: it was compiled without the entry `embed`."""
        return self._model.embedding_size

    def embed(self, text: str | Iterable[int], *, pooling: Literal["mean", "last"] | None = "mean") -> Any:
        """The hidden states of a text (or of tokens), f32: what the model's head takes, behind the last norm.

        pooling: "mean" over all tokens, or that of the "last" one, [size]; None: of each token, [tokens, size]. They
            are not scaled to length 1. Special tokens that the tokenizer adds to texts count.
        Errors: ValueError, also for a model without the entry `embed` (compile(..., entries="embed")).
        """
        if pooling not in _POOLINGS:
            raise ValueError(f"pooling: expected 'mean', 'last' or None, got {pooling!r}")
        if isinstance(text, str):
            self._sequence.set_text(text.encode(), _ADD_SPECIAL)
        else:
            self._sequence.set(tokens_of(text))
        found = self._sequence.embed(_POOLINGS.index(pooling))
        return found if pooling is None else found[0]

    @overload
    def generate(
        self, prompt: str | Messages | Iterable[int], *, stream: Literal[False] = False, **options: Any
    ) -> str: ...

    @overload
    def generate(
        self, prompt: str | Messages | Iterable[int], *, stream: Literal[True], **options: Any
    ) -> Continuation: ...

    def generate(
        self,
        prompt: str | Messages | Iterable[int],
        *,
        stream: bool = False,
        max_tokens: int | None = None,
        stop: Sequence[str] = (),
        raw: bool = False,
        ignore_stop_tokens: bool = False,
        choice: int = 0,
        beams: int = 1,
        length_penalty: float = 1.0,
        **sampling: Any,
    ) -> str | Continuation:
        """What the model says to a prompt.

        prompt: a text, which is a user's turn if the model has a chat template, unless `raw`; messages, dicts with role
            and content; or tokens.
        stream: returns an iterator over pieces of the text, each as soon as it is known.
        max_tokens: None: until the model stops or the context is full. stop: texts to end before.
        choice: the number of this answer among several for one prompt; selects other random numbers.
        beams: 2 to 32: the most probable text that a search with so many beams finds, known when it has ended. Of
            `sampling`, penalties, bias and stop tokens count. length_penalty: above 0 prefers long texts.
        sampling: options of perpend.sampling.Sampler (temperature=0, top_p=0.9, seed=1 ...); one that is not given is
            what the property `sampling` says. top_logprobs=n gives the stream logprobs and top_logprobs.
        Errors: TypeError; ValueError with the runtime's message, or for a model without a tokenizer.
        """
        if not self.has_tokenizer:
            raise ValueError("this model has no tokenizer\nhint: generate_tokens, or compile it with a tokenizer")
        check_names(self.generate, sampling)
        continuation = self._started(
            (prompt, raw), stop, max_tokens, ignore_stop_tokens, choice, (beams, length_penalty), sampling
        )
        return continuation if stream else "".join(continuation)

    def generate_tokens(
        self,
        prompt: str | Messages | Iterable[int],
        *,
        max_tokens: int | None = None,
        raw: bool = False,
        ignore_stop_tokens: bool = False,
        choice: int = 0,
        beams: int = 1,
        length_penalty: float = 1.0,
        **sampling: Any,
    ) -> Iterator[int]:
        """The tokens that the model says to a prompt, each as soon as it is chosen.

        A model without a tokenizer has this function only, and its prompts are tokens.

        Arguments and errors: as `generate`; there are no texts to stop at. Errors come with the call.
        """
        check_names(self.generate_tokens, sampling)
        return self._started(
            (prompt, raw), (), max_tokens, ignore_stop_tokens, choice, (beams, length_penalty), sampling
        ).each_token()

    def _started(
        self,
        prompt: tuple[str | Messages | Iterable[int], bool],
        stop: Sequence[str],
        max_tokens: int | None,
        ignore_stop_tokens: bool,
        choice: int,
        search: tuple[int, float],
        sampling: Mapping[str, Any],
    ) -> Continuation:
        if not isinstance(stop, Iterable):
            raise TypeError(f"stop: expected a list of texts, got {stop!r}")
        stops = [encoded("stop", text) for text in ([stop] if isinstance(stop, str) else stop)]
        limit = -1 if max_tokens is None else whole("max_tokens", max_tokens, 64)
        choice = whole("choice", choice, 32, signed=False)
        beams, penalty = whole("beams", search[0], 32), real("length_penalty", search[1])
        settings = Sampler(**{**self.sampling, **sampling}).settings
        with self._turns.lock:
            self._set_prompt(*prompt)
            numbers, bias, stop_tokens = settings
            self._sequence.start(numbers, bias, stop_tokens, limit, stops, ignore_stop_tokens, choice, beams, penalty)
            self._turns.latest += 1
            return Continuation(self._sequence, self._turns, settings[0]["top_logprobs"] >= 0)

    def _set_prompt(self, prompt: str | Messages | Iterable[int], raw: bool) -> None:
        if isinstance(prompt, str):
            if self.has_template and not raw:
                self._sequence.set_chat([(b"user", prompt.encode())])
            else:
                self._sequence.set_text(prompt.encode(), _ADD_SPECIAL)
            return
        if isinstance(prompt, (bytes, Mapping)) or not isinstance(prompt, Iterable):
            raise TypeError(
                "prompt: expected a text, messages (a list of dicts with role and content) or tokens, got "
                f"{type(prompt).__name__}"
            )
        items: list[Any] = list(prompt)
        if items and all(isinstance(item, Mapping) for item in items):
            self._sequence.set_chat(pairs_of(items))
        else:
            self._sequence.set(tokens_of(items))


Progress = Callable[[str], object]


def load(
    path: str | PathLike[str] | Any,
    threads: int | None = None,
    *,
    weights: str | PathLike[str] | None = None,
    folder: str | PathLike[str] | None = None,
    progress: bool | Progress = False,
    **options: Any,
) -> LanguageModel:
    """Loads what `perpend llm compile` has written, or a checkpoint or a torch.nn.Module, which it compiles first.

    threads, weights: as in `perpend.load`.
    folder: where compiled checkpoints stay, so that the next call with the same files and options, on this machine,
        finds them; nothing in it is ever removed. None: a temporary file that goes with the model.
    progress: True prints to standard error what is being done; or a function that gets these texts.
    options: of a checkpoint or module, as in `compile` (context=4096, precision="int8", tokenizer=...).
    Errors: FileNotFoundError, RuntimeError, ValueError for a model that is no language model, CompileError.
    """
    if "entries" in options:
        options["entries"] = listed(options["entries"])
    if not isinstance(path, (str, PathLike)):
        if folder is not None:
            raise ValueError(
                "folder: only for checkpoints, whose files tell whether they have changed\n"
                "hint: of a module, compile(module, path) writes an artifact that load(path) opens"
            )
        if weights is not None:
            options["weights"] = os.fsdecode(weights)
        return _compiled(path, None, threads, _teller(progress), options)
    if not _is_checkpoint(path):
        if options:
            raise ValueError(f"{', '.join(options)}: expected a checkpoint, '{os.fsdecode(path)}' is compiled already")
        return LanguageModel(_perpend.LanguageModel(os.fsdecode(path), os.fsdecode(weights or "")), _limit(threads))
    if weights is not None:
        options["weights"] = os.fsdecode(weights)
    tell = _teller(progress)
    if folder is None:
        return _compiled(path, None, threads, tell, options)
    name = Path(path).stem or "model"
    kept = Path(folder) / f"{name}-{_key(Path(path), options)}"
    if kept.exists():
        tell(f"found {kept}")
        return load(kept / "model.so", threads)
    made = kept.with_name(f"{kept.name}.{uuid.uuid4().hex}")
    made.mkdir(parents=True)
    try:
        _compiled(path, made / "model.so", threads, tell, options)
        try:
            made.rename(kept)
        except OSError:
            if not kept.exists():  # otherwise another process was faster
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return load(kept / "model.so", threads)


def _is_checkpoint(path: str | PathLike[str]) -> bool:
    file = Path(os.fsdecode(path))
    if file.is_dir() or file.suffix == ".safetensors":
        return True
    try:
        with file.open("rb") as opened:
            return opened.read(4) == b"GGUF"
    except OSError:
        return False


def _teller(progress: bool | Progress) -> Progress:
    return progress if callable(progress) else (_tell if progress else lambda _: None)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _compiled(
    path: str | PathLike[str] | Any,
    output: Path | None,
    threads: int | None,
    tell: Progress,
    options: Mapping[str, Any],
) -> LanguageModel:
    tell(f"compiling {os.fsdecode(path) if isinstance(path, (str, PathLike)) else type(path).__name__}")
    start = time.monotonic()
    model = compile(path, output, threads=threads, **options)
    tell(f"compiled in {time.monotonic() - start:.1f} s")
    return model


def _facts(file: Path) -> tuple[str, int, int]:
    return file.name, file.stat().st_size, file.stat().st_mtime_ns


def _key(path: Path, options: Mapping[str, bool | int | str]) -> str:
    """Of what decides the artifact: files, by their names, sizes and times; options; the compiler; the machine."""
    folder = path if path.is_dir() else path.parent  # config.json lies beside .safetensors files
    files = list(folder.iterdir()) if path.is_dir() or path.suffix == ".safetensors" else [path]
    if parts := re.fullmatch(r"(.*)-\d{5}-of-\d{5}", path.stem):  # a GGUF file in parts
        files = list(path.parent.glob(f"{glob.escape(parts[1])}-*{glob.escape(path.suffix)}"))
    files += [Path(value) for value in options.values() if isinstance(value, str) and value]
    facts = sorted(_facts(file) for file in files if file.is_file())
    decides = [str(path.resolve()), facts, sorted(options.items()), _facts(Path(_perpend.__file__)), _processor()]
    if _is_unknown(path):
        decides += [importlib.metadata.version(package) for package in ("transformers", "torch")]
    return hashlib.sha256(repr(decides).encode()).hexdigest()[:16]


def _processor() -> str:
    """What `target="host"` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.node()
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features", "isa"))}))


def compile(
    model: str | PathLike[str] | Any,
    output: str | PathLike[str] | None = None,
    *,
    tokenizer: Any = None,
    context: int | None = None,
    cache_type: str = "f32",
    entries: str | Iterable[str] = (),
    threads: int | None = None,
    **options: bool | int | str,
) -> LanguageModel:
    """Compiles a language model, and loads the result.

    model: a checkpoint (a .gguf file, or a folder with config.json and safetensors files; one of an architecture that
        is not described here goes through transformers, in f32), or a decoder in PyTorch: a torch.nn.Module whose
        forward takes past_key_values, as those of transformers do; or tokens [1, n] of i64; or these and their
        positions [n] (or, if it is declared as int, the number of tokens before). It returns logits [1, n, vocabulary],
        or those of the last token. What it changes in its buffers, the model keeps for each text
        (docs/howto/run-a-language-model.md).
    output: the artifact to write; None: a temporary file that goes with the model.
    tokenizer: of a decoder in PyTorch: one of transformers or tokenizers, or the path of its file or folder; None: its
        texts are tokens. A checkpoint has its own.
    context: room for so many tokens; None: as many as the model was trained with.
    cache_type: of keys and values in the cache: f32, f16, bf16 or int8; of a module, f32 leaves them in its own type.
    entries: further ones of the artifact, a list or a text with commas: embed, for `embed`, and verify, for `logits`
        of several rows. They share weights and cache with the others.
    options: as in `perpend.compile`.
    Errors: CompileError; TypeError for what is no model; FileNotFoundError.
    """
    check_options(options, ("model", "output", "tokenizer", "context", "cache_type", "entries", "threads"))
    if context is not None and (not isinstance(context, int) or isinstance(context, bool) or context < 1):
        raise ValueError(f"context: expected a number of tokens above 0, or None, got {context!r}")
    module = _imported(model, tokenizer, context or 0, cache_type, listed(entries))
    folder = TemporaryFolder() if output is None else None
    path = str(Path(folder.name) / "model.so") if folder else os.fsdecode(output or "")
    module.compile(path, options)
    made = load(path, threads)
    if folder:
        made._folder = folder
        weakref.finalize(folder, shutil.rmtree, folder.name, ignore_errors=True)
    return made


def _imported(model: Any, tokenizer: Any, context: int, cache_type: str, entries: str) -> _perpend.Module:
    if not isinstance(model, (str, PathLike)):
        if "torch" not in sys.modules or not isinstance(model, sys.modules["torch"].nn.Module):
            raise TypeError(
                "expected the path of a checkpoint or a torch.nn.Module that is a language model, got "
                f"{type(model).__name__}"
            )
        from .torch import decoders

        return decoders.language_model(model, tokenizer, context, cache_type, entries)
    path = Path(os.fsdecode(model))
    if tokenizer is not None:
        raise ValueError(
            f"tokenizer: only for a torch.nn.Module; the tokenizer of a checkpoint is what lies in it\nhint: put "
            f"tokenizer.json and tokenizer_config.json into the folder '{path if path.is_dir() else path.parent}'"
            if path.suffix != ".gguf"
            else f"tokenizer: only for a torch.nn.Module; a .gguf file has its own\nhint: leave it out for '{path}'"
        )
    if _is_unknown(path) and importlib.util.find_spec("transformers") and importlib.util.find_spec("torch"):
        from .torch import decoders

        return decoders.language_model(decoders.of_folder(path), path, context, cache_type, entries)
    return _perpend.Module.from_checkpoint(str(path), context, cache_type, entries)


def _is_unknown(folder: Path) -> bool:
    """Whether the architecture of a folder with a model has no description here."""
    try:
        config = json.loads((folder / "config.json").read_text())
        model_type = (config.get("text_config") or config)["model_type"]
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return False
    return isinstance(model_type, str) and not _perpend.is_known_model_type(model_type)
