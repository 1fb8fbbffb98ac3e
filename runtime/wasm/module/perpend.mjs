// Runs models that Perpend compiled for wasm32, in browsers, workers and Node.js. The types are in perpend.d.mts.
//
//   const model = await load("digits.wasm");
//   const { probabilities } = model.run({ image: { data: new Float32Array(64), shape: [1, 1, 8, 8] } });
//
// perpend-engine.mjs has what only some need: threads, variants, weights in files.

// In the order of perpend_type; an array's name where it is not that of bytes.
const TYPES = (
  "f32:Float32 f64:Float64 f16:Uint16 bf16:Uint16 i8:Int8 i16:Int16 i32:Int32 i64:BigInt64 u8 u16:Uint16 u32:Uint32 " +
  "u64:BigUint64 bool i4:Int8 u4 i2:Int8 u2 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu f6e2m3fn f6e3m2fn f4e2m1fn " +
  "string: sequence: optional:"
).split(" ").map((text) => {
  const [name, array = "Uint8"] = text.split(":");
  return { name, array: globalThis[`${array}Array`] ?? Array };
});
const CODES = new Map(TYPES.map(({ name }, code) => [name, code]));
const STRING = 25, SEQUENCE = 26, OPTIONAL = 27, MAX_RANK = 32;
const TENSOR_BYTES = 16, TEXT_BYTES = 16, LIST_BYTES = 16; // of the structs of perpend.h, with addresses of 4 bytes
const SHAPE_UNKNOWN = 12;

/** An error of the model: what, expected, got, hint. `status` is a perpend_status of perpend.h. */
export class PerpendError extends Error {
  constructor(message, status = 1) {
    super(message);
    this.name = "PerpendError";
    this.status = status;
  }
}

/** The memory of an instance, and its functions. */
class Instance {
  constructor({ exports }, pool) {
    if (!exports.perpend_module_main) throw new PerpendError("this module of WebAssembly is no compiled model", 5);
    this.exports = exports;
    this.pool = pool;
    this.taken = [];
    this.sessions = 0;
  }
  // Views end with each growth of the memory.
  get view() { return new DataView(this.exports.memory.buffer); }
  get bytes() { return new Uint8Array(this.exports.memory.buffer); }
  u32(address) { return this.view.getUint32(address, true); }
  i64(address) { return Number(this.view.getBigInt64(address, true)); }

  text(address, count = this.bytes.indexOf(0, address) - address) {
    return new TextDecoder().decode(this.bytes.slice(address, address + count));
  }
  /** Memory that the next call of `release` frees. */
  allocate(count) {
    const address = this.exports.malloc(count || 1) >>> 0;
    if (!address) throw new PerpendError(`could not allocate ${count} bytes; hint: use a smaller batch`, 9);
    this.taken.push(address);
    return address;
  }
  release() {
    for (const address of this.taken.splice(0)) this.exports.free(address);
  }
  put(content) {
    const address = this.allocate(content.byteLength);
    this.bytes.set(bytesIn(content), address);
    return address;
  }
  putText(text) { return this.put(new TextEncoder().encode(`${text}\0`)); }
  putShape(shape) { return this.put(BigInt64Array.from(shape, BigInt)); }

  /** Calls a function that returns a perpend_status: 0 or SHAPE_UNKNOWN. One that throws leaves its session busy. */
  call(name, ...values) {
    if (this.hasFailed) throw new PerpendError("the model has failed before; hint: load it again");
    this.hasFailed = true;
    const status = this.exports[name](...values);
    this.hasFailed = false;
    if (status && status !== SHAPE_UNKNOWN) throw new PerpendError(this.text(this.exports.perpend_error_message() >>> 0), status);
    return status;
  }
  /** Calls a function that writes an address, and returns that. */
  make(name, ...values) {
    const place = this.allocate(4);
    this.call(name, ...values, place);
    return this.u32(place);
  }

  infoAt(address) {
    const rank = this.view.getInt32(address + 8, true);
    const shape = [], name = this.u32(address), element = this.u32(address + 20);
    for (let i = 0; i < rank; ++i) {
      const extent = this.i64(this.u32(address + 12) + 8 * i);
      shape.push(extent < 0 ? this.text(this.u32(this.u32(address + 16) + 4 * i)) : extent);
    }
    const info = { type: TYPES[this.u32(address + 4)].name, shape: rank < 0 ? null : shape };
    if (name) info.name = this.text(name);
    if (element) info.element = this.infoAt(element);
    return Object.freeze(info);
  }

