"""Chat templates: they turn messages into a prompt, as the model was trained to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _perpend
from ._perpend import TemplateError

__all__ = ["ChatTemplate", "TemplateError"]


class ChatTemplate:
    """A chat template in Jinja's language, as tokenizer_config.json and chat_template.jinja have it.

    text: the template. variables: what every rendering gets, such as bos_token="<s>".
    Errors: TemplateError with the line, for what is not known here (docs/howto/render-a-chat-template.md).
    """

    def __init__(self, text: str, **variables: Any) -> None:
        self._compiled = _perpend.ChatTemplate(text)
        self.variables = variables

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        add_generation_prompt: bool = False,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Any] | None = None,
        **variables: Any,
    ) -> str:
        """The prompt. Messages and variables are None, bools, numbers, texts, lists, tuples and dicts.

        Errors: TemplateError for an error of the template, with the line, and for what raise_exception says.
        """
        return self._compiled.render(
            {
                **self.variables,
                "messages": messages,
                "tools": tools,
                "documents": documents,
                "add_generation_prompt": add_generation_prompt,
                **variables,
            }
        )
