"""A language model in PyTorch as the graph that generates text (llm/Module.h): tokens, i64 [n], that follow a text, to
the logits of the next one, f32 [vocabulary], with what the module knows of the text as states.

Three forms, by what the module's forward takes:
    past_key_values: a causal language model of transformers, with a cache class of our own; keys and values grow.
    tokens, or tokens and where they stand: a module that keeps what it needs in buffers, which are states as they are.
    tokens, and keeps nothing: the text is a state, and each step computes it as a whole.
"""

from __future__ import annotations

import copy
import inspect
import shutil
import sys
import warnings
from os import PathLike
from pathlib import Path
from typing import Any, get_type_hints

import torch
from torch import Tensor, nn
from torch._dynamo.convert_frame import compile_lock
from torch.export import Dim, ExportedProgram

from .._perpend import CompileError, Module
from ..temporary_folders import TemporaryFolder
from . import frontend
from .caches import ARGUMENT, LENGTH
from .held_tensors import names_of_held
from .untouched import evaluated

PIECE = 5  # tokens of the example; PyTorch takes 0 and 1 for constants
TEXT = "text"
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "int8": torch.int8}
SHAPE = "the logits [1, n, vocabulary] of n tokens [1, n], or those of the last one"


def logits_of(results: Any) -> Tensor:
    """The logits of the last token, f32 [vocabulary], from what a module returns."""
    found = results["logits"] if isinstance(results, dict) and "logits" in results else results
    found = getattr(found, "logits", found)
    while isinstance(found, (tuple, list)) and found:
        found = found[0]
    if not isinstance(found, Tensor) or not 1 <= found.dim() <= 3 or (found.dim() == 3 and found.shape[0] != 1):
        got = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise TypeError(f"expected {SHAPE}, got {got}")
    return found.reshape(-1, found.shape[-1])[-1].float()


# ----------------------------------------------------------------------------------------------------------------------
# Causal language models of transformers
# ----------------------------------------------------------------------------------------------------------------------


def _layer(parts: dict[str, Tensor]) -> Any:
    """A layer of a cache, whose keys and values are kept in the types of these tensors, and read in those in which the
    module computes. int8: x ~ i s, s = max|x| / 127 for each token and head, as in checkpoints' caches."""
    from transformers.cache_utils import DynamicLayer

    class Layer(DynamicLayer):  # type: ignore[misc]
        def update(self, keys: Tensor, values: Tensor, *args: Any, **options: Any) -> tuple[Tensor, Tensor]:
            self.keys, self.values = (self.appended(name, x) for name, x in (("keys", keys), ("values", values)))
            return self.keys, self.values

        def appended(self, name: str, x: Tensor) -> Tensor:
            kept = parts[name]
            if kept.dtype != torch.int8:
                parts[name] = torch.cat([kept, x.to(kept.dtype)], -2)
                return parts[name].to(x.dtype)
            most = x.float().abs().amax(-1, keepdim=True)
            inverse = torch.where(most > 2.0**-120, 127 / most, 0.0)
            numbers = (x.float() * inverse).round().clamp(-127, 127).to(torch.int8)
            parts[name] = torch.cat([kept, numbers], -2)
            parts[f"{name}_scales"] = torch.cat([parts[f"{name}_scales"], most * (1 / 127)], -2)
            return (parts[name].float() * parts[f"{name}_scales"]).to(x.dtype)

    layer = Layer()
    layer.lazy_initialization(parts["keys"], parts["values"])
    layer.keys, layer.values = parts["keys"], parts["values"]
    return layer


