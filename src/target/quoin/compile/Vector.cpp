//===- Vector.cpp - nests for the vector unit -----------------------------===//
//
// Up to three loops of a nest are the extents of its instructions, the box; the others are hardware loops around them.
// What an iteration reads is loaded into L1, each operand as it lies in DDR: an operand that does not change along a
// loop of the box has a stride of 0 there. Each node of the tree is one instruction, and the result is stored.
//
//   box                    instructions of an iteration
//   spatial loops only     load, compute, and of a reduction: combine with the sums in L1, which are stored at the end
//   a reduced loop, and    load, compute, reduce over the inner extent, combine with the sums
//   up to two spatial ones
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Vector.h"
#include "target/quoin/compile/VectorNest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {

using llvm::ArrayRef;
using llvm::SmallVector;

uint64_t VectorNest::take(int64_t elements, DType type) {
  const uint64_t byte = llvm::alignTo(l1End, l1Alignment);
  l1End = byte + static_cast<uint64_t>(elements) * sizeOf(type);
  return byte;
}

Place VectorNest::compactPlace(DType type, const std::array<int64_t, boxRank> &extents) {
  Place place{take(extents[0] * extents[1] * extents[2], type), {1, extents[0], extents[0] * extents[1]}};
  return place;
}

std::optional<Operand> VectorNest::farOperand(const Access &access, DType type) {
  SmallVector<Advance, 8> advances;
  for (unsigned loop : outer)
    if (access.strides[loop])
      advances.push_back({*loopNumbers[loop], access.strides[loop] * static_cast<int64_t>(sizeOf(type))});
  const int64_t byte =
      static_cast<int64_t>(places[access.buffer].byte) + access.base * static_cast<int64_t>(sizeOf(type));
  return byte < 0 ? std::nullopt : stream.operand(places[access.buffer].space, static_cast<uint64_t>(byte), advances);
}

bool VectorNest::add(Instruction instruction) {
  std::string violated = check(instruction, config);
  if (!violated.empty())
    return refuse(instruction.info().name + ": " + violated);
  stream.add(std::move(instruction));
  return true;
}

static void setTransfer(Instruction &instruction, DType type, const std::array<int64_t, boxRank> &extents,
                        std::array<Opcode, boxRank> opcodes) {
  instruction.dstType = instruction.src0Type = type;
  const unsigned rank = extents[2] > 1 ? 3 : extents[1] > 1 ? 2 : 1;
  instruction.opcode = opcodes[rank - 1];
  for (unsigned dim = 0; dim < rank; ++dim)
    instruction.extent[dim] = static_cast<uint32_t>(extents[dim]);
}

bool VectorNest::emitLoad(unsigned number) {
  const Node &node = nest.nodes[number];
  const LoadPlan &plan = plans[number];
  Instruction load;
  setTransfer(load, node.type, plan.extents, {Opcode::ld_1d, Opcode::ld_2d, Opcode::ld_3d});
  Place place{take(plan.elements, node.type), plan.strides};
  load.dst() = {Space::L1, 0, ownCore, place.byte};
  load.src(0) = *far[number];
  if (plan.extents[1] > 1 || plan.extents[2] > 1) {
    load.stride1[Dst] = static_cast<uint32_t>(plan.to[1]);
    load.stride1[Src0] = static_cast<uint32_t>(plan.from[1]);
  }
  if (plan.extents[2] > 1) {
    load.stride2[Dst] = static_cast<uint32_t>(plan.to[2]);
    load.stride2[Src0] = static_cast<uint32_t>(plan.from[2]);
  }
  nodePlaces[number] = place;
  return add(std::move(load));
}

static void setStrides(Instruction &instruction, unsigned operand, const Place &place) {
  instruction.operands[operand] = {Space::L1, 0, ownCore, place.byte};
  instruction.inner[operand] = static_cast<uint32_t>(place.strides[0]);
  instruction.stride1[operand] = static_cast<uint32_t>(place.strides[1]);
  instruction.stride2[operand] = static_cast<uint32_t>(place.strides[2]);
}

