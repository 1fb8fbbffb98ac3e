//===- Vectors.td - vector instructions of the table QuoinISA.td -------------===//

//===- F: one operand --------------------------------------------------------===//

class Unary<int opcode, string name, string text, int rate = 1> : Inst<opcode, name, "F", "VX", text> {
  let Dst = Op<"L1 L0C">;
  let Src0 = Op<"L1 L0C">;
  let Rules = [Types<floats, floats>];
  let Extents = box;
  let Fields = "Stride1 Stride2 Inner";
  let Cycles = "Vector";
  let Rate = rate;
}
class UnaryAny<int opcode, string name, string text> : Unary<opcode, name, text> {
  let Rules = [Types<floats, floats>, Same<ints, 1>];
}
def mov : UnaryAny<0x601, "mov", "x"> { let Rules = [Same<all, 1>, Types<floats, floats>]; }
def neg : UnaryAny<0x602, "neg", "-x; integers wrap">;
def abs : UnaryAny<0x603, "abs", "|x|; integers wrap">;
def sqr : UnaryAny<0x604, "sqr", "x * x; integers wrap">;
def sqrt : Unary<0x605, "sqrt", "the square root, rounded correctly", 4>;
def rsqrt : Unary<0x606, "rsqrt", "1 / sqrt(x), of which each step is rounded", 4>;
def recip : Unary<0x607, "recip", "1 / x, rounded correctly", 4>;
def exp : Unary<0x608, "exp", "e^x", 4>;
def exp2 : Unary<0x609, "exp2", "2^x", 4>;
def ln : Unary<0x60A, "ln", "the natural logarithm", 4>;
def log2 : Unary<0x60B, "log2", "the logarithm to base 2", 4>;
def sin : Unary<0x60C, "sin", "the sine", 4>;
def cos : Unary<0x60D, "cos", "the cosine", 4>;
def tanh : Unary<0x60E, "tanh", "the hyperbolic tangent", 4>;
def sigmoid : Unary<0x60F, "sigmoid", "1 / (1 + e^-x)", 4>;
def erf : Unary<0x610, "erf", "the error function", 4>;
def gelu : Unary<0x611, "gelu", "x / 2 * (1 + erf(x / sqrt 2))", 4>;
def silu : Unary<0x612, "silu", "x * sigmoid(x)", 4>;
def relu : UnaryAny<0x613, "relu", "maximum(x, 0)">;
def sign : UnaryAny<0x614, "sign", "-1, 0 or 1; a zero keeps its sign">;
def floor : Unary<0x615, "floor", "the greatest integer that is at most x">;
def ceil : Unary<0x616, "ceil", "the least integer that is at least x">;
def rne : Unary<0x617, "rne", "the nearest integer; of two, the even one">;
def trunc : Unary<0x618, "trunc", "x without its fraction">;
def not_ : Unary<0x619, "not", "the complement; of a pred8, 1 - x"> { let Rules = [Same<"i8 u8 i16 i32 pred8", 1>]; }
def isnan : Unary<0x61A, "isnan", "1 where x is no number"> { let Rules = [Types<"pred8", floats>]; }
def lut : Unary<0x61B, "lut", "src1[x] of a table of 256 elements; an i8 counts from -128"> {
  let Src1 = Op<"L1", "Table256", 512>;
  let Rules = [Types<"i8 u8 f16 bf16 f32", "i8 u8">];
}

//===- G: two and three operands ---------------------------------------------===//