class Cached(nn.Module):  # type: ignore[misc]
    """Takes and returns the parts of all layers' caches by name."""

    def __init__(self, net: nn.Module, entry: str = "prefill") -> None:
        super().__init__()
        self.net, self.entry = net, entry
        self.keeps_last = "logits_to_keep" in inspect.signature(net.forward).parameters

    def forward(self, past: dict[str, Tensor], tokens: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        from transformers import DynamicCache

        layers: dict[str, dict[str, Tensor]] = {}
        for name, tensor in past.items():
            part, _, number = name.rpartition("_")
            layers.setdefault(number, {})[part] = tensor
        cache = DynamicCache()
        cache.layers += [_layer(parts) for parts in layers.values()]
        net = self.net.base_model if self.entry == "embed" else self.net
        options = {"logits_to_keep": 1} if self.keeps_last and self.entry == "prefill" else {}
        results = _call(net, tokens.unsqueeze(0), cache, **options)
        after = {f"{part}_{number}": tensor for number, parts in layers.items() for part, tensor in parts.items()}
        if self.entry == "prefill":
            found = logits_of(results)
        else:
            found = (results.last_hidden_state if self.entry == "embed" else results.logits)[0].float()
        return {name: after[name] for name in past}, found


def _call(net: nn.Module, tokens: Tensor, cache: Any, **options: Any) -> Any:
    """Calls a module with a cache as its forward takes them."""
    parameters = inspect.signature(net.forward).parameters
    options |= {"use_cache": True} if "use_cache" in parameters else {}
    first = {"input_ids": tokens} if "input_ids" in parameters else {}
    return net(*(() if first else (tokens,)), **first, **{ARGUMENT: cache}, **options)


def _check_vocabulary(net: nn.Module, logits: Any) -> None:
    """Errors: CompileError for a head that classifies texts."""
    config: Any = getattr(net, "config", None)
    config = config.get_text_config(decoder=True) if hasattr(config, "get_text_config") else config
    wanted = getattr(config, "vocab_size", None)
    if isinstance(logits, Tensor) and isinstance(wanted, int) and logits.shape[-1] != wanted:
        raise CompileError(
            f"expected a language model with logits of the {wanted} tokens of config.vocab_size, got "
            f"{type(net).__name__} with {list(logits.shape)}\nhint: perpend.compile compiles modules of any kind"
        )


OTHER_STATE = (
    "expected a model whose state is a cache of keys and values ({1}), got {0}: {2}; such a state is not supported"
    "\nhint: a module of your own, whose forward takes tokens and keeps its state in buffers, can be compiled"
)


def _other_state(net: nn.Module, why: str) -> CompileError:
    return CompileError(OTHER_STATE.format(type(net).__name__, ARGUMENT, why))


def _check_state(net: nn.Module) -> None:
    """Of a module without past_key_values. Errors: CompileError for a model of transformers with another cache."""
    models = getattr(sys.modules.get("transformers"), "PreTrainedModel", ())
    if isinstance(net, models) and "use_cache" in inspect.signature(net.forward).parameters:
        raise _other_state(net, f"its forward takes use_cache and no {ARGUMENT}, so it caches something else")


def _has_other_state(net: nn.Module) -> bool:
    """Whether a model that fails with keys and values alone runs with a cache that it makes itself."""
    try:
        with torch.no_grad():
            results = _call(net, torch.zeros(1, PIECE, dtype=torch.int64), None)
    except Exception:
        return False
    return hasattr(getattr(results, ARGUMENT, None), "layers")  # a Cache; modules of one's own may take tuples


def _empty_caches(net: nn.Module, cache_type: str) -> dict[str, Tensor]:
    """The parts of the caches of a text of LENGTH tokens."""
    from transformers import DynamicCache

    cache = DynamicCache()
    try:
        with torch.no_grad():
            results = _call(net, torch.zeros(1, PIECE, dtype=torch.int64), cache)
    except Exception as error:
        if _has_other_state(net):
            failure = f"an empty DynamicCache ({type(error).__name__}: {error})"
            raise _other_state(net, f"it runs with a cache that it makes itself, and not with {failure}") from error
        raise CompileError(
            f"the module fails with an empty DynamicCache: {type(error).__name__}: {error}"
            "\nhint: does model(torch.zeros(1, 5, dtype=torch.int64), "
            "past_key_values=transformers.DynamicCache()) run?"
        ) from error
    _check_vocabulary(net, getattr(results, "logits", None))
    past: dict[str, Tensor] = {}
    for number, layer in enumerate(cache.layers):
        for part in ("keys", "values"):
            made = getattr(layer, part, None)
            if not isinstance(made, Tensor) or made.dim() != 4 or made.shape[2] != PIECE:
                raise _other_state(
                    net, f"layer {number} leaves no keys and values [1, heads, length, size] in a DynamicCache"
                )
            shape = (1, made.shape[1], LENGTH, made.shape[3])
            past[f"{part}_{number}"] = made.new_zeros(shape, dtype=TYPES.get(cache_type, made.dtype))
            if cache_type == "int8":
                past[f"{part}_scales_{number}"] = torch.zeros(1, made.shape[1], LENGTH, 1)
    if not past:
        raise CompileError(f"{type(net).__name__} leaves a DynamicCache empty\nhint: is config.is_decoder set?")
    return past


# ----------------------------------------------------------------------------------------------------------------------
# Modules that keep what they need in buffers, or nothing
# ----------------------------------------------------------------------------------------------------------------------


class Placed(nn.Module):  # type: ignore[misc]
    """The module's second argument says where its tokens stand: how many are before them (place: int), or the positions
    of all (place: Tensor). That number is the length of a text which is kept for its sake, and is cut back with it."""

    def __init__(self, net: nn.Module, place: type) -> None:
        super().__init__()
        self.net, self.place = net, place

    def forward(self, past: dict[str, Tensor], tokens: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        before = past[TEXT].shape[0]
        text = torch.cat([past[TEXT], tokens])
        place = before if self.place is int else torch.arange(tokens.shape[0]) + before
        return {TEXT: text}, logits_of(self.net(tokens.unsqueeze(0), place))


class Counting(nn.Module):  # type: ignore[misc]
    """The module knows itself what came before."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, past: dict[str, Tensor], tokens: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        return {}, logits_of(self.net(tokens.unsqueeze(0)))


class Whole(nn.Module):  # type: ignore[misc]
    """The module computes whole texts, the same as before at the start of each."""

    def __init__(self, net: nn.Module, place: type | None) -> None:
        super().__init__()
        self.net, self.place = net, place

    def forward(self, past: dict[str, Tensor], tokens: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        text = torch.cat([past[TEXT], tokens])
        places = () if self.place is None else (0 if self.place is int else torch.arange(text.shape[0]),)
        return {TEXT: text}, logits_of(self.net(text.unsqueeze(0), *places))


# What a first argument that has a default must be called to be taken for the tokens.
TOKENS = ("tokens", "token_ids", "input_ids", "ids", "idx", "x")


def _arguments(net: nn.Module) -> list[inspect.Parameter]:
    """Those that a call must give, at least the first. Errors: CompileError for other than one or two."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [each for each in inspect.signature(net.forward).parameters.values() if each.kind in kinds]
    needed = [each for each in parameters if each.default is inspect.Parameter.empty]
    if not needed and parameters and parameters[0].name in TOKENS:
        needed = parameters[:1]
    if len(needed) not in (1, 2):
        raise CompileError(
            f"expected a module whose forward takes tokens [1, n], or these and their positions [n] (or, if it is "
            f"declared as int, the number of tokens before), and returns {SHAPE}; forward of {type(net).__name__} "
            f"takes {', '.join(each.name for each in parameters) or 'nothing'}"
            "\nhint: of a language model with other arguments, write a module around it"
        )
    return needed


def _place(net: nn.Module) -> type | None:
    """What forward takes for where its tokens stand: int, Tensor, or None for nothing."""
    arguments = _arguments(net)
    if len(arguments) == 1:
        return None
    try:
        declared = get_type_hints(net.forward).get(arguments[1].name)
    except Exception:  # names that are not defined here
        declared = arguments[1].annotation
    return int if declared in (int, "int") else Tensor


def _eager(net: nn.Module, place: type | None, pieces: list[list[int]], first: int = 0) -> Tensor:
    """The logits behind pieces of a text, by a copy of the module with buffers of its own."""
    own = copy.deepcopy(net, {id(weight): weight for weight in net.parameters()})
    logits = torch.empty(0)
    with torch.no_grad():
        for tokens in pieces:
            places = (first,) if place is int else (torch.arange(first, first + len(tokens)),)
            logits = logits_of(own(torch.tensor([tokens]), *(places if place else ())))
            first += len(tokens)
    return logits


def _check_last_place(net: nn.Module, place: type | None, context: int) -> None:
    """Calls the module with one token at the end of the context: PyTorch says if a table or buffer is shorter, where
    compiled indices would be clamped. Errors: CompileError."""
    try:
        _eager(net, place, [[0]], context - 1)
    except Exception as error:
        raise CompileError(
            f"context: expected {type(net).__name__} to take a token at position {context - 1}, the last of {context}; "
            f"it raises {type(error).__name__}: {error}\nhint: context=N with as many tokens as it has room for"
        ) from error


def _check_pieces(net: nn.Module, place: type | None) -> None:
    """Whether the module keeps what it needs: five tokens must give the same logits at once and in two pieces. Errors:
    CompileError."""
    try:
        whole, pieces = _eager(net, place, [[1, 0, 1, 1, 0]]), _eager(net, place, [[1, 0, 1], [1, 0]])
    except Exception:
        return  # the export says more
    spread = float((whole - pieces).abs().max() / whole.abs().max().clamp(min=1e-30))
    if spread > (1e-2 if next((p.dtype for p in net.parameters()), None) in (torch.float32, torch.float64) else 0.1):
        raise CompileError(
            f"expected a module that keeps in its buffers what later tokens need of earlier ones: {type(net).__name__} "
            f"gives other logits for five tokens at once than for three and then two, by {spread:.1g} of the largest"
            f"\nhint: a module whose forward takes {ARGUMENT}, or that changes no buffers"
        )


# ----------------------------------------------------------------------------------------------------------------------
# Export
# ----------------------------------------------------------------------------------------------------------------------


def _exported(net: nn.Module, past: dict[str, Tensor], dims: dict[str, int]) -> ExportedProgram:
    shapes = {"past": {name: {dims[name]: Dim.DYNAMIC} for name in past}, "tokens": {0: Dim.DYNAMIC}}
    return frontend._exported(net, (past, torch.zeros(PIECE, dtype=torch.int64)), {}, shapes)


def _program(net: nn.Module, context: int, cache_type: str) -> ExportedProgram:
    if getattr(getattr(net, "config", None), "is_encoder_decoder", False):
        raise CompileError(
            f"expected a decoder, got {type(net).__name__}, an encoder with a decoder"
            "\nhint: perpend.compile compiles the parts of it, one by one"
        )
    parameters = inspect.signature(net.forward).parameters
    if ARGUMENT in parameters:
        past = _empty_caches(net, cache_type)
        return _exported(Cached(net), past, dict.fromkeys(past, 2))
    _check_state(net)
    if cache_type != "f32":
        raise CompileError(
            f"cache_type: expected a module whose forward takes {ARGUMENT}, got {type(net).__name__}\n"
            "hint: a module that keeps keys and values in buffers decides their type itself"
        )
    place, text = _place(net), {TEXT: torch.zeros(LENGTH, dtype=torch.int64)}
    if place and context:
        _check_last_place(net, place, context)
    program = _exported(Placed(net, place), text, {TEXT: 0}) if place else _exported(Counting(net), {}, {})
    if frontend._mutated(frontend._decomposed(program)):  # until then the graph has PyTorch's own updates
        _check_pieces(net, place)
        return program
    warnings.warn(
        f"perpend: {type(net).__name__} keeps nothing from call to call, so each token computes the whole text"
        f"\nhint: a module whose forward takes {ARGUMENT}, or one with its cache in buffers, computes each token once",
        stacklevel=6,
    )
    return _exported(Whole(net, place), text, {TEXT: 0})


def _write_settings(net: nn.Module, folder: Path) -> None:
    """What the module's configurations say, as a checkpoint's folder has it."""
    for attribute, file in (("config", "config.json"), ("generation_config", "generation_config.json")):
        config: Any = getattr(net, attribute, None)
        if hasattr(config, "to_json_string"):
            (folder / file).write_text(config.to_json_string())


SMALL_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
)


def _write_tokenizer(tokenizer: Any, folder: Path) -> str:
    """Writes it to the folder. Returns the path that says what it is; empty: there is none."""
    if tokenizer is None:
        return ""
    if isinstance(tokenizer, (str, PathLike)):
        path = Path(tokenizer)
        if not path.exists():
            raise FileNotFoundError(f"tokenizer: there is no '{path}'")
        if not path.is_dir():
            return str(path)
        for name in SMALL_FILES:
            if (path / name).exists():
                shutil.copyfile(path / name, folder / name)
    elif hasattr(tokenizer, "save_pretrained"):
        tokenizer.save_pretrained(folder)
    elif hasattr(tokenizer, "to_str"):  # of the package tokenizers
        (folder / "tokenizer.json").write_text(tokenizer.to_str())
    else:
        raise TypeError(
            "tokenizer: expected one of transformers or tokenizers, the path of a file or folder, or None, got "
            f"{type(tokenizer).__name__}"
        )
    return str(folder)


def _further_entry(net: nn.Module, cache_type: str, entry: str) -> ExportedProgram:
    if entry not in ("embed", "verify"):
        raise CompileError(f"entries: expected embed, verify or both, got '{entry}'")
    if ARGUMENT not in inspect.signature(net.forward).parameters:
        raise CompileError(
            f"entries: expected a module whose forward takes {ARGUMENT}, got {type(net).__name__}, whose buffers other "
            "entries do not share"
        )
    if entry == "embed" and getattr(net, "base_model", net) is net:
        raise CompileError(
            f"entries: embed: expected a model of transformers with a base_model, got {type(net).__name__}"
        )
    past = _empty_caches(net, cache_type)
    return _exported(Cached(net, entry), past, dict.fromkeys(past, 2))


def language_model(net: nn.Module, tokenizer: Any, context: int, cache_type: str, entries: str = "") -> Module:
    """The module with its entries, tokenizer, template and settings. Arguments: as perpend.llm.compile.

    Errors: CompileError, FileNotFoundError, TypeError.
    """
    if cache_type not in ("f32", *TYPES):
        raise CompileError(f"cache_type: expected f32, {', '.join(TYPES)}, got '{cache_type}'")
    with compile_lock, evaluated(net, ()):
        programs = {"prefill": _program(net, context, cache_type)}
        for entry in filter(None, map(str.strip, entries.split(","))):
            programs[entry] = _further_entry(net, cache_type, entry)
        name, held = type(net).__name__, names_of_held(net)
        parts = {
            entry: frontend.import_program(program, name, held=held, cache=1) for entry, program in programs.items()
        }
    module = Module.join(parts) if len(parts) > 1 else parts["prefill"]
    folder = TemporaryFolder()
    try:
        path = Path(folder.name)
        _write_settings(net, path)
        module.make_language_model(str(path), _write_tokenizer(tokenizer, path), context)
    finally:
        folder.cleanup()
    return module


def of_folder(folder: Path) -> nn.Module:
    """The model in a folder as transformers has it, in f32. Errors: CompileError."""
    from transformers import AutoModelForCausalLM

    try:
        return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True).eval()
    except Exception as error:
        raise CompileError(
            f"'{folder}': its architecture has no description here, and transformers cannot load it: "
            f"{type(error).__name__}: {error}"
        ) from error
