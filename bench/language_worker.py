"""A worker for turns.py that runs one language model in one engine.

usage: language_worker.py ENGINE MODEL WORK COUNT BEFORE THREADS CACHE_TYPE
       language_worker.py memory LIBRARY BYTES

WORK: `prefill` computes a prompt of COUNT tokens, `decode` COUNT tokens one after the other behind BEFORE others.
The outputs are the logits of the last token. MODEL is what the engine loads. It needs NumPy and the engine alone, so
that each engine may have a Python environment of its own. `memory` only reads BYTES in large pages, by
read_memory.c as a library.
"""

import ctypes
import importlib.metadata
import mmap
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from turns import Arrays, serve

CHUNK = 512
LARGE_PAGE = 1 << 21


class Work(NamedTuple):
    kind: str
    length: int  # tokens of a run
    before: int  # tokens in the cache, of decode

    def tokens(self, vocabulary: int) -> list[int]:
        count = self.length + self.before
        return [int(token) for token in np.random.default_rng(0).integers(259, vocabulary, count)]


def perpend_engine(path: str, work: Work, threads: int, cache_type: str) -> Callable[[], Arrays]:
    """The type of the cache was chosen when the model was compiled."""
    import perpend.llm

    model = perpend.llm.load(path, threads=threads)
    tokens = work.tokens(model.vocabulary)

    def prefill() -> Arrays:
        model._sequence.set([])
        return [model.logits(tokens)]

    def decode() -> Arrays:
        logits: Any = None
        for count in range(work.before, len(tokens)):
            logits = model.logits(tokens[: count + 1])
        return [logits]

    if work.kind == "prefill":
        return prefill
    model.logits(tokens[: work.before])
    return decode


class Llama:
    """A context of llama.cpp, by its C interface."""

    def __init__(self, path: str, threads: int, cache_type: str, context: int) -> None:
        import llama_cpp

        self.api: Any = llama_cpp
        self.api.llama_backend_init()
        self.model = self.api.llama_model_load_from_file(path.encode(), self.api.llama_model_default_params())
        if not self.model:
            raise ValueError(f"llama.cpp does not load '{Path(path).name}'")
        self.vocabulary: int = self.api.llama_vocab_n_tokens(self.api.llama_model_get_vocab(self.model))
        settings = self.api.llama_context_default_params()
        settings.n_ctx, settings.n_batch, settings.n_ubatch = context, CHUNK, CHUNK
        settings.n_threads = settings.n_threads_batch = threads
        settings.type_k = settings.type_v = {"f32": 0, "f16": 1, "bf16": 30, "q8": 8}[cache_type]
        self.context = self.api.llama_init_from_model(self.model, settings)
        self.memory = self.api.llama_get_memory(self.context)
        self.batch = self.api.llama_batch_init(CHUNK, 0, 1)

    def cut(self, length: int) -> None:
        self.api.llama_memory_seq_rm(self.memory, 0, length, -1)

    def add(self, tokens: list[int], first: int) -> None:
        for start in range(0, len(tokens), CHUNK):
            part = tokens[start : start + CHUNK]
            self.batch.n_tokens = len(part)
            for i, token in enumerate(part):
                self.batch.token[i], self.batch.pos[i] = token, first + start + i
                self.batch.n_seq_id[i], self.batch.seq_id[i][0] = 1, 0
                self.batch.logits[i] = start + i == len(tokens) - 1
            if status := self.api.llama_decode(self.context, self.batch):
                raise ValueError(f"llama_decode: {status}")

    def logits(self) -> NDArray[np.float32]:
        found = self.api.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(found, (self.vocabulary,)).copy()


def llama_engine(path: str, work: Work, threads: int, cache_type: str) -> Callable[[], Arrays]:
    llama = Llama(path, threads, cache_type, work.before + work.length + 8)
    tokens = work.tokens(llama.vocabulary)

    def prefill() -> Arrays:
        llama.cut(0)
        llama.add(tokens, 0)
        return [llama.logits()]

    def decode() -> Arrays:
        llama.cut(work.before)
        for count in range(work.before, len(tokens)):
            llama.add(tokens[count : count + 1], count)
            logits = llama.logits()
        return [logits]

    if work.kind == "prefill":
        return prefill
    llama.add(tokens[: work.before], 0)
    return decode


def memory_reader(library: str, count: int) -> Callable[[], Arrays]:
    read: Any = ctypes.CDLL(library).read_memory
    read.argtypes, read.restype = [ctypes.c_void_p, ctypes.c_size_t], ctypes.c_uint64
    size = (count + LARGE_PAGE - 1) // LARGE_PAGE * LARGE_PAGE
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    data = np.frombuffer(memory, np.uint8)
    data[:] = 1
    return lambda: [np.array([read(data.ctypes.data, count // 256 * 256)], np.uint64)]


ENGINES = {"perpend": perpend_engine, "llama.cpp": llama_engine}


def main() -> None:
    if sys.argv[1] == "memory":
        library, size = sys.argv[2:]
        return serve(lambda: memory_reader(library, int(size)))
    engine, model, kind, count, before, threads, cache_type = sys.argv[1:]
    if engine == "llama.cpp":
        print("llama.cpp", importlib.metadata.version("llama_cpp_python"), file=sys.stderr)
    os.environ.setdefault("OMP_WAIT_POLICY", "active")
    work = Work(kind, int(count), int(before) if kind == "decode" else 0)
    serve(lambda: ENGINES[engine](model, work, int(threads), cache_type))


if __name__ == "__main__":
    main()
