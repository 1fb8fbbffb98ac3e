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
#include "target/quoin/compile/Choices.h"
#include "target/quoin/compile/VectorNest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {

using llvm::ArrayRef;
using llvm::SmallVector;

/// The level of nodes that are behind a sum.
constexpr unsigned notInLevels = ~0u;

unsigned VectorNest::turnOf(unsigned level) {
  if (level == 0)
    return 0;
  auto [turn, isNew] = shared->turns.try_emplace(level, 0);
  if (isNew)
    turn->second = stream.newTurn();
  return turn->second;
}

/// The first part of a nest makes the rooms; those of the rests are no larger.
bool VectorNest::findRoom(Place &place, Role role, unsigned number, int64_t elements, DType type, unsigned level) {
  auto [known, isNew] = shared->rooms.try_emplace({role, number}, 0);
  if (isNew) {
    std::optional<unsigned> room = stream.newRoom(Space::L1, static_cast<uint64_t>(elements) * sizeOf(type),
                                                  level == 0 ? 1 : slots, turnOf(level));
    if (!room)
      return refuse("a tile that L1 does not hold");
    known->second = *room;
  }
  place.room = known->second;
  place.elementBytes = sizeOf(type);
  return true;
}

Extents VectorNest::denseStrides(bool isResult) const {
  const Extents shape = extents(isResult);
  return isResult && isReducing() ? Extents{0, 1, shape[0]} : Extents{1, shape[0], shape[0] * shape[1]};
}

bool VectorNest::findPlace(Place &place, Role role, unsigned number, DType type, unsigned level, bool isResult) {
  const Extents shape = extents(isResult);
  place.strides = denseStrides(isResult);
  return findRoom(place, role, number, shape[0] * shape[1] * shape[2], type, level);
}

