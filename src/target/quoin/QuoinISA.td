//===- QuoinISA.td - every instruction of Quoin, once ------------------------===//
//
// GenerateIsa.py turns this table into the opcodes, the table of InstructionInfo (encoder, legality, assembler,
// simulator) and the page docs/quoin/instructions.md. A shape says which elements an operand has (Access.cpp); where the
// text of an instruction speaks of e0, e1 and e2, an extent that is not used counts as 1.
//
//===----------------------------------------------------------------------===//

// Allowed types, each a set of names; Same: 1 all types that exist are equal, 2 those of dst and src0.
class Types<string dst, string src0 = "", string src1 = ""> {
  string Dst = dst;
  string Src0 = src0;
  string Src1 = src1;
  int Same = 0;
}
// dst and src0 are equal, src1 is of its own.
class Moves<string types, string src1> : Types<types, types, src1> { let Same = 2; }
class Same<string types, int sources> : Types<types, !if(!ge(sources, 1), types, ""), !if(!ge(sources, 2), types, "")> {
  let Same = 1;
}

// An operand: the memories it may lie in, the elements that it has, its alignment in bytes (0: of its element).
class Op<string spaces, string shape = "Full", int alignment = 0> {
  string Spaces = spaces;
  string Shape = shape;
  int Alignment = alignment;
  bit Optional = 0;
  bit Written = 0; // besides dst
}
class Maybe<string spaces, string shape = "Full", int alignment = 0> : Op<spaces, shape, alignment> {
  let Optional = 1;
}
class Out<string spaces, string shape = "Full", int alignment = 0> : Op<spaces, shape, alignment> {
  let Written = 1;
}
def Nothing : Op<"", "Nothing">;

class Inst<int opcode, string mnemonic, string family, string unit, string text> {
  int Opcode = opcode;
  string Mnemonic = mnemonic;
  string Family = family;
  string Unit = unit;
  string Description = text;
  Op Dst = Nothing;
  Op Src0 = Nothing;
  Op Src1 = Nothing;
  Op Src2 = Nothing;
  list<Types> Rules = [];
  string Modes = "";
  int ModeOperand = 2; // to which Modes apply: 0 dst, 1 src0, 2 src1, 3 src2
  string Fields = "";
  int AxisMax = 2;
  string Extents = "";  // NAME:MAXIMUM, inner first
  string Variants = ""; // names of the flags that it has of its own
  string Cycles = "Control";
  int Rate = 1;
}

defvar ints = "i8 u8 i16 i32";
defvar floats = "f16 bf16 f32";
defvar numbers = "i8 u8 i16 i32 f16 bf16 f32";
defvar all = "i8 u8 i16 i32 f16 bf16 f32 pred8";
defvar far = "DDR LLB L1";
defvar line = "e0:65535";
defvar plane = "e0:65535 e1:4095";
defvar box = "e0:65535 e1:4095 e2:4095";
defvar image = "Kernel Pad Input";

//===- A: loads --------------------------------------------------------------===//