  /** Writes a perpend_tensor at `address`; a tensor without data has none. */
  putTensor({ type, shape, data }, address) {
    const code = CODES.get(type);
    const fields = [data == null ? 0 : this.putElements(code, data), this.putShape(shape), shape.length, code];
    fields.forEach((field, i) => this.view.setUint32(address + 4 * i, field, true));
  }
  putElements(code, data) {
    if (code === SEQUENCE || code === OPTIONAL) {
      const elements = this.allocate(data.length * TENSOR_BYTES);
      data.forEach((element, i) => this.putTensor(tensorOf(element), elements + i * TENSOR_BYTES));
      return this.putHeads([[elements, data.length]], LIST_BYTES);
    }
    if (code !== STRING) return this.put(data);
    const texts = data.map((text) => (typeof text === "string" ? new TextEncoder().encode(text) : text));
    return this.putHeads(texts.map((text) => [this.put(text), text.byteLength]), TEXT_BYTES);
  }
  /** perpend_string, or perpend_sequence: an address, and a count at byte 8. */
  putHeads(heads, bytes) {
    const start = this.allocate(heads.length * bytes);
    heads.forEach(([address, count], i) => {
      this.view.setUint32(start + i * bytes, address, true);
      this.view.setBigInt64(start + i * bytes + 8, BigInt(count), true);
    });
    return start;
  }

  /** A copy of the perpend_tensor at `address`. */
  tensorAt(address) {
    const [data, dims, rank, code] = [0, 4, 8, 12].map((offset) => this.u32(address + offset));
    const shape = Array.from({ length: rank }, (_, i) => this.i64(dims + 8 * i));
    return { type: TYPES[code].name, shape, data: this.elementsAt(code, data, shape.reduce((a, b) => a * b, 1)) };
  }
  elementsAt(code, data, count) {
    if (code === SEQUENCE || code === OPTIONAL) {
      const elements = this.u32(data);
      return Array.from({ length: this.i64(data + 8) }, (_, i) => this.tensorAt(elements + i * TENSOR_BYTES));
    }
    const { array } = TYPES[code];
    if (code !== STRING) return new array(this.bytes.slice(data, data + count * array.BYTES_PER_ELEMENT).buffer);
    const headAt = (i) => data + i * TEXT_BYTES;
    return Array.from({ length: count }, (_, i) => this.text(this.u32(headAt(i)), this.i64(headAt(i) + 8)));
  }
}

const isTensor = (value) => value != null && value.data !== undefined && !ArrayBuffer.isView(value);

/** An element of a list: a tensor, or a typed array, of which the type follows. */
function tensorOf(value) {
  const data = isTensor(value) ? value.data : value;
  const found = TYPES.find(({ array }) => data?.constructor === array);
  if (!found && !value?.type) throw new PerpendError(`expected a tensor, got ${nameOf(data)}`, 2);
  return { type: value.type ?? found.name, shape: value.shape ?? [data.length], data };
}

function nameOf(value) {
  return value == null ? `${value}` : value.constructor?.name ?? typeof value;
}

/** The extents of an input of `length` elements, of which at most one is symbolic. */
function shapeFor(info, length) {
  const known = info.shape.filter((extent) => typeof extent === "number").reduce((a, b) => a * b, 1);
  const symbols = info.shape.filter((extent) => typeof extent === "string");
  if (symbols.length === 0) return info.shape;
  if (symbols.length === 1 && known > 0 && length % known === 0)
    return info.shape.map((extent) => (typeof extent === "string" ? length / known : extent));
  throw new PerpendError(
    `input '${info.name}': its shape is [${info.shape.join(", ")}], and ${length} elements do not tell it; ` +
      "hint: pass {data, shape}", 3);
}

/** What the caller gave for an input, as a tensor of the model's type. */
function inputOf(info, given) {
  if (info.type === "sequence" || info.type === "optional") {
    const data = isTensor(given) ? given.data : given == null ? [] : given;
    return { type: info.type, shape: [], data: Array.isArray(data) ? data : [data] };
  }
  let { data, shape } = isTensor(given) ? given : { data: given };
  const { array } = TYPES[CODES.get(info.type)];
  const isClamped = array === Uint8Array && data instanceof Uint8ClampedArray;
  if (!(data instanceof array) && !isClamped)
    throw new PerpendError(
      `input '${info.name}': expected ${array === Array ? "an array of texts" : `a ${array.name}`} for ${info.type}, ` +
        `got ${nameOf(data)}`, 2);
  if (given.type !== undefined && given.type !== info.type)
    throw new PerpendError(`input '${info.name}': type: expected ${info.type}, got ${given.type}`, 2);
  shape = Array.from(shape ?? shapeFor(info, data.length), Number);
  if (shape.some((extent) => !Number.isSafeInteger(extent) || extent < 0) || shape.length > MAX_RANK)
    throw new PerpendError(`input '${info.name}': expected extents of at least 0, got [${shape.join(", ")}]`, 3);
  const count = shape.reduce((a, b) => a * b, 1);
  if (count !== data.length)
    throw new PerpendError(
      `input '${info.name}': expected ${count} elements for the shape [${shape.join(", ")}], got ${data.length}; ` +
        `hint: its shape is [${info.shape.join(", ")}]`, 3);
  return { type: info.type, shape, data };
}