std::optional<Operand> VectorNest::farOperand(const ElementAccess &access, DType type) {
  SmallVector<Advance, 8> advances;
  for (unsigned loop : outer)
    if (access.strides[loop] && !(holdsSums && nest.loops[loop].isReduced))
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

void setTransfer(Instruction &instruction, DType type, const Extents &extents, std::array<Opcode, boxRank> opcodes) {
  instruction.dstType = instruction.src0Type = type;
  const unsigned rank = extents[2] > 1 ? 3 : extents[1] > 1 ? 2 : 1;
  instruction.opcode = opcodes[rank - 1];
  for (unsigned dim = 0; dim < rank; ++dim)
    instruction.extent[dim] = static_cast<uint32_t>(extents[dim]);
}

bool VectorNest::setPlace(Instruction &instruction, unsigned operand, const Place &place, bool isResult) {
  SmallVector<Advance, 2> advances;
  int64_t offset = place.base;
  for (auto [loop, stride] : place.held)
    if (tap.empty())
      advances.push_back({*loopNumbers[loop], stride * place.elementBytes});
    else
      offset += tap[loop] * stride;
  for (unsigned dim = 0; dim < boxRank; ++dim)
    offset += first[dim] * place.strides[dim];
  std::optional<Operand> at = stream.at(place.room, static_cast<uint64_t>(offset * place.elementBytes), advances);
  if (!at)
    return refuse("more addresses than there are generators");
  const bool rotates = isResult && isReducing();
  instruction.operands[operand] = *at;
  instruction.inner[operand] = static_cast<uint32_t>(place.strides[rotates ? 1 : 0]);
  instruction.stride1[operand] = static_cast<uint32_t>(place.strides[rotates ? 2 : 1]);
  instruction.stride2[operand] = static_cast<uint32_t>(rotates ? 0 : place.strides[2]);
  return true;
}

bool VectorNest::emitLoad(unsigned number) {
  const Node &node = nest.nodes[number];
  const OperandPlan &plan = plans[number];
  Place place{0, plan.strides};
  place.base = plan.base;
  place.held = plan.held;
  if (!findRoom(place, Loaded, number, plan.roomElements, node.type, loadLevels[number]))
    return false;
  std::optional<Operand> to = stream.at(place.room);
  if (!to)
    return refuse("more addresses than there are generators");
  Instruction load = plan.load.instruction(node.type, farType(number));
  load.dst() = *to;
  nodePlaces[number] = place;
  if (!plan.isRead)
    return true;
  load.src(0) = *far[number];
  return add(std::move(load));
}

void setBox(Instruction &instruction, const Extents &extents) {
  for (unsigned dim = 0; dim < boxRank; ++dim)
    instruction.extent[dim] = static_cast<uint32_t>(extents[dim]);
}

void setNumber(Instruction &instruction, DType type, double value) {
  if (isFloat(type))
    instruction.setImm(0, static_cast<float>(value));
  else
    instruction.imm[0] = static_cast<uint32_t>(static_cast<int64_t>(value));
}

Instruction fillWith(DType type, double value) {
  Instruction fill;
  fill.opcode = Opcode::iota;
  fill.dstType = type;
  setNumber(fill, type, value);
  if (isFloat(type))
    fill.setImm(1, -0.0f); // which leaves a first value of -0 as it is
  return fill;
}

bool VectorNest::emitFill(const Place &place, DType type, double value, const Extents &extents, bool isResult) {
  if (type == DType::Pred8)
    return refuse("a truth that does not change");
  Instruction fill = fillWith(type, value);
  if (!setPlace(fill, Dst, place, isResult))
    return false;
  setBox(fill, extents);
  return add(std::move(fill));
}

/// Of a node that has been emitted.
Place VectorNest::placeOf(unsigned number) { return nodePlaces[number].value_or(Place()); }

SmallVector<unsigned, 3> operandsOf(const Nest &nest, const Node &node) {
  SmallVector<unsigned, 3> operands(node.kind == Node::Apply ? node.operands : SmallVector<unsigned, 3>());
  const bool swaps =
      llvm::is_contained({Opcode::add, Opcode::addrelu, Opcode::mul, Opcode::max, Opcode::min}, node.opcode);
  if (operands.size() == 2 && swaps && nest.nodes[operands[0]].kind == Node::Number)
    std::swap(operands[0], operands[1]);
  return operands;
}

bool VectorNest::emitNode(unsigned number) {
  if (const Node &node = nest.nodes[number]; reinterprets(nest, node)) {
    nodePlaces[number] = placeOf(node.operands[0]);
    return true;
  }
  const Node &node = nest.nodes[number];
  const bool isResult = nest.isAfterSum(number);
  Instruction apply;
  apply.opcode = node.opcode;
  apply.dstType = node.type;
  const SmallVector<unsigned, 3> operands = operandsOf(nest, node);
  const auto count = static_cast<unsigned>(operands.size());
  const bool usesScalar = apply.info().modes && nest.nodes[operands.back()].kind == Node::Number;
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
    if (!setPlace(apply, Src0 + index, placeOf(operand), isResult))
      return false;
  }
  Place result;
  if (!findPlace(result, Computed, number, node.type, isStored(number) ? spatial : 0, isResult) ||
      !setPlace(apply, Dst, result, isResult))
    return false;
  nodePlaces[number] = result;
  setBox(apply, shown(isResult));
  return add(std::move(apply));
}

/// What is done to each result of the reduction.
bool VectorNest::emitAfterSum() {
  nodePlaces[*nest.sum] = sums;
  for (unsigned number = *nest.sum; number < nest.nodes.size(); ++number)
    if (nest.nodes[number].kind == Node::Apply && !emitNode(number))
      return false;
  return true;
}

/// Numbers that are no operand modes of their users become one element each.
bool VectorNest::emitNumbers() {
  for (const Node &node : nest.nodes)
    for (auto [index, operand] : llvm::enumerate(operandsOf(nest, node))) {
      const Node &number = nest.nodes[operand];
      const bool isMode = infoOf(node.opcode).modes && index + 1 == node.operands.size();
      if (number.kind != Node::Number || isMode || nodePlaces[operand])
        continue;
      Place one{0, {1, 0, 0}};
      if (!findRoom(one, Computed, operand, 1, number.type, 0) || !emitFill(one, number.type, number.number, {1, 1, 1}))
        return false;
      nodePlaces[operand] = Place{one.room, {0, 0, 0}, one.elementBytes};
    }
  return true;
}