class Load<int opcode, string name, string text> : Inst<opcode, "ld." # name, "A", "LD", text> {
  let Dst = Op<"L1">;
  let Src0 = Op<far>;
  let Rules = [Same<all, 1>];
  let Cycles = "Transfer";
}
def ld_1d : Load<0x101, "1d", "Copies e0 elements."> { let Extents = line; }
def ld_2d : Load<0x102, "2d", "Copies e1 rows of e0 elements."> {
  let Extents = plane;
  let Fields = "Stride1";
}
def ld_3d : Load<0x103, "3d", "Copies e2 planes of e1 rows of e0 elements."> {
  let Extents = box;
  let Fields = "Stride1 Stride2";
}
def ld_pad2 : Load<0x104, "pad2", "Copies e1 rows of e0 elements into the middle of padTop + e1 + padBottom rows of padLeft + e0 + padRight; the border is imm0."> {
  let Dst = Op<"L1", "Padded">;
  let Extents = plane;
  let Fields = "Stride1 Pad Imm0";
}
def ld_bcast : Load<0x105, "bcast", "Copies e1 rows of e0 elements to the same address in the L1 of each core of the mask."> {
  let Src0 = Op<"LLB">;
  let Extents = plane;
  let Fields = "Stride1 Mask";
}
def ld_gather : Load<0x106, "gather", "Row r of the result is row src1[r] of the table src0, which has imm0 rows of e0 elements; rows have at least 32 bytes."> {
  let Src0 = Op<far, "Table">;
  let Src1 = Op<"L1", "Index">;
  let Rules = [Moves<all, "i32">];
  let Extents = plane;
  let Fields = "Stride1 Imm0 IntImm";
}
def ld_tr : Load<0x107, "tr", "Transposes: element (i, j) of the source's e1 rows of e0 elements is element (j, i) of the result's e0 rows of e1."> {
  let Dst = Op<"L1", "Transposed">;
  let Extents = plane;
  let Fields = "Stride1";
}
def ld_cvt : Load<0x108, "cvt", "Copies and converts e2 planes of e1 rows of e0 elements."> {
  let Rules = [Types<numbers, numbers>];
  let Extents = box;
  let Fields = "Stride1 Stride2 Saturate";
}
def ld_fill : Load<0x109, "fill", "Writes imm0 to all elements."> {
  let Src0 = Nothing;
  let Rules = [Same<all, 0>];
  let Extents = box;
  let Fields = "Stride1 Stride2 Imm0";
}
def ld_frac : Load<0x10A, "frac", "Loads m rows of k elements as the fractals of a left operand, with zeros at the edges."> {
  let Dst = Op<"L1", "FractalA", 32>;
  let Extents = "k:4095 m:1024";
  let Fields = "Stride1";
}

//===- B: stores -------------------------------------------------------------===//

class Store<int opcode, string name, string text> : Inst<opcode, "st." # name, "B", "ST", text> {
  let Dst = Op<"DDR LLB">;
  let Src0 = Op<"L1 L0C">;
  let Rules = [Same<all, 1>];
  let Cycles = "Transfer";
}
def st_1d : Store<0x201, "1d", "Copies e0 elements."> { let Extents = line; }
def st_2d : Store<0x202, "2d", "Copies e1 rows of e0 elements."> {
  let Extents = plane;
  let Fields = "Stride1";
}
def st_3d : Store<0x203, "3d", "Copies e2 planes of e1 rows of e0 elements."> {
  let Extents = box;
  let Fields = "Stride1 Stride2";
}
def st_scatter : Store<0x204, "scatter", "Row r of src0 becomes row src1[r] of the result, which has imm0 rows of e0 elements, in order of r."> {
  let Dst = Op<"DDR LLB", "Table">;
  let Src1 = Op<"L1", "Index">;
  let Rules = [Moves<all, "i32">];
  let Extents = plane;
  let Fields = "Stride1 Imm0 IntImm";
}
def st_tr : Store<0x205, "tr", "Transposes as ld.tr does."> {
  let Dst = Op<"DDR LLB", "Transposed">;
  let Extents = plane;
  let Fields = "Stride1";
}
def st_cvt : Store<0x206, "cvt", "Copies and converts e2 planes of e1 rows of e0 elements."> {
  let Rules = [Types<numbers, numbers>];
  let Extents = box;
  let Fields = "Stride1 Stride2 Saturate";
}
def st_add : Store<0x207, "add", "Adds to the elements of the result, each atomically; a bar must follow before another core reads them."> {
  let Rules = [Same<"f32 i32", 1>];
  let Extents = box;
  let Fields = "Stride1 Stride2";
}
def st_frac : Store<0x208, "frac", "Stores m rows of n elements from the tiles of an accumulator (L0C), or from the fractals of a left operand (L1)."> {
  let Src0 = Op<"L1 L0C", "Fractal", 32>;
  let Extents = "n:4095 m:1024";
  let Fields = "Stride1";
}
def st_peer : Store<0x209, "peer", "Copies e2 planes of e1 rows of e0 elements to the L1 of another core."> {
  let Dst = Op<"L1">;
  let Extents = box;
  let Fields = "Stride1 Stride2";
}
def st_mask : Store<0x20A, "mask", "Copies the elements of src0 whose element of src1 is 1; the others of the result stay."> {
  let Src1 = Op<"L1">;
  let Rules = [Moves<all, "pred8">];
  let Extents = plane;
  let Fields = "Stride1";
}

