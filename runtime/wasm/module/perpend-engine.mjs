// What perpend.mjs loads where it is needed: variants of a module, threads, weights in files. Workers run this file, too (the
// last lines).
import { PerpendError, bytesIn, compile, isBytes, isFile, isNode } from "./perpend.mjs";

//===----------------------------------------------------------------------===//
// Modules as bytes
//===----------------------------------------------------------------------===//

const CUSTOM = 0, IMPORTS = 2, MEMORY = 5, DATA_COUNT = 12, DATA = 11, MEMORY_KIND = 2, SHARED_WITH_MOST = 3;
const PAGE_BYTES = 65536;

/** Of each extension, a module that has one of its instructions. */
const PROBES = {
  "relaxed-simd": "AGFzbQEAAAABCAFgA3t7ewF7AwIBAAoNAQsAIAAgASAC/YUCCw==",
};
const isSupported = (extension) => Object.hasOwn(PROBES, extension) &&
  WebAssembly.validate(Uint8Array.from(atob(PROBES[extension]), (letter) => letter.charCodeAt(0)));

class Reader {
  constructor(bytes, at = 0) { Object.assign(this, { bytes, at }); }
  /** LEB128. */
  number() {
    let value = 0, scale = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (!(byte & 128)) return value;
      scale *= 128;
    }
  }
  slice(count) { return this.bytes.subarray(this.at, (this.at += count)); }
  text() { return new TextDecoder().decode(this.slice(this.number())); }
}

/** [id, start, content] of each section; of something else, what looks like some. */
function sectionsOf(bytes) {
  const list = [], reader = new Reader(bytes, 8);
  while (reader.at < bytes.length) {
    const start = reader.at, id = bytes[reader.at++];
    list.push({ id, start, content: reader.slice(reader.number()) });
  }
  return list;
}

/** Custom sections of a name, behind the name. */
const customOf = (bytes, name) => sectionsOf(bytes).flatMap(({ id, start, content }) => {
  const reader = new Reader(content);
  return id === CUSTOM && reader.text() === name ? [{ start, reader }] : [];
});

/** The first variant whose instructions the engine knows (target/WasmVariants.h); otherwise the module itself. */
function chooseVariant(bytes) {
  const variants = customOf(bytes, "perpend.variant");
  const chosen = variants.find(({ reader }) => reader.text().split(" ").every(isSupported));
  if (!chosen) return bytes;
  const base = bytes.subarray(0, variants[0].start), parts = [], { reader } = chosen;
  while (reader.at < reader.bytes.length) {
    parts.push(reader.slice(reader.number()));
    const from = reader.number();
    parts.push(base.subarray(from, from + reader.number()));
  }
  return joined(parts);
}

function joined(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  return bytes;
}

function leb(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return [...bytes, value];
}

// The module with a shared memory that it imports, and what it would write into its own: it has as many instances as there
// are threads.
function withSharedMemory(bytes) {
  const sections = sectionsOf(bytes), contentOf = (wanted) => sections.find(({ id }) => id === wanted)?.content;
  const memory = new Reader(contentOf(MEMORY), 2); // one, with a limit
  const least = memory.number(), most = memory.number();
  const imports = new Reader(contentOf(IMPORTS)), count = imports.number();
  const name = (text) => [text.length, ...new TextEncoder().encode(text)];
  const added = [...leb(count + 1), ...name("perpend"), ...name("memory"), MEMORY_KIND, SHARED_WITH_MOST, ...leb(least), ...leb(most)];
  const parts = [bytes.subarray(0, 8)];
  for (const { id, content } of sections) {
    if (id === CUSTOM || id === MEMORY || id === DATA || id === DATA_COUNT) continue;
    const rest = id === IMPORTS ? joined([Uint8Array.from(added), content.subarray(imports.at)]) : content;
    parts.push(Uint8Array.of(id, ...leb(rest.length)), rest);
  }
  const segments = [], data = new Reader(contentOf(DATA) ?? Uint8Array.of(0));
  for (let left = data.number(); left > 0; --left) {
    data.at += 2; // active, i32.const
    const address = data.number(); // signed, but a data segment lies below 2 GiB
    ++data.at; // end
    segments.push({ address, content: data.slice(data.number()) });
  }
  return { bytes: joined(parts), least, most, segments };
}

