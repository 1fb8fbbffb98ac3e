//===- Products.td - feeds and matrix products of the table QuoinISA.td ------===//

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