static void setExtents(Instruction &instruction, const std::array<int64_t, boxRank> &extents) {
  for (unsigned dim = 0; dim < boxRank; ++dim)
    instruction.extent[dim] = static_cast<uint32_t>(extents[dim]);
}

/// An immediate of floats is an f32, any other an i32.
static void setNumber(Instruction &instruction, DType type, double value) {
  if (isFloat(type))
    instruction.setImm(0, static_cast<float>(value));
  else
    instruction.imm[0] = static_cast<uint32_t>(static_cast<int64_t>(value));
}

bool VectorNest::emitFill(const Place &place, DType type, double value, const std::array<int64_t, boxRank> &extents) {
  if (type == DType::Pred8)
    return refuse("a truth that does not change");
  Instruction fill;
  fill.opcode = Opcode::iota;
  fill.dstType = type;
  setStrides(fill, Dst, place);
  setExtents(fill, extents);
  setNumber(fill, type, value);
  if (isFloat(type))
    fill.setImm(1, -0.0f); // which leaves a first value of -0 as it is
  return add(std::move(fill));
}

/// Of a node that has been emitted; a number that is an operand becomes one element.
Place VectorNest::placeOf(unsigned number) { return nodePlaces[number].value_or(Place()); }

bool VectorNest::emitNode(unsigned number) {
  if (const Node &node = nest.nodes[number]; reinterprets(nest, node)) {
    nodePlaces[number] = placeOf(node.operands[0]);
    return true;
  }
  const Node &node = nest.nodes[number];
  Instruction apply;
  apply.opcode = node.opcode;
  apply.dstType = node.type;
  const unsigned count = static_cast<unsigned>(node.operands.size());
  const InstructionInfo &info = apply.info();
  SmallVector<unsigned, 3> operands(node.operands);
  auto isNumber = [&](unsigned operand) { return nest.nodes[operand].kind == Node::Number; };
  const bool swaps = llvm::is_contained({Opcode::add, Opcode::mul, Opcode::max, Opcode::min}, node.opcode);
  if (count == 2 && swaps && isNumber(operands[0]))
    std::swap(operands[0], operands[1]);
  const bool usesScalar = info.modes && isNumber(operands.back());
  for (unsigned index = 0; index < count; ++index) {
    const unsigned operand = operands[index];
    const DType type = nest.nodes[operand].type;
    if (index == 0)
      apply.src0Type = type;
    if (usesScalar && index + 1 == count) {
      apply.mode = Operands::Scalar;
      setNumber(apply, type, nest.nodes[operand].number);
      continue;
    }
    if (index == 1)
      apply.src1Type = type;
    if (isNumber(operand) && !nodePlaces[operand]) {
      nodePlaces[operand] = Place{take(1, type), {0, 0, 0}};
      Place one = *nodePlaces[operand];
      one.strides = {1, 0, 0};
      if (!emitFill(one, type, nest.nodes[operand].number, {1, 1, 1}))
        return false;
    }
    setStrides(apply, Src0 + index, placeOf(operand));
  }
  nodePlaces[number] = compactPlace(node.type, extents());
  setStrides(apply, Dst, *nodePlaces[number]);
  setExtents(apply, extents());
  return add(std::move(apply));
}