/** Refuses a module whose extensions the engine lacks. */
function checkNeeds(bytes) {
  const needs = customOf(bytes, "perpend.needs").flatMap(({ reader }) =>
    new TextDecoder().decode(reader.slice(Infinity)).split(" "));
  const missing = needs.filter((extension) => !isSupported(extension));
  if (missing.length)
    throw new PerpendError(
      `the model needs ${missing.join(", ")} of the engine, which has none; hint: compile it with --target ` +
        `wasm32,wasm32,+${missing[0]}, which runs with and without`, 7);
}

/** The module that the engine runs, with what it imports in `host`, and the pool of its threads. */
export async function prepare(source, bytes, threads, host) {
  const count = await threadsFor(threads, source);
  if (!bytes) return { module: source };
  const chosen = chooseVariant(bytes);
  checkNeeds(chosen);
  const module = await compile(chosen);
  if (count === 1 || !WebAssembly.Module.exports(module).some(({ name }) => name === "perpend_part")) return { module };
  const shared = withSharedMemory(chosen);
  try {
    host.memory = new WebAssembly.Memory({ initial: shared.least, maximum: shared.most, shared: true });
  } catch (error) { // a shared memory reserves all that it may ever have
    if (error instanceof RangeError) return { module };
    throw error;
  }
  for (const { address, content } of shared.segments) new Uint8Array(host.memory.buffer).set(content, address);
  const pool = new Pool(count, host.memory);
  Object.assign(host, { share: (...job) => pool.share(...job), awake: () => pool.awake() });
  return { module: await compile(shared.bytes), pool };
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

// Positions in the shared words. Workers look at TURN; JOB is 0 while there is none; then one word for each share.
const TURN = 0, JOB = 1, PARTS = 2, SHARES = 3, INSIDE = 4, ASLEEP = 5, FAILED = 6, FIRST = 7;
const WORKER = "perpend worker", MOST_THREADS = 64, STACK_BYTES = 1 << 20, POLL_MS = 0.05, POLLS = 64;

/** Claims parts of the job, of its own share first; returns how many it ran. */
function runParts(words, exports, share) {
  const parts = words[PARTS], shares = words[SHARES], job = words[JOB], each = parts / shares;
  let count = 0;
  for (let i = 0; i < shares; ++i) {
    const other = (share + i) % shares;
    for (let part; (part = Atomics.add(words, FIRST + other, 1)) < each; ++count) exports.perpend_part(job, other * each + part);
  }
  return count;
}

/** Waits some time for `isDone`. */
function poll(isDone, ms = POLL_MS) {
  for (const start = performance.now(); ; ) {
    for (let i = 0; i < POLLS; ++i) if (isDone()) return true;
    if (performance.now() - start > ms) return false;
  }
}

/** What a worker does: waits for a turn, and helps with its job. */
function work(words, exports, share) {
  for (let seen = 0; ; ) {
    if (!poll(() => Atomics.load(words, TURN) !== seen)) {
      Atomics.add(words, ASLEEP, 1);
      Atomics.wait(words, TURN, seen);
      Atomics.sub(words, ASLEEP, 1);
    }
    seen = Atomics.load(words, TURN);
    Atomics.add(words, INSIDE, 1); // from here on the job stays, if there is one
    try {
      if (Atomics.load(words, JOB)) runParts(words, exports, share % words[SHARES]); // whoever is awake
    } catch {
      Atomics.store(words, FAILED, 1);
    }
    Atomics.sub(words, INSIDE, 1);
    Atomics.notify(words, INSIDE);
  }
}

/** Whether this thread may wait: the main thread of a page must not. */
function isAbleToWait(words) {
  try {
    return Boolean(Atomics.wait(words, TURN, -1, 0)); // no turn has this number
  } catch {
    return false;
  }
}

/** The workers of one instance. */
class Pool {
  constructor(threads, memory) {
    this.threads = threads;
    this.memory = memory;
    this.workers = [];
  }

  async start(module, exports) {
    this.exports = exports;
    const count = FIRST + this.threads, address = this.#allocate(4 * count);
    this.words = new Int32Array(this.memory.buffer, address, count).fill(0);
    this.mayWait = isAbleToWait(this.words);
    const { Worker } = isNode ? await import("node:worker_threads") : globalThis;
    const file = new URL(import.meta.url), options = { type: "module", name: WORKER, argv: [WORKER] };
    await Promise.all(Array.from({ length: this.threads - 1 }, (_, i) => new Promise((resolve, reject) => {
      const stack = this.#allocate(STACK_BYTES) + STACK_BYTES; // grows downwards
      const worker = new Worker(file, options);
      const listen = (kind, call) => (isNode ? worker.on(kind, call) : worker.addEventListener(kind, call));
      const fail = (why) => reject(new PerpendError(`a worker did not start: ${why}`, 9));
      this.workers.push(worker);
      listen("message", (message) => {
        const { error } = isNode ? message : message.data;
        if (error) return fail(error);
        worker.unref?.();
        resolve();
      });
      listen("messageerror", () => fail("its answer could not be read"));
      listen("error", ({ message }) => fail( // a page is not told why a file was not loaded
        message || "its file could not be loaded; hint: serve perpend-engine.mjs with Cross-Origin-Embedder-Policy, too"));
      worker.postMessage({ module, memory: this.memory, address, count, stack, share: i + 1 });
    })));
  }

  /** Memory of the instance that stays, aligned as malloc does. */
  #allocate(bytes) {
    const address = this.exports.malloc(bytes) >>> 0;
    if (!address) throw new PerpendError(`no memory for ${this.threads} threads; hint: fewer threads`, 9);
    return address;
  }

  awake() { return Number(this.workers.length > Atomics.load(this.words, ASLEEP)); }

  share(job, parts, shares) {
    const { words, exports } = this;
    words[PARTS] = parts;
    words[SHARES] = shares;
    for (let i = 0; i < shares; ++i) words[FIRST + i] = 0;
    Atomics.store(words, JOB, job);
    Atomics.add(words, TURN, 1);
    if (Atomics.load(words, ASLEEP)) Atomics.notify(words, TURN, shares - 1);
    try {
      return runParts(words, exports, 0);
    } finally {
      // The last parts take less than it takes to sleep, unless a helper has no core.
      Atomics.store(words, JOB, 0);
      for (let inside; (inside = Atomics.load(words, INSIDE)); )
        if (!poll(() => !Atomics.load(words, INSIDE)) && this.mayWait) Atomics.wait(words, INSIDE, inside);
      if (Atomics.exchange(words, FAILED, 0)) throw new PerpendError("a worker of the model has failed");
    }
  }

  end() { for (const worker of this.workers) worker.terminate(); }
}