/** A compiled model with its session: memory, and states if it has some. */
export class Model {
  #instance;
  #session;
  #model;

  constructor(instance, model, other) {
    const { exports } = instance;
    const listOf = (kind) =>
      Object.freeze(Array.from({ length: exports[`perpend_model_${kind}_count`]?.(model) ?? 0 }, (_, i) =>
        instance.infoAt(exports[`perpend_model_${kind}`](model, i) >>> 0)));
    this.#instance = instance;
    this.#model = model;
    this.threads = instance.pool?.threads ?? 1;
    const options = instance.put(Int32Array.of(this.threads));
    this.#session = other === undefined ? instance.make("perpend_session_create", model, options)
      : instance.make("perpend_session_create_shared", model, other);
    ++instance.sessions;
    instance.release();
    this.name = instance.text(exports.perpend_model_name(model) >>> 0);
    this.inputs = listOf("input");
    this.outputs = listOf("output");
    this.states = listOf("state");
    this.entries = Object.freeze(Array.from({ length: exports.perpend_model_entry_count(model) }, (_, i) =>
      instance.text(exports.perpend_model_entry_name(model, i) >>> 0)));
  }

  /** Another entry of a model that has several; it shares memory and states with this one. */
  entry(name) {
    const instance = this.#instance;
    try {
      const entry = instance.make("perpend_model_entry", this.#model, instance.putText(name));
      return new Model(instance, entry, this.#session);
    } finally {
      instance.release();
    }
  }

  /** Computes the outputs, by name. */
  run(inputs = []) {
    return this.#with(this.#ordered(inputs).map((given, i) => inputOf(this.inputs[i], given)), (list, count) => {
      const instance = this.#instance, outputs = this.#zeroed(this.outputs.length * TENSOR_BYTES);
      instance.call("perpend_session_run", this.#session, list, count, outputs, this.outputs.length);
      return Object.fromEntries(this.outputs.map(({ name }, i) => [name, instance.tensorAt(outputs + i * TENSOR_BYTES)]));
    });
  }

  /** The outputs' shapes for inputs of these shapes; null where only a run tells. */
  outputShapes(shapes) {
    const tensors = this.#ordered(shapes).map((shape, i) => ({ type: this.inputs[i].type, shape: shape.shape ?? shape }));
    return this.#with(tensors, (list, count) => {
      const instance = this.#instance, place = this.#zeroed(8 * MAX_RANK);
      return Object.fromEntries(this.outputs.map(({ name, shape }, i) => {
        const status = instance.call("perpend_session_output_shape", this.#session, list, count, i, place);
        return [name, status ? null : shape.map((_, dim) => instance.i64(place + 8 * dim))];
      }));
    });
  }

