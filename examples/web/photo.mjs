// From the pixels of a picture to a model's input, and from its output to what a page shows: classes with their parts, or
// a mask.

/** How a model wants its pixels: (value of 0..255, channel) => number. */
export const SCALES = {
  "0 … 1": (value) => value / 255,
  "-1 … 1": (value) => value / 127.5 - 1,
  "0 … 255": (value) => value,
  ImageNet: (value, channel) => (value / 255 - [0.485, 0.456, 0.406][channel]) / [0.229, 0.224, 0.225][channel],
  "BGR - mean": (value, channel) => value - [103.939, 116.779, 123.68][channel],
};

/** Of an input [1, channels, height, width] or [1, height, width, channels]; symbols become 1, or `side`. */
export function layoutOf({ name, type, shape }, side = 224) {
  const channels = [3, 1].find((count) => shape.length === 4 && (shape[1] === count || shape[3] === count));
  const isFirst = shape[1] === channels;
  if (!channels)
    throw new Error(`expected an input of pictures, [1, 3, height, width] or [1, height, width, 3]; '${name}' has [${shape.join(", ")}]`);
  const extentOf = (extent) => (typeof extent === "number" ? extent : side);
  const [height, width] = (isFirst ? shape.slice(2) : shape.slice(1, 3)).map(extentOf);
  return { type, isFirst, channels, height, width };
}

/** The input of a picture with the layout's size (an ImageData). */
export function tensorOf({ data }, { type, isFirst, channels, height, width }, scale) {
  const count = height * width, isBytes = type === "u8", isHalf = type === "f16";
  const values = isBytes ? new Uint8Array(channels * count) : isHalf ? new Uint16Array(channels * count) : new Float32Array(channels * count);
  const isReversed = scale === "BGR - mean" && channels === 3;
  for (let i = 0; i < count; ++i)
    for (let channel = 0; channel < channels; ++channel) {
      const from = isReversed ? 2 - channel : channel;
      const pixel = channels === 1 ? (data[4 * i] + data[4 * i + 1] + data[4 * i + 2]) / 3 : data[4 * i + from];
      const value = isBytes ? pixel : SCALES[scale](pixel, channel);
      values[isFirst ? channel * count + i : i * channels + channel] = isHalf ? toHalf(value) : value;
    }
  return { data: values, shape: isFirst ? [1, channels, height, width] : [1, height, width, channels] };
}

/** A mask of [1, 1, h, w], [1, h, w, 1] or [1, h, w] has rows and columns; what is no mask is a list of classes. */
export function maskOf({ type, shape, data }) {
  const extents = shape.filter((extent) => extent > 1);
  if (extents.length !== 2) return null;
  const [height, width] = extents;
  return { height, width, parts: numbersOf(type, data) };
}

/** The `count` best classes, with softmax where the model has none. */
export function best({ type, data }, labels = [], count = 5) {
  let parts = numbersOf(type, data);
  const sum = parts.reduce((a, b) => a + b, 0);
  if (parts.some((part) => part < 0) || Math.abs(sum - 1) > 0.01) {
    const most = parts.reduce((a, b) => Math.max(a, b), -Infinity), powers = parts.map((part) => Math.exp(part - most));
    const all = powers.reduce((a, b) => a + b, 0);
    parts = powers.map((power) => power / all);
  }
  const order = Array.from(parts.keys()).sort((a, b) => parts[b] - parts[a]).slice(0, count);
  return order.map((index) => ({ label: labels[index] ?? `class ${index}`, part: parts[index] }));
}

const numbersOf = (type, data) => Float64Array.from(data, type === "f16" ? fromHalf : Number);

const word = new Uint32Array(1), float = new Float32Array(word.buffer);

/** Bits of f16, rounded; numbers below its normal ones become 0. */
export function toHalf(value) {
  float[0] = value;
  const sign = (word[0] >>> 16) & 0x8000, exponent = ((word[0] >>> 23) & 255) - 112;
  if (exponent <= 0) return sign;
  return exponent >= 31 ? sign | 0x7c00 : sign | ((exponent << 10) + (((word[0] & 0x7fffff) + 0x1000) >>> 13));
}

export function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >>> 10) & 31, rest = bits & 1023;
  if (exponent === 31) return rest ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + rest / 1024) : rest * 2 ** -24);
}