class Binary<int opcode, string name, string text, int rate = 1> : Inst<opcode, name, "G", "VX", text> {
  let Dst = Op<"L1 L0C">;
  let Src0 = Op<"L1 L0C">;
  let Src1 = Op<"L1 L0C">;
  let Rules = [Types<floats, floats, floats>, Same<ints, 2>];
  let Modes = "mm mv mc mf";
  let Extents = box;
  let Fields = "Stride1 Stride2 Inner Imm0 Saturate";
  let Cycles = "Vector";
  let Rate = rate;
}
class Bits<int opcode, string name, string text> : Binary<opcode, name, text> {
  let Rules = [Same<"i8 u8 i16 i32 pred8", 2>];
  let Fields = "Stride1 Stride2 Inner Imm0";
}
class Shift<int opcode, string name, string text> : Binary<opcode, name, text> {
  let Rules = [Same<ints, 2>];
  let Fields = "Stride1 Stride2 Inner Imm0";
}
class Compare<int opcode, string name, string text> : Binary<opcode, name, text> {
  let Rules = [Types<"pred8", floats, floats>, Types<"pred8", "i8", "i8">, Types<"pred8", "u8", "u8">,
               Types<"pred8", "i16", "i16">, Types<"pred8", "i32", "i32">, Types<"pred8", "pred8", "pred8">];
  let Fields = "Stride1 Stride2 Inner Imm0";
}
def add : Binary<0x701, "add", "a + b; integers wrap, or saturate if `sat` is set">;
def sub : Binary<0x702, "sub", "a - b; integers as add">;
def mul : Binary<0x703, "mul", "a * b; integers as add">;
def div : Binary<0x704, "div", "a / b, rounded correctly; integers truncate, and x / 0 is 0", 4>;
def max : Binary<0x705, "max", "IEEE maximum: a NaN wins, +0 is above -0">;
def min : Binary<0x706, "min", "IEEE minimum">;
def pow : Binary<0x707, "pow", "a^b", 4> {
  let Rules = [Types<floats, floats, floats>];
  let Fields = "Stride1 Stride2 Inner Imm0";
}
def mod : Binary<0x708, "mod", "a - b * trunc(a / b), exact, with a's sign; `floor`: with b's sign; integers x mod 0 is 0", 4> {
  let Fields = "Stride1 Stride2 Inner Imm0";
  let Variants = "floor";
}
def and_ : Bits<0x709, "and", "bitwise and">;
def or_ : Bits<0x70A, "or", "bitwise or">;
def xor_ : Bits<0x70B, "xor", "bitwise exclusive or">;
def shl : Shift<0x70C, "shl", "a << b; 0 if b is not below the number of bits">;
def shr : Shift<0x70D, "shr", "a >> b of the bits; 0 if b is not below their number">;
def sar : Shift<0x70E, "sar", "a >> b with copies of the sign">;
def ceq : Compare<0x70F, "ceq", "a == b">;
def cne : Compare<0x710, "cne", "a != b">;
def clt : Compare<0x711, "clt", "a < b">;
def cle : Compare<0x712, "cle", "a <= b">;
def cgt : Compare<0x713, "cgt", "a > b">;
def cge : Compare<0x714, "cge", "a >= b">;
def sel : Binary<0x715, "sel", "src1 where src0 is 1, otherwise src2, to which the mode applies"> {
  let Src2 = Op<"L1 L0C">;
  let ModeOperand = 3;
  let Rules = [Types<"i8", "pred8", "i8">, Types<"u8", "pred8", "u8">, Types<"i16", "pred8", "i16">,
               Types<"i32", "pred8", "i32">, Types<floats, "pred8", floats>, Types<"pred8", "pred8", "pred8">];
  let Fields = "Stride1 Stride2 Inner Imm0";
}
def fma : Binary<0x716, "fma", "src0 * src1 + src2; product and sum are rounded; the mode applies to src2"> {
  let Src2 = Op<"L1 L0C">;
  let ModeOperand = 3;
  let Fields = "Stride1 Stride2 Inner Imm0";
}
def absdiff : Binary<0x717, "absdiff", "|a - b|; integers wrap"> { let Fields = "Stride1 Stride2 Inner Imm0"; }
def addrelu : Binary<0x718, "addrelu", "activation(a + b), or maximum(a + b, 0) if there is none"> {
  let Fields = "Stride1 Stride2 Inner Imm0 Activation";
  let Rules = [Types<floats, floats, floats>];
}

//===- H: conversions --------------------------------------------------------===//

