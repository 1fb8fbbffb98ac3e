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

include "Moves.td"
include "Products.td"
include "Vectors.td"
include "Control.td"