/// The sums as they are, which have the type of what is stored.
bool VectorNest::emitReload(const std::array<int64_t, boxRank> &shape) {
  if (nest.type != nest.nodes[nest.value].type)
    return refuse("sums that go on in another type");
  Instruction load;
  std::array<int64_t, boxRank> stored = shape, from = {1, 0, 0};
  for (unsigned dim = 0; dim < boxRank; ++dim)
    from[dim] = box[dim] < 0 ? 0 : nest.store.strides[box[dim]];
  if (isReducing()) {
    stored = {shape[1], shape[2], 1};
    from = {from[1], from[2], 0};
  }
  if (stored[0] > 1 && from[0] != 1)
    return refuse("sums that go on, and lie apart");
  setTransfer(load, nest.type, stored, {Opcode::ld_1d, Opcode::ld_2d, Opcode::ld_3d});
  load.dst() = {Space::L1, 0, ownCore, sums.byte};
  load.src(0) = *farStore;
  if (stored[1] > 1 || stored[2] > 1) {
    load.stride1[Src0] = static_cast<uint32_t>(from[1]);
    load.stride1[Dst] = static_cast<uint32_t>(stored[0]);
  }
  if (stored[2] > 1) {
    load.stride2[Src0] = static_cast<uint32_t>(from[2]);
    load.stride2[Dst] = static_cast<uint32_t>(stored[0] * stored[1]);
  }
  return add(std::move(load));
}

/// Combines the value of this iteration with the sums.
bool VectorNest::emitReduction() {
  const DType type = nest.nodes[nest.value].type;
  Place value = placeOf(nest.value);
  std::array<int64_t, boxRank> shape = extents();
  if (isReducing()) {
    Instruction reduce;
    reduce.opcode = *nest.combine == Opcode::add   ? Opcode::rsum
                    : *nest.combine == Opcode::mul ? Opcode::rprod
                    : *nest.combine == Opcode::max ? Opcode::rmax
                                                   : Opcode::rmin;
    reduce.dstType = reduce.src0Type = type;
    setStrides(reduce, Src0, value);
    setExtents(reduce, shape);
    shape[0] = 1;
    value = compactPlace(type, shape);
    setStrides(reduce, Dst, value);
    reduce.inner[Dst] = 1;
    if (!add(std::move(reduce)))
      return false;
  }
  Instruction combine;
  combine.opcode = *nest.combine;
  combine.dstType = combine.src0Type = combine.src1Type = type;
  setStrides(combine, Dst, sums);
  setStrides(combine, Src0, sums);
  setStrides(combine, Src1, value);
  setExtents(combine, shape);
  return add(std::move(combine));
}

bool VectorNest::emitStore() {
  Place value = nest.combine ? sums : placeOf(nest.value);
  const DType from = nest.nodes[nest.value].type;
  std::array<int64_t, boxRank> shape = extents();
  if (isReducing())
    shape[0] = 1;
  const bool isNumber = nest.nodes[nest.value].kind == Node::Number;
  Place compact = value;
  const std::array<int64_t, boxRank> dense = {1, shape[0], shape[0] * shape[1]};
  auto differs = [&](unsigned dim) { return shape[dim] > 1 && value.strides[dim] != dense[dim]; };
  if (isNumber) {
    compact = compactPlace(nest.type, shape);
    if (!emitFill(compact, nest.type, nest.nodes[nest.value].number, shape))
      return false;
  } else if (from != nest.type || differs(0) || differs(1) || differs(2)) {
    compact = compactPlace(nest.type, shape);
    Instruction move;
    move.opcode = from == nest.type || (isFloat(from) && isFloat(nest.type)) ? Opcode::mov : Opcode::cvt;
    move.dstType = nest.type;
    move.src0Type = from;
    setStrides(move, Dst, compact);
    setStrides(move, Src0, value);
    setExtents(move, shape);
    if (!add(std::move(move)))
      return false;
  }
  // The reduced extent is not stored: the next ones are the inner ones.
  std::array<int64_t, boxRank> stored = shape, strides = {1, 0, 0};
  for (unsigned dim = 0; dim < boxRank; ++dim)
    strides[dim] = box[dim] < 0 ? 0 : nest.store.strides[box[dim]];
  if (isReducing()) {
    stored = {shape[1], shape[2], 1};
    strides = {strides[1], strides[2], 0};
  }
  std::array<int64_t, boxRank> source = {1, stored[0], stored[0] * stored[1]};
  if (stored[0] > 1 && strides[0] != 1) { // a column
    if (stored[2] > 1)
      return refuse("a result whose elements lie apart in three directions");
    stored = {1, stored[0], stored[1]};
    strides = {1, strides[0], strides[1]};
    source = {1, 1, stored[1]};
  }
  Instruction store;
  setTransfer(store, nest.type, stored, {Opcode::st_1d, Opcode::st_2d, Opcode::st_3d});
  store.dst() = *farStore;
  store.src(0) = {Space::L1, 0, ownCore, compact.byte};
  if (stored[1] > 1 || stored[2] > 1) {
    store.stride1[Dst] = static_cast<uint32_t>(strides[1]);
    store.stride1[Src0] = static_cast<uint32_t>(source[1]);
  }
  if (stored[2] > 1) {
    store.stride2[Dst] = static_cast<uint32_t>(strides[2]);
    store.stride2[Src0] = static_cast<uint32_t>(source[2]);
  }
  return add(std::move(store));
}