class Convert<int opcode, string name, string text> : Inst<opcode, name, "H", "VX", text> {
  let Dst = Op<"L1 L0C">;
  let Src0 = Op<"L1 L0C">;
  let Extents = box;
  let Fields = "Stride1 Stride2 Inner Imm0 Imm1";
  let Cycles = "Vector";
}
def cvt : Convert<0x801, "cvt", "x in another type: to floats nearest even, from floats to integers truncated; integers wrap, or saturate if `sat` is set (NaN is 0); pred8 is x != 0"> {
  let Rules = [Types<all, all>];
  let Fields = "Stride1 Stride2 Inner Saturate";
}
def quant : Convert<0x802, "quant", "rne(x / imm0) + imm1, saturated">{ let Rules = [Types<"i8 u8 i16", floats>]; let Rate = 2; }
def quant_pc : Convert<0x803, "quant.pc", "rne(x / src1) + imm1, saturated; src1 has a scale of each column (mv) or row (mc)"> {
  let Src1 = Op<"L1">;
  let Rules = [Types<"i8 u8 i16", floats, "f32">];
  let Modes = "mv mc";
  let Fields = "Stride1 Stride2 Inner Imm1";
  let Rate = 2;
}
def dequant : Convert<0x804, "dequant", "(x - imm1) * imm0"> { let Rules = [Types<floats, ints>]; }
def dequant_pc : Convert<0x805, "dequant.pc", "(x - imm1) * src1, as quant.pc"> {
  let Src1 = Op<"L1">;
  let Rules = [Types<floats, ints, "f32">];
  let Modes = "mv mc";
  let Fields = "Stride1 Stride2 Inner Imm1";
}
def requant : Convert<0x806, "requant", "rne(x * scale) + imm1, saturated; the scale is src1, of each column (mv) or row (mc), or imm0 (mf)"> {
  let Src1 = Op<"L1">;
  let Rules = [Types<"i8 u8 i16", "i32", "f32">];
  let Modes = "mv mc mf";
}
def drain : Convert<0x807, "drain", "activation((C + src1) * scale) of m rows of n accumulators; src1 is a bias of each column (mv) or row (mc) in C's type, or absent (mf); the scale is src2, of each column, in f32, or imm0, or absent (0); integers become rne(x) + imm1, saturated, an i32 that is not scaled wraps as before"> {
  let Dst = Op<"L1">;
  let Src0 = Op<"L0C", "TileC", 1024>;
  let Src1 = Op<"L1">;
  let Src2 = Maybe<"L1", "Line">;
  let Rules = [Types<"i8 u8 i16 f16 bf16 f32", "f32", "f32">, Types<numbers, "i32", "i32">];
  let Modes = "mv mc mf";
  let Extents = "n:4095 m:1024";
  let Fields = "Stride1 Imm0 Imm1 Activation";
}
def clip : Convert<0x808, "clip", "minimum(maximum(x, imm0), imm1)"> { let Rules = [Types<floats, floats>, Same<ints, 1>]; }

//===- I: reductions ---------------------------------------------------------===//

class Reduce<int opcode, string name, string text> : Inst<opcode, name, "I", "VX", text> {
  let Dst = Op<"L1", "Reduced">;
  let Src0 = Op<"L1 L0C">;
  let Rules = [Types<floats, floats>, Types<"i32", ints>];
  let Extents = box;
  let Fields = "Stride1 Stride2 Inner Axis";
  let Cycles = "VectorReduce";
}
defvar reduced = " over e0 (axis=0), over e1 (axis=1), or over both (axis=2)";
def rsum : Reduce<0x901, "rsum", !strconcat("the sum", reduced, ", as 16 partial sums by index mod 16 and then pairwise")>;
def rmax : Reduce<0x902, "rmax", !strconcat("the maximum", reduced)> { let Rules = [Types<floats, floats>, Same<ints, 1>]; }
def rmin : Reduce<0x903, "rmin", !strconcat("the minimum", reduced)> { let Rules = [Types<floats, floats>, Same<ints, 1>]; }
def rprod : Reduce<0x904, "rprod", !strconcat("the product", reduced, ", in the order of rsum")>;
def rargmax : Reduce<0x905, "rargmax", !strconcat("the lowest index of the maximum", reduced, "; a NaN wins")> { let Rules = [Types<"i32", numbers>]; }
def rargmin : Reduce<0x906, "rargmin", !strconcat("the lowest index of the minimum", reduced, "; a NaN wins")> { let Rules = [Types<"i32", numbers>]; }
def rsumsq : Reduce<0x907, "rsumsq", !strconcat("the sum of x * x", reduced, ", in the order of rsum")>;
def cumsum : Reduce<0x908, "cumsum", "the sum up to each element, in order, along e0 (axis=0) or e1 (axis=1); `exclusive`: without the element; `reverse`: from the end"> {
  let AxisMax = 1;
  let Dst = Op<"L1">;
  let Rules = [Types<floats, floats>, Same<ints, 1>];
  let Variants = "exclusive reverse";
}
def welford : Reduce<0x909, "welford", !strconcat("the mean and, one element behind it, the variance", reduced, ": rsum / n, then the rsum of (x - mean)^2, / n")> {
  let Dst = Op<"L1", "ReducedPair">;
  let Rules = [Types<floats, floats>];
}

