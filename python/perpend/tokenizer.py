"""Tokenizers: text to the ids of tokens, and back.

``tokenizer = perpend.tokenizer.load("model/tokenizer.json")`` reads a tokenizer's files, ``tokenizer.encode("text")``
gives ids, ``tokenizer.decode(ids)`` gives text, ``tokenizer.stream()`` decodes ids one by one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from . import _perpend

__all__ = ["Stream", "Tokenizer", "load"]

# As in runtime/include/perpend_tokenizer.h.
_ADD_SPECIAL, _PARSE_SPECIAL, _SKIP_SPECIAL, _RAW_BYTES = 1, 2, 4, 8


class Tokenizer(_perpend.Tokenizer):
    """A vocabulary and the rules by which it is applied. Threads: may be used by several at once."""

    def encode(
        self, text: str | bytes, *, add_special_tokens: bool = True, parse_special_tokens: bool = False
    ) -> list[int]:
        """The ids of a text. Bytes need not be valid UTF-8.

        `add_special_tokens`: with the tokens at both ends that the file asks for, such as <s>.
        `parse_special_tokens`: text spelt like a special token gives that token; leave it False for text of users.
        Errors: ValueError if the vocabulary has no token for a character, nor one for unknown characters.
        """
        flags = (_ADD_SPECIAL if add_special_tokens else 0) | (_PARSE_SPECIAL if parse_special_tokens else 0)
        return self.encode_bytes(text.encode() if isinstance(text, str) else bytes(text), flags)

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """The text of tokens; bytes that are not valid UTF-8 are U+FFFD. Errors: ValueError for ids without a token."""
        return self.decode_ids(_list(ids), _SKIP_SPECIAL if skip_special_tokens else 0).decode()

    def decode_bytes(self, ids: Iterable[int], *, skip_special_tokens: bool = True) -> bytes:
        """As `decode`, but bytes that are not valid UTF-8 stay as they are."""
        return self.decode_ids(_list(ids), _RAW_BYTES | (_SKIP_SPECIAL if skip_special_tokens else 0))

    def stream(self, *, skip_special_tokens: bool = True) -> Stream:
        """Decodes tokens one by one: the texts together are what `decode` gives for all of them."""
        return Stream(self, _SKIP_SPECIAL if skip_special_tokens else 0)

    def token(self, id: int) -> str | None:
        """How the vocabulary spells a token; None if no token has this id."""
        spelling = self.token_bytes(id)
        return None if spelling is None else spelling.decode(errors="replace")

    def find(self, spelling: str) -> int | None:
        """The id of the token that the vocabulary spells so, special or not."""
        id = self.find_bytes(spelling.encode())
        return None if id < 0 else id

    def __len__(self) -> int:
        """One more than the largest id."""
        return self.size

    def __repr__(self) -> str:
        return f"<perpend.tokenizer.Tokenizer of {self.size} tokens>"


class Stream(_perpend.TokenStream):
    """Decodes tokens one by one. Text that depends on later tokens is held back, such as half a character."""

    def add(self, id: int) -> str:
        """What can be said of the text with one more token."""
        return self.add_id(id).decode()

    def finish(self) -> str:
        """The rest of the text. The stream may then begin another."""
        return self.finish_bytes().decode()


def load(path: str | PathLike[str], *, pattern: str = "") -> Tokenizer:
    """Reads tokenizer.json, tokenizer.model, a GGUF file or vocab.txt, or the first of these in a folder.

    `pattern` says how texts are split, as GGUF files name it ("llama-bpe"), where the file does not say it.
    Errors: FileNotFoundError; ValueError for files that are damaged or have components that are not supported.
    """
    name = os.fsdecode(path)
    if not Path(name).exists():
        raise FileNotFoundError(f"no such file or folder: '{name}'")
    return Tokenizer(name, pattern)


def _list(ids: Iterable[int]) -> list[int]:
    return ids if isinstance(ids, list) else [int(id) for id in ids]
