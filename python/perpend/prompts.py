"""What users give language models, as the runtime takes it: tokens, texts, messages and names of arguments."""

from __future__ import annotations

import difflib
import inspect
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .sampling import Sampler, whole

Messages = Sequence[Mapping[str, str]]

_OF_SAMPLER = list(inspect.signature(Sampler).parameters)


def tokens_of(tokens: Iterable[int]) -> list[int]:
    """The tokens of a list, a tensor [n], or [1, n] as tokenizers of transformers give. Errors: TypeError."""
    found: Any = tokens.tolist() if hasattr(tokens, "tolist") else tokens
    try:
        found = list(found)
        if len(found) == 1 and isinstance(found[0], list):
            found = found[0]
        numbers = [operator.index(token) for token in found]
    except TypeError:
        raise TypeError(f"expected the numbers of tokens, such as [1, 15043], got {tokens!r}") from None
    for number in numbers:
        whole("tokens", number, 32)
    return numbers


def encoded(name: str, text: Any) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"{name}: expected a text, got {text!r}")
    return text.encode()


def check_names(function: Callable[..., object], sampling: Mapping[str, Any]) -> None:
    """Errors: TypeError for what is neither an argument of the function nor an option of a sampler."""
    for name in sampling:
        if name in _OF_SAMPLER:
            continue
        known = [each for each in inspect.signature(function).parameters if each != "sampling"] + _OF_SAMPLER
        guess = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{guess[0]}'?" if guess else f"the arguments are {' '.join(known)}"
        raise TypeError(f"{function.__name__}() has no argument '{name}'\nhint: {hint}")


def listed(entries: str | Iterable[str]) -> str:
    """Names of entries with commas between them. Errors: TypeError."""
    if isinstance(entries, str):
        return entries
    names = list(entries) if isinstance(entries, Iterable) else [entries]
    if not isinstance(entries, Iterable) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"entries: expected names, such as ['embed', 'verify'] or 'embed,verify', got {entries!r}")
    return ",".join(names)


def pairs_of(messages: Messages) -> list[tuple[bytes, bytes]]:
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise TypeError(f"messages: expected a list of dicts with role and content, got {type(messages).__name__}")
    for message in messages:
        if not isinstance(message, Mapping):
            raise TypeError(f"messages: expected dicts with role and content, got {message!r}")
        if set(message) != {"role", "content"}:
            raise ValueError(f"messages: expected dicts with role and content, got the keys {sorted(message)}")
        for key, text in message.items():
            if not isinstance(text, str):
                raise ValueError(f"messages: expected a text as {key}, got {text!r}")
    return [(message["role"].encode(), message["content"].encode()) for message in messages]