//===- J: layout -------------------------------------------------------------===//

class Layout<int opcode, string name, string text> : Inst<opcode, name, "J", "VX", text> {
  let Dst = Op<"L1">;
  let Src0 = Op<"L1">;
  let Rules = [Same<all, 1>];
  let Extents = box;
  let Fields = "Stride1 Stride2 Inner";
  let Cycles = "Vector";
  let Rate = 2;
}
def tr2 : Layout<0xA01, "tr2", "Transposes each of e2 planes of e1 rows of e0 elements."> { let Dst = Op<"L1", "Transposed">; }
def perm3 : Layout<0xA02, "perm3", "Dimension d of the result, from the innermost, is dimension p_d of the source; axis = p0 + 4 * p1 + 16 * p2."> {
  let AxisMax = 63;
  let Dst = Op<"L1", "Permuted">;
  let Fields = "Stride1 Stride2 Inner Axis";
}
def gather : Layout<0xA03, "gather", "Row r of e0 elements is row src1[r] of src0, which has imm0 rows."> {
  let Src0 = Op<"L1", "Table">;
  let Src1 = Op<"L1", "Index">;
  let Rules = [Moves<all, "i32">];
  let Extents = plane;
  let Fields = "Stride1 Imm0 IntImm";
}
def scatter : Layout<0xA04, "scatter", "Row r of src0 becomes row src1[r] of the result, which has imm0 rows, in order of r."> {
  let Dst = Op<"L1", "Table">;
  let Src1 = Op<"L1", "Index">;
  let Rules = [Moves<all, "i32">];
  let Extents = plane;
  let Fields = "Stride1 Imm0 IntImm";
}
def bcast : Layout<0xA05, "bcast", "Repeats a row (mv), a column (mc) or an element (mf) of src0."> {
  let Modes = "mv mc mf";
  let ModeOperand = 1;
  let Rate = 1;
}
def pad : Layout<0xA06, "pad", "Copies e2 planes of e1 rows into the middle of padTop + e2 + padBottom planes of padLeft + e1 + padRight rows; the border is imm0."> {
  let Dst = Op<"L1", "PaddedRows">;
  let Fields = "Stride1 Stride2 Pad Imm0";
}
def im2col : Layout<0xA07, "im2col", "m rows of k elements as fd.a.im2col has them, in rows of dst's stride1; outside of the image is imm0."> {
  let Dst = Op<"L1", "Plane">;
  let Src0 = Op<"L1", "Image">;
  let Extents = "k:65535 m:4095 width:4095";
  let Fields = !strconcat("Stride1 Stride2 Imm0 Start Channels ", image);
}
def col2im : Layout<0xA08, "col2im", "Adds m rows of k elements, as im2col makes them, to the pixels of the image dst, in order."> {
  let Dst = Op<"L1", "Image">;
  let Src0 = Op<"L1", "Plane">;
  let Rules = [Types<floats, floats>, Same<"i32", 1>];
  let Extents = "k:65535 m:4095 width:4095";
  let Fields = !strconcat("Stride1 Stride2 Start Channels ", image);
}
def rev : Layout<0xA09, "rev", "Reverses dimension axis."> { let Fields = "Stride1 Stride2 Inner Axis"; }
def iota : Layout<0xA0A, "iota", "imm0 + imm1 * the index along dimension axis."> {
  let Src0 = Nothing;
  let Rules = [Same<numbers, 0>];
  let Fields = "Stride1 Stride2 Inner Axis Imm0 Imm1";
  let Rate = 1;
}
def tri : Layout<0xA0B, "tri", "x where i0 <= i1 + imm1 (`upper`: >=), otherwise imm0."> {
  let Fields = "Stride1 Stride2 Inner Imm0 Imm1";
  let Variants = "upper";
  let Rate = 1;
}
def sortblk : Layout<0xA0C, "sortblk", "Sorts e0 pairs of a key and an i32, ascending or `descending`; equal keys keep their order, and a NaN is above all numbers."> {
  let Dst = Op<"L1", "Pairs", 4>;
  let Src0 = Op<"L1", "Pairs", 4>;
  let Rules = [Same<"f32 i32", 1>];
  let Extents = "e0:1024";
  let Fields = "";
  let Variants = "descending";
  let Rate = 10;
}
def merge : Layout<0xA0D, "merge", "Merges e0 pairs of src0 and e1 pairs of src1, each sorted as sortblk does; of equal keys, src0's come first."> {
  let Dst = Op<"L1", "PairsBoth", 4>;
  let Src0 = Op<"L1", "Pairs", 4>;
  let Src1 = Op<"L1", "Pairs1", 4>;
  let Rules = [Same<"f32 i32", 2>];
  let Extents = plane;
  let Fields = "";
  let Variants = "descending";
  let Rate = 4;
}
def compress : Layout<0xA0E, "compress", "The elements of src0 whose element of src1 is 1, one after the other; register S[axis] gets their number."> {
  let AxisMax = 63;
  let Dst = Op<"L1", "Line">;
  let Src0 = Op<"L1", "Line">;
  let Src1 = Op<"L1", "Line">;
  let Rules = [Moves<all, "pred8">];
  let Extents = line;
  let Fields = "Axis";
}