/** As many as a page or a process may have with a memory that they share. */
async function threadsFor(wanted, source) {
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > MOST_THREADS)
    throw new PerpendError(`threads: expected an integer from 0 (all cores) to ${MOST_THREADS}, got ${wanted}`);
  const isAllowed = isNode || (globalThis.crossOriginIsolated && typeof Worker !== "undefined");
  const threads = !isAllowed ? 1 : wanted || Math.min(MOST_THREADS, await coresHere());
  if (threads > 1 && source instanceof WebAssembly.Module)
    throw new PerpendError("threads: expected the module's bytes or its address, got a WebAssembly.Module; hint: leave threads out");
  return threads;
}
const coresHere = async () => (isNode ? (await import("node:os")).availableParallelism() : navigator.hardwareConcurrency ?? 2);

//===----------------------------------------------------------------------===//
// Weights in files
//===----------------------------------------------------------------------===//

/** Where a file lies of which the name is known; `beside` is the module. */
function addressOf(name, beside) {
  if (isBytes(beside) || beside instanceof WebAssembly.Module)
    throw new PerpendError(`weights: the file '${name}' is missing; hint: pass {weights: its address or bytes}`, 4);
  if (!(beside instanceof URL) && isFile(beside) && !beside.startsWith("file:")) return beside.replace(/[^/]*$/, "") + name;
  const base = new URL(beside, globalThis.document?.baseURI ?? globalThis.location?.href);
  return new URL(name.split("/").map(encodeURIComponent).join("/"), base);
}