bool VectorNest::emitIteration() {
  nodePlaces.assign(nest.nodes.size(), std::nullopt);
  for (unsigned number = 0; number < nest.nodes.size(); ++number)
    if (nest.nodes[number].kind == Node::Load && !emitLoad(number))
      return false;
  for (unsigned number = 0; number < nest.nodes.size(); ++number)
    if (nest.nodes[number].kind == Node::Apply && !emitNode(number))
      return false;
  return true;
}

bool VectorNest::emitLoops() {
  loopNumbers.assign(nest.loops.size(), std::nullopt);
  if (outer.size() > numLoops)
    return refuse("more loops than the sequencer has");
  for (auto [number, loop] : llvm::enumerate(outer))
    loopNumbers[loop] = static_cast<unsigned>(number);
  far.assign(nest.nodes.size(), std::nullopt);
  for (auto [number, node] : llvm::enumerate(nest.nodes))
    if (node.kind == Node::Load && !(far[number] = farOperand(node.access, node.type)))
      return refuse("more addresses than there are generators");
  if (!(farStore = farOperand(nest.store, nest.type)))
    return refuse("more addresses than there are generators");
  const size_t spatial = llvm::count_if(outer, [&](unsigned loop) { return !nest.loops[loop].isReduced; });
  for (unsigned loop : ArrayRef(outer).take_front(spatial))
    stream.openLoop(static_cast<uint64_t>(nest.loops[loop].extent));
  std::array<int64_t, boxRank> shape = extents();
  if (isReducing())
    shape[0] = 1;
  const DType type = nest.nodes[nest.value].type;
  if (nest.combine) {
    sums = compactPlace(type, shape);
    if (!(nest.continues ? emitReload(shape) : emitFill(sums, type, nest.initial, shape)))
      return false;
    for (unsigned loop : ArrayRef(outer).drop_front(spatial))
      stream.openLoop(static_cast<uint64_t>(nest.loops[loop].extent));
  }
  if (!emitIteration() || (nest.combine && !emitReduction()))
    return false;
  for (size_t open = spatial; open < outer.size(); ++open)
    stream.closeLoop();
  if (!emitStore())
    return false;
  for (size_t open = 0; open < spatial; ++open)
    stream.closeLoop();
  return true;
}

std::string VectorNest::emit() {
  if (nest.nodes[nest.value].kind == Node::Number && nest.combine)
    return "a reduction of a number";
  const size_t before = stream.size();
  stream.freeGenerators();
  chooseBox();
  if (!chooseTiles())
    return problem;
  stripMine();
  if (!planLoads() || !emitLoops()) {
    stream.abandon(before);
    return problem;
  }
  return "";
}

std::string emitVectorNest(const Nest &nest, ArrayRef<Spot> places, const Config &config, Stream &stream) {
  return VectorNest(nest, places, config, stream).emit();
}

} // namespace perpend::quoin