bool VectorNest::emitStore() {
  const unsigned stored = nest.stored();
  const bool isResult = nest.combine.has_value();
  const Place value = nest.combine && !nest.sum ? sums : placeOf(stored);
  const DType from = nest.combine && !nest.sum ? sumType : nest.nodes[stored].type;
  Place compact{0, denseStrides(isResult)};
  auto differs = [&](unsigned dim) {
    return extentOf(dim) > 1 && static_cast<int>(dim) != reducedDim && value.strides[dim] != compact.strides[dim];
  };
  const bool isNumber = nest.nodes[stored].kind == Node::Number;
  if (!isNumber && from == nest.type && !differs(0) && !differs(1) && !differs(2))
    return emitTransfer(value);
  if (!findPlace(compact, Stored, 0, nest.type, spatial, isResult))
    return false;
  if (isNumber)
    return emitFill(compact, nest.type, nest.nodes[stored].number, extents(isResult), isResult) &&
           emitTransfer(compact);
  Instruction move;
  move.opcode = from == nest.type || (isFloat(from) && isFloat(nest.type)) ? Opcode::mov : Opcode::cvt;
  move.dstType = nest.type;
  move.src0Type = from;
  if (!setPlace(move, Dst, compact, isResult) || !setPlace(move, Src0, value, isResult))
    return false;
  setBox(move, extents(isResult));
  return add(std::move(move)) && emitTransfer(compact);
}