//===- C: moves between DDR and LLB, by the first core of a cluster ----------===//

class SystemMove<int opcode, string name, string text> : Inst<opcode, "sd." # name, "C", "LD", text> {
  let Rules = [Same<all, 1>];
  let Extents = line;
  let Cycles = "Transfer";
}
def sd_ld : SystemMove<0x301, "ld", "Copies e0 elements from DDR to LLB."> {
  let Dst = Op<"LLB", "Full", 64>;
  let Src0 = Op<"DDR", "Full", 64>;
}
def sd_st : SystemMove<0x302, "st", "Copies e0 elements from LLB to DDR."> {
  let Dst = Op<"DDR", "Full", 64>;
  let Src0 = Op<"LLB", "Full", 64>;
}
def sd_2d : SystemMove<0x303, "2d", "Copies e1 rows of e0 elements between DDR and LLB, in either direction, or within one of them."> {
  let Dst = Op<"DDR LLB", "Full", 64>;
  let Src0 = Op<"DDR LLB", "Full", 64>;
  let Extents = plane;
  let Fields = "Stride1";
}

//===- D: feeds of the matrix unit -------------------------------------------===//

defvar products = "i8 u8 f16 bf16 f32";
class FeedA<int opcode, string name, string text> : Inst<opcode, "fd.a" # name, "D", "FD", text> {
  let Dst = Op<"L0A", "FractalA", 512>;
  let Src0 = Op<"L1">;
  let Rules = [Same<products, 1>];
  let Extents = "k:4095 m:1024";
  let Fields = "Stride1";
  let Cycles = "Feed";
  let Rate = 64;
}
class FeedB<int opcode, string name, string text> : Inst<opcode, "fd.b" # name, "D", "FD", text> {
  let Dst = Op<"L0B", "FractalB", 512>;
  let Src0 = Op<"L1">;
  let Rules = [Same<products, 1>];
  let Extents = "n:1024 k:4095";
  let Fields = "Stride1";
  let Cycles = "Feed";
  let Rate = 64;
}
def fd_a : FeedA<0x401, "", "m rows of k elements become fractals of the left operand, with zeros at the edges."> { let Rate = 128; }
def fd_a_tr : FeedA<0x402, ".tr", "As fd.a; the source has k rows of m elements."> { let Src0 = Op<"L1", "Transposed">; }
def fd_a_im2col : FeedA<0x403, ".im2col", "Row i holds the window of output pixel start + i of an image whose output has `width` pixels in a row: k = kernelHeight * kernelWidth * channels elements, channels innermost; src0's stride1 is the distance of pixels, stride2 that of rows. Outside of the image is 0 (imm0 for integers)."> {
  let Src0 = Op<"L1", "Image">;
  let Extents = "k:4095 m:1024 width:4095";
  let Fields = !strconcat("Stride1 Stride2 Imm0 Start Channels ", image);
}
def fd_a_dq : FeedA<0x404, ".dq", "As fd.a, on (x - imm1) * imm0."> {
  let Rules = [Types<floats, "i8 u8">];
  let Fields = "Stride1 Imm0 Imm1";
}
def fd_b : FeedB<0x405, "", "k rows of n elements become fractals of the right operand, with zeros at the edges.">;
def fd_b_tr : FeedB<0x406, ".tr", "As fd.b; the source has n rows of k elements."> {
  let Src0 = Op<"L1", "Transposed">;
  let Rate = 128;
}
def fd_b_frac : FeedB<0x407, ".frac", "As fd.b; the source has the fractals already."> {
  let Src0 = Op<"L1", "FractalB", 32>;
  let Fields = "";
  let Rate = 128;
}
def fd_b_dq : FeedB<0x408, ".dq", "As fd.b, on (x - imm1) * scale; the scale is src1, of each column (mv), or imm0 (mf)."> {
  let Src1 = Op<"L1">;
  let Rules = [Types<floats, "i8 u8", "f32">];
  let Modes = "mv mf";
  let Fields = "Stride1 Imm0 Imm1";
}
def fd_c : Inst<0x409, "fd.c", "D", "FD", "m rows of n elements become accumulators; f16 and bf16 are widened."> {
  let Dst = Op<"L0C", "TileC", 1024>;
  let Src0 = Op<"L1">;
  let Rules = [Types<"f32", floats>, Types<"i32", "i32">];
  let Extents = "n:1024 m:1024";
  let Fields = "Stride1";
  let Cycles = "Feed";
  let Rate = 64;
}
def fd_bias : Inst<0x40A, "fd.bias", "D", "FD", "All m rows of accumulators begin with the n elements of src0; f16 and bf16 are widened."> {
  let Dst = Op<"L0C", "TileC", 1024>;
  let Src0 = Op<"L1", "Line">;
  let Rules = [Types<"f32", floats>, Types<"i32", "i32">];
  let Extents = "n:1024 m:1024";
  let Cycles = "Feed";
  let Rate = 128;
}

