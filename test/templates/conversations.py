"""Chat templates in the styles of public models, and conversations to render. All of them are made up for these tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "styles"
STYLES = {path.stem: path.read_bytes().decode() for path in sorted(FOLDER.glob("*.jinja"))}


def function(name: str, properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    described = {"name": name, "description": f"Does {name}. ", **more}
    if properties is not None:
        described["parameters"] = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"type": "function", "function": described}


WEATHER = function(
    "get_weather",
    {
        "city": {"type": "string", "description": "The city, e.g. Ürümqi "},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "days": {"type": ["integer", "null"], "default": 3},
        "hours": {"type": "array", "items": {"type": "number"}},
    },
)
NESTED = function(
    "book",
    {
        "trip": {
            "type": "object",
            "properties": {"from": {"type": "string"}, "legs": {"type": "array"}},
            "required": ["from"],
        },
        "extra": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "either": {"oneOf": [{"type": "string"}, {"type": "integer", "default": 0}], "default": "a"},
    },
    **{"return": {"type": "string"}},
)
TOOLS = [WEATHER, NESTED, function("now")]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def call(name: str, arguments: Any, id: str = "abc123def") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


SYSTEM = {"role": "system", "content": "You are helpful.\n  Be brief. /no_think"}
RESULT = {"role": "tool", "name": "get_weather", "content": '{"degrees": 21.5}', "tool_call_id": "abc123def"}
CALLED = assistant(None, tool_calls=[call("get_weather", {"city": "Zürich", "days": 3, "hours": [1, 2.0, None]})])
CALLED_TEXT = assistant("", tool_calls=[call("get_weather", '{"city": "Bern"}', "1")])
CALLED_TWICE = assistant(
    "Both.",
    tool_calls=[
        call("get_weather", {"city": "A & B <c>"}),
        call("book", {"trip": {"from": "'x'", "legs": []}}, "123456789"),
    ],
)
PARTS = [{"type": "text", "text": " What is this? "}, {"type": "image"}, {"type": "text", "text": "And this?"}]
DIALOGUES: dict[str, list[Any]] = {
    "hello": [user("Hello!")],
    "system": [SYSTEM, user("Hello!")],
    "two turns": [user("Hello!"), assistant("Hi. How are you?"), user("  Fine.\n\n")],
    "system, two turns": [SYSTEM, user("Hello!"), assistant("  Hi.  "), user("Fine.")],
    "ends with the assistant": [user("Hello!"), assistant("Hi.")],
    "empty content": [user("")],
    "empty assistant": [user("a"), assistant(""), user("b")],
    "no content": [user("a"), assistant(None), user("b")],
    "absent content": [user("a"), {"role": "assistant"}, user("b")],
    "no messages": [],
    "unicode": [user("Grüße, 世界! 👩‍👩‍👧 \u2028 \u00a0 é́ ΑΣ ǅ ß ﬁ"), assistant("שלום \t \u3000"), user("\u200b\x7f\x01")],
    "quotes and tags": [user("""<b>"it's" & {{ not }} {% code %} \\n</b>\r\n"""), assistant("`a` $1 %s {0}"), user("x")],
    "two users": [user("a"), user("b")],
    "assistant first": [assistant("a"), user("b")],
    "unknown role": [{"role": "critic", "content": "Hm."}, user("a")],
    "two systems": [SYSTEM, user("a"), {"role": "system", "content": "More."}, user("b")],
    "developer": [{"role": "developer", "content": "Rules."}, user("a")],
    "a call": [user("Weather?"), CALLED, RESULT],
    "a call and an answer": [SYSTEM, user("Weather?"), CALLED, RESULT, assistant("21.5 degrees."), user("Thanks.")],
    "a call with text": [user("Weather?"), CALLED_TEXT, RESULT, user("And?")],
    "two calls": [user("Weather?"), CALLED_TWICE, RESULT, {**RESULT, "tool_call_id": "123456789"}],
    "a result without a call": [user("a"), RESULT],
    "a result that is a dict": [user("a"), CALLED, {"role": "tool", "content": {"content": [1, {"b": None}]}, "tool_call_id": "x"}],
    "no calls": [user("a"), assistant("b", tool_calls=[]), user("c")],
    "calls that are none": [user("a"), assistant("b", tool_calls=None), user("c")],
    "thoughts": [user("a"), assistant("<think>\nhm\n</think>\n\nb"), user("c"), assistant("<think>\n\n</think>d")],
    "reasoning": [user("a"), assistant("b", reasoning_content="because\n"), user("c"), assistant("d", reasoning_content="")],
    "parts": [user(PARTS)],
    "system of parts": [{"role": "system", "content": [{"type": "text", "text": "Look."}]}, user(PARTS), assistant("A cat.")],
    "numbers as content": [user(5), assistant(1.5), user(True)],
    "a dict as content": [user({"type": "text", "text": "a"})],
    "many turns": [turn for i in range(8) for turn in (user(f"question {i}"), assistant(f"answer {i}"))],
    "names": [{"role": "user", "name": "Ann", "content": "a"}, {"role": "tool", "name": "t", "content": "b"}],
}  # fmt: skip
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def conversations() -> dict[str, dict[str, Any]]:
    """Variables of renderings."""
    base = {"tools": None, "documents": None, "add_generation_prompt": False, **TOKENS}
    made = {name: {**base, "messages": messages} for name, messages in DIALOGUES.items()}
    for name in ("hello", "system, two turns", "a call and an answer"):
        made[f"{name}, prompt"] = {**made[name], "add_generation_prompt": True}
        made[f"{name}, tools"] = {**made[name], "tools": TOOLS, "add_generation_prompt": True}
    made["one tool"] = {**made["hello"], "tools": [WEATHER]}
    made["bare tool"] = {**made["hello"], "tools": [NESTED["function"]]}
    made["no tools"] = {**made["hello"], "tools": []}
    documents = [{"title": "Tall", "text": "An emperor penguin."}, {"title": "x", "snippet": "<y>", "text": ""}]
    made["documents"] = {**made["system"], "documents": documents}
    made["flags"] = {**made["a call"], "enable_thinking": False, "date_string": "2 Feb 2025", "tools_in_user_message": False,
                     "reasoning_effort": "low", "add_vision_id": True, "custom_tools": TOOLS}  # fmt: skip
    made["no tokens"] = {"messages": DIALOGUES["system"], "add_generation_prompt": True}
    return made