  /** Copies of the states, by name. */
  state() {
    return this.#with([], () => Object.fromEntries(this.states.map(({ name }, i) => {
      const place = this.#zeroed(TENSOR_BYTES);
      this.#instance.call("perpend_session_state", this.#session, i, place);
      return [name, this.#instance.tensorAt(place)];
    })));
  }

  /** Gives all states their first values. */
  reset() { this.#changeStates("perpend_session_reset"); }
  /** Shortens growing states to a length. */
  truncate(length) { this.#changeStates("perpend_session_truncate", BigInt(length)); }

  /** Frees the session's memory, and ends the workers with the last one; the model is not used afterwards. */
  free() {
    if (!this.#session) return;
    this.#instance.exports.perpend_session_free(this.#session);
    this.#instance.exports.perpend_model_free(this.#model);
    this.#session = this.#model = 0;
    if (--this.#instance.sessions === 0) this.#instance.pool?.end();
  }

  #changeStates(name, ...values) {
    const instance = this.#instance;
    if (!instance.exports[name]) throw new PerpendError(`model '${this.name}' has no states`);
    instance.call(name, this.#session, ...values);
  }

  #zeroed(count) {
    const address = this.#instance.allocate(count);
    this.#instance.bytes.fill(0, address, address + count);
    return address;
  }

  /** Inputs in the order of the model's. */
  #ordered(given) {
    if (ArrayBuffer.isView(given) || isTensor(given) && !this.inputs.some(({ name }) => name === "data")) given = [given];
    const names = this.inputs.map(({ name }) => name), list = names.map((name) => `'${name}'`).join(", ");
    if (Array.isArray(given)) {
      if (given.length !== names.length)
        throw new PerpendError(
          `model '${this.name}': number of inputs: expected ${names.length}, got ${given.length}; hint: they are ` +
            (list || "none"));
      return given;
    }
    const unknown = Object.keys(given).find((name) => !names.includes(name));
    const missing = names.find((name, i) => !Object.hasOwn(given, name) && this.inputs[i].type !== "optional");
    if (unknown !== undefined || missing !== undefined)
      throw new PerpendError(
        `model '${this.name}': ${unknown === undefined ? `the input '${missing}' is missing` : `no input is named '${unknown}'`}` +
          `; hint: its inputs are ${list || "none"}`);
    return names.map((name) => given[name]);
  }

  #with(tensors, use) {
    const instance = this.#instance;
    if (!this.#session) throw new PerpendError("the model has been freed");
    try {
      const list = instance.allocate(tensors.length * TENSOR_BYTES);
      tensors.forEach((tensor, i) => instance.putTensor(tensor, list + i * TENSOR_BYTES));
      return use(list, tensors.length);
    } finally {
      instance.release();
    }
  }
}

/** For perpend-engine.mjs. */
export const isNode = typeof process !== "undefined" && Boolean(process.versions?.node);
export const isBytes = (source) => source instanceof ArrayBuffer || ArrayBuffer.isView(source);
export const bytesIn = (source) => (ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
  : new Uint8Array(source));
export const isFile = (source) => isNode && !/^(?!file:)[a-z][a-z0-9+.-]+:/i.test(source);

async function read(source) {
  if (isBytes(source)) return bytesIn(source);
  try {
    if (isFile(source)) {
      const { readFile } = await import("node:fs/promises");
      return await readFile(String(source).startsWith("file:") ? new URL(source) : source);
    }
    const response = await fetch(source);
    if (!response.ok) throw Error(`${response.status} ${response.statusText}`);
    return new Uint8Array(await response.arrayBuffer());
  } catch ({ code, message }) {
    throw new PerpendError(`cannot load '${source}': ${code === "ENOENT" ? "there is no such file" : message}`, 4);
  }
}

/** Whether the module has sections that only perpend-engine.mjs reads: it ends with the name of one that is empty. */
const isSpecial = (bytes) => new TextDecoder().decode(bytes.subarray(-12)) === "perpend.more";

export async function compile(bytes) {
  try {
    return await WebAssembly.compile(bytes);
  } catch (error) {
    throw new PerpendError(`no model: ${error.message}; hint: the engine needs WebAssembly 2.0 with SIMD`, 5);
  }
}

/** Loads a model: its address, a path (Node.js), its bytes, or a WebAssembly.Module. */
export async function load(source, options = {}) {
  const { entry, threads = 1 } = options, wanted = [], more = () => import("./perpend-engine.mjs");
  let filled = 0;
  const host = {
    now: () => performance.now(),
    share: () => 0,
    awake: () => 0,
    weights: (...piece) => (wanted.push(piece), filled),
  };
  const bytes = source instanceof WebAssembly.Module ? null : await read(source);
  const { module, pool } = threads !== 1 || (bytes && isSpecial(bytes)) ? await (await more()).prepare(source, bytes, threads, host)
    : { module: bytes ? await compile(bytes) : source };
  const instance = new Instance(await WebAssembly.instantiate(module, { perpend: host }), pool);
  try {
    const { exports } = instance, make = () => instance.make("perpend_model_from_module", exports.perpend_module_main());
    let main;
    try {
      main = make();
    } catch (error) {
      if (!wanted.length) throw error;
      await (await more()).readWeights(instance, wanted, source, options);
      filled = 1;
      main = make();
    }
    await pool?.start(module, exports);
    const chosen = entry ? instance.make("perpend_model_entry", main, instance.putText(entry)) : main;
    return new Model(instance, chosen);
  } catch (error) {
    pool?.end();
    throw error;
  } finally {
    instance.release();
  }
}