//===- E: matrix products ----------------------------------------------------===//

class Matrix<int opcode, string name, string text> : Inst<opcode, name, "E", "MX", text> {
  let Dst = Op<"L0C", "TileC", 1024>;
  let Src0 = Op<"L0A", "FractalA", 512>;
  let Src1 = Op<"L0B", "FractalB", 512>;
  let Rules = [Types<"i32", "i8 u8", "i8 u8">, Types<"f32", "f16", "f16">, Types<"f32", "bf16", "bf16">, Types<"f32", "f32", "f32">];
  let Extents = "n:1024 m:1024 k:4095";
  let Cycles = "Matrix";
}
def mm : Matrix<0x501, "mm", "C = A * B: m x n results of k products, k ascending.">;
def mm_acc : Matrix<0x502, "mm.acc", "C = C + A * B; with zero@first, C begins at 0 in the first iteration."> { let Fields = "Zero"; }
def mm_zp : Matrix<0x503, "mm.zp", "C = C + (A - imm0) * (B - imm1), as mm.acc; src2 has the zero points of A's rows (zrow) or of B's columns (zcol) instead."> {
  let Rules = [Types<"i32", "i8 u8", "i8 u8">];
  let Src2 = Maybe<"L0C", "ZeroPoints", 4>;
  let Fields = "Zero Imm0 Imm1 IntImm";
  let Variants = "zrow zcol";
}
def gemv : Matrix<0x504, "gemv", "As mm.acc with one row: B streams through the array at the same rate as a row of 16."> {
  let Extents = "n:1024 m:1 k:4095";
  let Fields = "Zero";
}
def bmm : Matrix<0x505, "bmm", "As mm.acc on `axis` matrices that lie one after the other in each memory."> { let Fields = "Zero Axis"; let AxisMax = 4095; }
def dwconv : Matrix<0x506, "dwconv", "C[i][j] = C[i][j] + sum over taps t of A[i][t * n + j] * B[t][j], as mm.acc: a depthwise convolution of what fd.a.im2col made."> {
  let Src0 = Op<"L0A", "FractalTaps", 512>;
  let Extents = "n:1024 m:1024 taps:961";
  let Fields = "Zero";
}
def mm_mask : Matrix<0x507, "mm.mask", "As mm; elements with column > row + imm1 (an integer) are not computed, and become imm0."> {
  let Fields = "Imm0 Imm1";
}

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

//===- L: control ------------------------------------------------------------===//

