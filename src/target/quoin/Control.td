//===- Control.td - control and scalar instructions of the table QuoinISA.td -===//

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