//===- K: windows ------------------------------------------------------------===//

class Pool<int opcode, string name, string text> : Inst<opcode, name, "K", "VX", text> {
  let Dst = Op<"L1">;
  let Src0 = Op<"L1", "Image">;
  let Rules = [Types<floats, floats>, Same<"i8 u8 i32", 1>];
  let Extents = "channels:65535 width:4095 height:4095";
  let Fields = !strconcat("Stride1 Stride2 ", image);
  let Cycles = "Vector";
}
def maxpool : Pool<0xB01, "maxpool", "The maximum of each window of src0, an image of inputHeight x inputWidth pixels; stride1 is the distance of pixels, stride2 that of rows. The border does not count.">;
def avgpool : Pool<0xB02, "avgpool", "The mean of each window, whose elements are added in order; the divisor is their number, or the size of the window with `all`. Integers are rounded to nearest even."> {
  let Variants = "all";
}
def maxpool_idx : Pool<0xB03, "maxpool.idx", "As maxpool; src2 gets the number of the pixel that has the maximum, the first of several."> {
  let Src2 = Out<"L1", "FullI32">;
}
def rsz_nn : Pool<0xB04, "rsz.nn", "The pixel nearest to (y * imm0 + imm2, x * imm1 + imm3), by the rounding of `rnd`, moved into the image."> {
  let Rules = [Same<all, 1>];
  let Fields = "Stride1 Stride2 Input Round Imm0 Imm1 Imm2 Imm3";
}
def rsz_bl : Pool<0xB05, "rsz.bl", "The bilinear interpolation at (y * imm0 + imm2, x * imm1 + imm3), moved into the image: two of rows, then one of columns."> {
  let Rules = [Types<floats, floats>];
  let Fields = "Stride1 Stride2 Input Imm0 Imm1 Imm2 Imm3";
  let Rate = 4;
}
