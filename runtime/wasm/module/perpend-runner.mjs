// perpend-runner.mjs MODEL.wasm [ENTRY [THREADS]]: what perpend-runner is for other architectures (runtime/runner/Main.cpp),
// in Node.js. Requests and replies are in runtime/runner/Wire.h.
import { readSync, writeSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { load } from "./perpend.mjs";

const TYPES = (
  "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool i4 u4 i2 u2 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu " +
  "f6e2m3fn f6e3m2fn f4e2m1fn string sequence optional"
).split(" ");
const ARRAYS = {
  f32: Float32Array, f64: Float64Array, f16: Uint16Array, bf16: Uint16Array, i8: Int8Array, i16: Int16Array,
  i32: Int32Array, i64: BigInt64Array, u16: Uint16Array, u32: Uint32Array, u64: BigUint64Array, i4: Int8Array, i2: Int8Array,
};
const RUN = 1, TIME = 3; // otherwise shapes

/** The other side has gone. */
class Gone extends Error {}

function again(call) {
  for (;;)
    try {
      return call();
    } catch (error) {
      if (error.code === "EOF" || error.code === "EPIPE" || error.code === "ECONNRESET") throw new Gone();
      if (error.code !== "EAGAIN" && error.code !== "EINTR") throw error;
    }
}

function receive(count) {
  const bytes = new Uint8Array(count);
  for (let done = 0; done < count; ) {
    const more = again(() => readSync(0, bytes, done, count - done, null));
    if (!more) throw new Gone();
    done += more;
  }
  return bytes;
}

function send(bytes) {
  for (let done = 0; done < bytes.length; ) done += again(() => writeSync(1, bytes, done));
}

const receiveWord = () => Number(new BigInt64Array(receive(8).buffer)[0]);
const receiveList = (count, next) => Array.from({ length: count }, next);

function receiveTensor() {
  const type = TYPES[receiveWord()], shape = receiveList(receiveWord(), receiveWord);
  if (!receiveWord()) return { type, shape };
  if (type === "sequence" || type === "optional") return { type, shape, data: receiveList(receiveWord(), receiveTensor) };
  const count = shape.reduce((a, b) => a * b, 1), array = ARRAYS[type] ?? Uint8Array;
  if (type === "string") return { type, shape, data: receiveList(count, () => receive(receiveWord())) };
  return { type, shape, data: new array(receive(count * array.BYTES_PER_ELEMENT).buffer) };
}

const sendWords = (...words) => send(new Uint8Array(BigInt64Array.from(words, BigInt).buffer));

function sendText(text) {
  const bytes = new TextEncoder().encode(text);
  sendWords(bytes.length);
  send(bytes);
}

function sendTensor({ type, shape, data }) {
  sendWords(TYPES.indexOf(type), shape.length, ...shape, data === undefined ? 0 : 1);
  if (data === undefined) return;
  if (type === "sequence" || type === "optional") {
    sendWords(data.length);
    data.forEach(sendTensor);
  } else if (type === "string") {
    data.forEach(sendText);
  } else {
    send(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }
}

function reply(tensors) {
  sendWords(0, tensors.length);
  tensors.forEach(sendTensor);
}

/** Of a number of ms, the times of runs in ms; the first run, which plans memory, is not among them. */
function timesOf(model, inputs, limit) {
  const times = [], forget = () => model.states.length && model.reset();
  forget();
  model.run(inputs);
  const start = performance.now();
  do {
    forget();
    const before = performance.now();
    model.run(inputs);
    times.push(performance.now() - before);
  } while (performance.now() - start < limit);
  return { type: "f64", shape: [times.length], data: Float64Array.from(times) };
}

function answer(model, request, tensors) {
  const listOf = (infos, values) => infos.map(({ name }) => values[name]);
  if (request === RUN) return [...listOf(model.outputs, model.run(tensors)), ...listOf(model.states, model.state())];
  if (request === TIME) return [timesOf(model, tensors.slice(0, -1), tensors.at(-1).data[0])];
  const shapes = model.outputShapes(tensors.map(({ shape }) => shape));
  return model.outputs.map(({ name, type, shape }) => ({ type, shape: shapes[name] ?? shape.map(() => 1) }));
}

/** Of Node.js 20, which has it behind an option. */
function allowRelaxedSimd() {
  if (Number(process.versions.node.split(".")[0]) < 22) setFlagsFromString("--experimental-wasm-relaxed-simd");
}

async function serve(path, entry, threads) {
  const model = await load(path, { entry, threads });
  reply([]);
  for (;;) {
    const request = receiveWord();
    const tensors = receiveList(receiveWord(), receiveTensor);
    try {
      reply(answer(model, request, tensors));
    } catch (error) {
      if (error instanceof Gone) throw error;
      sendWords(error.status ?? 1);
      sendText(error.message);
    }
  }
}

if (process.argv.length < 3) {
  console.error("usage: perpend-runner.mjs MODEL.wasm [ENTRY [THREADS]]");
  process.exit(2);
}
try {
  allowRelaxedSimd();
  await serve(process.argv[2], process.argv[3], Math.max(1, Number(process.argv[4] ?? 1)));
} catch (error) {
  if (!(error instanceof Gone)) {
    sendWords(error.status ?? 1);
    sendText(error.message);
    process.exitCode = 1;
  }
}
