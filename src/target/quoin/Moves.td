//===- Moves.td - loads, stores and moves of the table QuoinISA.td -----------===//

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
def st_add : Store<0x207, "add", "Adds to the elements of the result; those of several cores need no order among each other, and are done in the order of cores."> {
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