class Control<int opcode, string name, string text> : Inst<opcode, name, "L", "SEQ", text>;
def nop : Control<0xC00, "nop", "Does nothing.">;
def halt : Control<0xC01, "halt", "Ends the core's program when its queues are empty.">;
def loop : Control<0xC02, "loop", "Runs what follows, up to the endl at index dst, src0 times (a number or a register); loop register l[axis] counts from 0."> {
  let AxisMax = 7;
  let Dst = Op<"Imm", "Nothing">;
  let Src0 = Op<"Imm SReg", "Nothing">;
  let Fields = "Axis";
}
def endl : Control<0xC03, "endl", "Ends the body of the loop at index dst, of register l[axis]."> {
  let AxisMax = 7;
  let Dst = Op<"Imm", "Nothing">;
  let Fields = "Axis";
}
def setl : Control<0xC04, "setl", "l[axis] = src0."> {
  let AxisMax = 7;
  let Src0 = Op<"Imm SReg", "Nothing">;
  let Fields = "Axis";
}
def addl : Control<0xC05, "addl", "l[axis] += src0."> {
  let AxisMax = 7;
  let Src0 = Op<"Imm SReg", "Nothing">;
  let Fields = "Axis";
}
def setag : Control<0xC06, "setag", "One term of address generator @axis: src0 * (l[source] / div % mod), source being a loop register, or 16 + r for register r; div 0 counts as 1, mod 0 is none."> {
  let AxisMax = 63;
  let Src0 = Op<"Imm", "Nothing">;
  let Fields = "Axis";
  let Extents = "source:79 mod:4095 div:4095";
}
class Branch<int opcode, string name, string text> : Control<opcode, name, text> {
  let Dst = Op<"Imm", "Nothing">;
  let Src0 = Op<"SReg", "Nothing">;
}
def brz : Branch<0xC07, "brz", "Goes on at index dst if the register is 0.">;
def brnz : Branch<0xC08, "brnz", "Goes on at index dst if the register is not 0.">;
class Flag<int opcode, string name, string text> : Control<opcode, name, text> {
  let Fields = "Axis";
  let Extents = "tokens:15";
}
def setf : Flag<0xC09, "setf", "Adds tokens to a flag, in the queue of its source: after what that unit was told before."> { let AxisMax = 1023; }
def waitf : Flag<0xC0A, "waitf", "Waits until the flag has the tokens, and takes them, in the queue of its destination: what that unit is told later comes after."> { let AxisMax = 1023; }
def fence : Control<0xC0B, "fence", "Waits until all queues of the core are empty.">;
def bar : Control<0xC0C, "bar", "Waits until all cores of the mask have come to barrier axis."> { let Fields = "Axis Mask"; let AxisMax = 15; }
def semp : Control<0xC0D, "semp", "Adds tokens to semaphore axis of the cluster."> {
  let AxisMax = 63;
  let Fields = "Axis";
  let Extents = "tokens:65535";
}
def semw : Control<0xC0E, "semw", "Waits until semaphore axis has the tokens, and takes them."> {
  let AxisMax = 63;
  let Fields = "Axis";
  let Extents = "tokens:65535";
}
def mark : Control<0xC0F, "mark", "The src0 bytes at dst begin a lifetime, and hold nothing; `end`: their lifetime ends."> {
  let Dst = Op<"DDR LLB L1 L0A L0B L0C", "Nothing", 1>;
  let Src0 = Op<"Imm", "Nothing">;
  let Variants = "end";
}
def trap : Control<0xC10, "trap", "Stops the device with code axis."> { let Fields = "Axis"; let AxisMax = 16777215; }

//===- M: the scalar core ----------------------------------------------------===//

def sc_call : Inst<0xD01, "sc.call", "M", "SC", "Calls scalar code at byte axis of its section. a0 to a3 are the addresses of dst, src0, src1 and src2 in the flat address space, or 0; a4 to a7 are imm0 to imm3."> {
  let AxisMax = 16777215;
  let Dst = Maybe<far, "Address", 1>;
  let Src0 = Maybe<far, "Address", 1>;
  let Src1 = Maybe<far, "Address", 1>;
  let Src2 = Maybe<far, "Address", 1>;
  let Fields = "Axis Imm0 Imm1 Imm2 Imm3 IntImm";
  let Cycles = "Scalar";
}
def sc_get : Inst<0xD02, "sc.get", "M", "SC", "A register gets an element; floats as bits of f32."> {
  let Dst = Op<"SReg", "Nothing">;
  let Src0 = Op<"L1 LLB DDR", "Element">;
  let Rules = [Types<all>];
  let Cycles = "Scalar";
}
def sc_put : Inst<0xD03, "sc.put", "M", "SC", "An element gets a register; floats from bits of f32, integers wrap."> {
  let Dst = Op<"L1 LLB DDR", "Element">;
  let Src0 = Op<"SReg", "Nothing">;
  let Rules = [Types<all>];
  let Cycles = "Scalar";
}