/// The reduced extent is not stored: the next ones are the inner ones.
bool VectorNest::emitTransfer(const Place &value) {
  Extents stored = extents(/*isResult=*/nest.combine.has_value()), strides = {0, 0, 0};
  const unsigned skipped = isReducing() ? 1 : 0;
  for (unsigned dim = skipped; dim < boxRank; ++dim)
    strides[dim - skipped] = box[dim] < 0 ? 0 : nest.store.strides[box[dim]];
  Extents source = {1, stored[0], stored[0] * stored[1]};
  if (stored[0] > 1 && strides[0] != 1) { // a column
    if (stored[2] > 1)
      return refuse("a result whose elements lie apart in three directions");
    stored = {1, stored[0], stored[1]};
    strides = {1, strides[0], strides[1]};
    source = {1, 1, stored[1]};
  }
  std::optional<Operand> near = stream.at(value.room);
  if (!near)
    return refuse("more addresses than there are generators");
  Instruction store;
  setTransfer(store, nest.type, stored, {Opcode::st_1d, Opcode::st_2d, Opcode::st_3d});
  store.dst() = *farStore;
  store.src(0) = *near;
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

/// A load is in the innermost of the outer loops along which it changes, if not for all of a sum at once; so is what
/// only such operands have.
void VectorNest::findLevels() {
  levels.assign(nest.nodes.size(), 0);
  loadLevels.assign(nest.nodes.size(), 0);
  for (auto [number, node] : llvm::enumerate(nest.nodes)) {
    for (unsigned operand : node.operands)
      levels[number] = std::max(levels[number], levels[operand]);
    for (auto [position, loop] : llvm::enumerate(outer))
      if (node.kind == Node::Load && node.access.strides[loop]) {
        levels[number] = static_cast<unsigned>(position + 1);
        if (!(holdsSums && nest.loops[loop].isReduced))
          loadLevels[number] = levels[number];
      }
    if (isStored(static_cast<unsigned>(number)) && node.kind == Node::Apply)
      levels[number] = spatial;
    if (nest.isAfterSum(static_cast<unsigned>(number)) && node.kind != Node::Load)
      levels[number] = notInLevels;
  }
}

/// Nodes that change with this loop, and with none inside of it. Those behind a sum come later.
bool VectorNest::emitLevel(unsigned level) {
  if (level)
    stream.openLoop(static_cast<uint64_t>(nest.loops[outer[level - 1]].extent));
  if (level)
    stream.beginTurn(turnOf(level));
  for (Node::Kind kind : {Node::Load, Node::Apply})
    for (unsigned number = 0; number < nest.nodes.size(); ++number)
      if (nest.nodes[number].kind == kind && (kind == Node::Load ? loadLevels : levels)[number] == level &&
          number != fused && !(kind == Node::Load ? emitLoad(number) : emitNode(number)))
        return false;
  return true;
}

/// Where a load begins.
static ElementAccess from(ElementAccess access, const OperandPlan &plan) {
  access.base += plan.from;
  return access;
}

bool VectorNest::emitLoops() {
  loopNumbers.assign(nest.loops.size(), std::nullopt);
  spatial = static_cast<unsigned>(llvm::count_if(outer, [&](unsigned loop) { return !nest.loops[loop].isReduced; }));
  if ((nest.borders.empty() ? outer.size() : spatial) > numLoops)
    return refuse("more loops than the sequencer has");
  for (auto [number, loop] : llvm::enumerate(outer))
    loopNumbers[loop] = static_cast<unsigned>(number);
  far.assign(nest.nodes.size(), std::nullopt);
  for (auto [number, node] : llvm::enumerate(nest.nodes))
    if (node.kind == Node::Load && plans[number].isRead &&
        !(far[number] = farOperand(from(node.access, plans[number]), farType(static_cast<unsigned>(number)))))
      return refuse("more addresses than there are generators");
  if (!(farStore = farOperand(nest.store, nest.type)))
    return refuse("more addresses than there are generators");
  nodePlaces.assign(nest.nodes.size(), std::nullopt);
  findLevels();
  if (!emitNumbers())
    return false;
  for (unsigned level = 0; level <= spatial; ++level)
    if (!emitLevel(level))
      return false;
  if (nest.combine) {
    if (!findPlace(sums, Sums, 0, sumType, spatial, /*isResult=*/true) ||
        !(nest.continues ? emitReload()
                         : emitFill(sums, sumType, nest.initial, extents(/*isResult=*/true), /*isResult=*/true)))
      return false;
    if (!emitSums() || (reducedRest && !emitRestOfSums()) || (nest.sum && !emitAfterSum()))
      return false;
  }
  if (!emitStore())
    return false;
  closeLoops(0);
  return true;
}

void VectorNest::closeLoops(unsigned level) {
  for (unsigned open = stream.depth(); open > level; --open) {
    stream.endTurn(turnOf(open));
    stream.closeLoop();
  }
}

/// What does not depend on tiles.
bool VectorNest::prepare() {
  if (nest.nodes[nest.value].kind == Node::Number && nest.combine)
    return refuse("a reduction of a number");
  sumType = nest.nodes[nest.value].type;
  chooseBox();
  if (!mayHaveBorders())
    return refuse("borders along more loops than an instruction has");
  if (nest.combine && !isReducing()) {
    readNarrow();
    widenFactor();
  }
  return true;
}

std::string VectorNest::emit() {
  if (prepare() && chooseTiles())
    return "";
  stream.abandon();
  return problem;
}

void VectorNest::forEachWay(llvm::function_ref<void()> visit) {
  if (prepare())
    for (const Extents &tile : tilings())
      for (unsigned wanted : {1u, 2u})
        for (bool holds : {false, true})
          if ((!holds || mayHold()) && emitTiling({tile, wanted, holds}))
            visit();
  stream.abandon();
}

std::string emitVectorNest(const Nest &nest, ArrayRef<Spot> places, const Config &config, Stream &stream,
                           unsigned sharers, Choices &choices) {
  return VectorNest(nest, places, config, stream, sharers, choices).emit();
}

void forEachVectorWay(const Nest &nest, ArrayRef<Spot> places, const Config &config, Stream &stream, unsigned sharers,
                      llvm::function_ref<void()> visit) {
  Choices none;
  VectorNest(nest, places, config, stream, sharers, none).forEachWay(visit);
}

} // namespace perpend::quoin
