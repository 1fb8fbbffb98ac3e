// Types of perpend.mjs.

/** Element types of Perpend. f16 and bf16 are bits in a Uint16Array, types of at most 8 bits take a byte. */
export type Type =
  | "f32" | "f64" | "f16" | "bf16" | "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "bool"
  | "i4" | "u4" | "i2" | "u2" | "f8e4m3fn" | "f8e4m3fnuz" | "f8e5m2" | "f8e5m2fnuz" | "f8e8m0fnu"
  | "f6e2m3fn" | "f6e3m2fn" | "f4e2m1fn" | "string" | "sequence" | "optional";

export type TypedArray =
  | Float32Array | Float64Array | Int8Array | Int16Array | Int32Array | BigInt64Array
  | Uint8Array | Uint8ClampedArray | Uint16Array | Uint32Array | BigUint64Array;

/** A dense array, row-major. Of texts, data are strings; of a list or an optional value, its elements. */
export interface Tensor<Data = TypedArray | string[] | Tensor[]> {
  type: Type;
  shape: number[];
  data: Data;
}

/** The declaration of an input, an output or a state: an extent is a number, or an expression such as "n" or "2*n + 1". */
export interface Info {
  readonly name: string;
  readonly type: Type;
  readonly shape: ReadonlyArray<number | string>;
  /** Of the elements of a sequence or optional value; its shape is null where that may be any. */
  readonly element?: { readonly type: Type; readonly shape: ReadonlyArray<number | string> | null };
}

/** An input: data with its shape, or data alone where at most one extent is unknown. */
export type Input =
  | TypedArray | string[]
  | { data: TypedArray | string[] | Input[]; shape?: ReadonlyArray<number>; type?: Type }
  | Input[] | null;

export class PerpendError extends Error {
  /** A perpend_status of perpend.h. */
  readonly status: number;
}

export class Model {
  private constructor();
  readonly name: string;
  readonly inputs: ReadonlyArray<Info>;
  readonly outputs: ReadonlyArray<Info>;
  readonly states: ReadonlyArray<Info>;
  readonly entries: ReadonlyArray<string>;
  /** That a run uses, at most, the caller's included. */
  readonly threads: number;
  /** Computes the outputs, by name. Inputs: by name, in order, or the only one. */
  run(inputs?: Record<string, Input> | ReadonlyArray<Input> | TypedArray): Record<string, Tensor>;
  /** The outputs' shapes for inputs of these shapes; null where only a run tells. */
  outputShapes(
    shapes: Record<string, ReadonlyArray<number>> | ReadonlyArray<ReadonlyArray<number>>,
  ): Record<string, number[] | null>;
  /** Another entry of a model that has several; it shares memory and states with this one. */
  entry(name: string): Model;
  /** Copies of the states, by name. */
  state(): Record<string, Tensor>;
  /** Gives all states their first values. */
  reset(): void;
  /** Shortens growing states to a length. */
  truncate(length: number): void;
  /** Frees the session's memory; the model is not used afterwards. */
  free(): void;
}

/** An address, a path (Node.js), or bytes. */
export type Source = string | URL | ArrayBuffer | ArrayBufferView;

export interface LoadOptions {
  /** Of a model with several. */
  entry?: string;
  /**
   * At most so many, the caller's included; 0: all cores. A page has one unless it is isolated (crossOriginIsolated),
   * and so has a model for which the engine cannot reserve 4 GiB of shared memory. Default: 1.
   */
  threads?: number;
  /** Of a model with its weights in a file: where that is, or of each file by its name. Default: beside the module. */
  weights?: Source | ((file: string) => Source | Promise<Source>);
  /** Called while files of weights are read, with bytes. */
  progress?: (done: { loaded: number; total: number }) => void;
}

/** Loads a model: the address of a module, its path (Node.js), its bytes, or a WebAssembly.Module. */
export function load(source: Source | WebAssembly.Module, options?: LoadOptions): Promise<Model>;