/** The content of an address, a path or bytes, in parts. */
async function* partsOf(source) {
  if (isBytes(source)) return yield bytesIn(source);
  const fail = (why) => { throw new PerpendError(`cannot load '${source}': ${why}`, 4); };
  if (isFile(source)) {
    const { createReadStream } = await import("node:fs");
    const path = String(source).startsWith("file:") ? new URL(source) : source;
    try {
      yield* createReadStream(path, { highWaterMark: 1 << 20 });
    } catch (error) {
      fail(error.code === "ENOENT" ? "there is no such file" : error.message);
    }
    return;
  }
  const response = await fetch(source).catch((error) => fail(error.message));
  if (!response.ok) fail(`${response.status} ${response.statusText}`);
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read().catch((error) => fail(error.message));
    if (done) return;
    yield value;
  }
}

/** Reads files into the memory of the instance. `requests`: arguments of the import `weights` (wasm/Segments.cpp). */
export async function readWeights(instance, requests, source, { weights, progress }) {
  const { memory } = instance.exports, wanted = requests.map(([name, fileBytes, offset, address, bytes]) =>
    ({ name: instance.text(name >>> 0), fileBytes, offset, address: address >>> 0, bytes: bytes >>> 0 }));
  const files = new Map(wanted.map(({ name, fileBytes }) => [name, fileBytes]));
  const total = [...files.values()].reduce((a, b) => a + b, 0);
  let loaded = 0;
  for (const [name, fileBytes] of files) {
    const given = (typeof weights === "function" ? await weights(name) : weights) ?? addressOf(name, source);
    const pieces = wanted.filter((piece) => piece.name === name);
    let at = 0;
    for await (const part of partsOf(given)) {
      if (at + part.length > fileBytes) {
        at += part.length;
        break;
      }
      for (const { offset, address, bytes } of pieces) {
        const from = Math.max(offset, at), to = Math.min(offset + bytes, at + part.length);
        if (from < to) new Uint8Array(memory.buffer).set(part.subarray(from - at, to - at), address + from - offset);
      }
      at += part.length;
      progress?.({ loaded: (loaded += part.length), total });
    }
    if (at !== fileBytes)
      throw new PerpendError(
        `weights: '${name}': expected ${fileBytes} bytes, got ${at > fileBytes ? "more" : at}; hint: copy the file that was ` +
          "compiled with the model", 8);
  }
}

/** Makes this thread the worker that the first message describes; its answer is {}, or { error }. */
function serve(port) {
  port.onmessageerror = () => port.postMessage({ error: "it could not read the module and its memory" });
  port.onmessage = async ({ data: { module, memory, address, count, stack, share } }) => {
    const all = (job, parts) => {
      for (let part = 0; part < parts; ++part) exports.perpend_part(job, part);
      return parts;
    };
    const imports = { now: () => performance.now(), share: all, awake: () => 0, weights: () => 0, memory };
    let exports;
    try {
      ({ exports } = await WebAssembly.instantiate(module, { perpend: imports }));
      exports.__stack_pointer.value = stack;
    } catch (error) { // of a promise: nobody else would hear of it
      return port.postMessage({ error: String(error) });
    }
    port.postMessage({});
    setTimeout(() => work(new Int32Array(memory.buffer, address, count), exports, share)); // when the message has left
  };
}

// Without `await`: a browser sends messages as soon as the file has run.
if (!isNode && globalThis.WorkerGlobalScope && globalThis.name === WORKER) serve(globalThis);
if (isNode && process.argv.at(-1) === WORKER) import("node:worker_threads").then(({ parentPort }) => serve(parentPort));
