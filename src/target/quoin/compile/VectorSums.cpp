//===- VectorSums.cpp - reductions on the vector unit ---------------------===//
#include "target/quoin/compile/VectorNest.h"

#include "llvm/ADT/STLExtras.h"

namespace perpend::quoin {

using llvm::ArrayRef;

/// The sums as they are, which have the type of what is stored.
bool VectorNest::emitReload() {
  if (nest.type != sumType)
    return refuse("sums that go on in another type");
  const Extents stored = extents(/*isResult=*/true);
  Extents from = {0, 0, 0};
  for (unsigned dim = isReducing() ? 1 : 0; dim < boxRank; ++dim)
    from[dim - (isReducing() ? 1 : 0)] = box[dim] < 0 ? 0 : nest.store.strides[box[dim]];
  if (stored[0] > 1 && from[0] != 1)
    return refuse("sums that go on, and lie apart");
  std::optional<Operand> to = stream.at(sums.room);
  if (!to)
    return refuse("more addresses than there are generators");
  Instruction load;
  setTransfer(load, nest.type, stored, {Opcode::ld_1d, Opcode::ld_2d, Opcode::ld_3d});
  load.dst() = *to;
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

/// Sums of products in one instruction: they begin as sums, and both are rounded.
bool VectorNest::emitProduct() {
  Instruction product;
  product.opcode = Opcode::fma;
  product.dstType = product.src1Type = sumType;
  const Node &node = nest.nodes[nest.value];
  const unsigned wide = node.operands[1] == widened ? node.operands[1] : node.operands[0],
                 other = node.operands[wide == node.operands[0] ? 1 : 0];
  product.src0Type = nest.nodes[other].type;
  if (!setPlace(product, Dst, sums, true) || !setPlace(product, Src0, placeOf(other)) ||
      !setPlace(product, Src1, placeOf(wide)) || !setPlace(product, Src2, sums, true))
    return false;
  setBox(product, shown());
  return add(std::move(product));
}

/// Combines the value of this iteration with the sums.
bool VectorNest::emitReduction() {
  if (widened)
    return emitProduct();
  const DType type = nest.nodes[nest.value].type;
  Place value = placeOf(nest.value);
  if (isReducing()) {
    Instruction reduce;
    reduce.opcode = *nest.combine == Opcode::add   ? Opcode::rsum
                    : *nest.combine == Opcode::mul ? Opcode::rprod
                    : *nest.combine == Opcode::max ? Opcode::rmax
                                                   : Opcode::rmin;
    reduce.dstType = reduce.src0Type = type;
    setBox(reduce, extents());
    Place partial;
    if (!setPlace(reduce, Src0, value) || !findPlace(partial, Partial, 0, type, 0, /*isResult=*/true) ||
        !setPlace(reduce, Dst, partial))
      return false;
    value = partial;
    reduce.inner[Dst] = 1;
    if (!add(std::move(reduce)))
      return false;
  }
  Instruction combine;
  combine.opcode = *nest.combine;
  combine.dstType = combine.src0Type = sumType;
  combine.src1Type = type;
  if (!setPlace(combine, Dst, sums, true) || !setPlace(combine, Src0, sums, true) ||
      !setPlace(combine, Src1, value, true))
    return false;
  setBox(combine, shown(/*isResult=*/true));
  return add(std::move(combine));
}

/// What an iteration of the loops of a sum does, where windows are inside of the image.
bool VectorNest::emitTap() {
  for (unsigned dim = 0; dim < boxRank; ++dim) {
    first[dim] = 0;
    count[dim] = extentOf(dim);
  }
  for (const accelerator::Border &border : nest.borders) {
    const auto dim = static_cast<unsigned>(llvm::find(box, static_cast<int>(border.loop)) - box.begin());
    const auto [begin, end] = border.iterations[static_cast<size_t>(tap[border.reduced])];
    first[dim] = begin;
    count[dim] = end - begin;
  }
  if (llvm::is_contained(count, 0))
    return true;
  for (unsigned number = 0; number < nest.nodes.size(); ++number)
    if (nest.nodes[number].kind == Node::Apply && levels[number] > spatial && number != fused &&
        !nest.isAfterSum(number) && !emitNode(number))
      return false;
  return emitReduction();
}

/// Instead of loops, because each iteration has its own part of the box.
bool VectorNest::emitTaps() {
  const ArrayRef<unsigned> reduced = ArrayRef(outer).drop_front(spatial);
  tap.assign(nest.loops.size(), 0);
  for (bool isDone = false; !isDone;) {
    if (!emitTap())
      return false;
    isDone = true;
    for (unsigned loop : llvm::reverse(reduced)) {
      if (++tap[loop] < nest.loops[loop].extent) {
        isDone = false;
        break;
      }
      tap[loop] = 0;
    }
  }
  tap.clear();
  first = count = {0, 0, 0};
  return true;
}

bool VectorNest::emitSums() {
  if (!nest.borders.empty())
    return emitTaps();
  for (unsigned level = spatial + 1; level <= outer.size(); ++level)
    if (!emitLevel(level))
      return false;
  if (!emitReduction())
    return false;
  closeLoops(spatial);
  return true;
}

/// Iterations of the reduced loop that are no tile of it.
bool VectorNest::emitRestOfSums() {
  VectorNest rest(*this);
  const int inner = box[reducedDim];
  rest.nest.loops[inner].extent = reducedRest;
  rest.nest.loops[restLoop].extent = 1;
  for (auto [number, node] : llvm::enumerate(rest.nest.nodes)) {
    if (node.kind != Node::Load || levels[number] <= spatial)
      continue;
    node.access.base += nest.loops[inner].extent * nest.loops[restLoop].extent * node.access.strides[inner];
    if (!(rest.far[number] = rest.farOperand(node.access, node.type)))
      return refuse("more addresses than there are generators");
  }
  return (rest.planLoads() && rest.emitSums()) || refuse(rest.problem);
}

/// The vector unit combines a sum with a narrower value as it is.
void VectorNest::readNarrow() {
  const Node &value = nest.nodes[nest.value];
  if (value.kind != Node::Apply || value.opcode != Opcode::cvt || !isFloat(value.type))
    return;
  const Node &from = nest.nodes[value.operands[0]];
  if (!isFloat(from.type) || sizeOf(from.type) >= sizeOf(value.type) || from.kind == Node::Number)
    return;
  fused = nest.value;
  nest.value = value.operands[0];
}

/// A product that is added to a sum is one instruction with that, whose last two operands have the sum's type.
void VectorNest::widenFactor() {
  const Node &product = nest.nodes[nest.value];
  if (nest.combine != Opcode::add || product.kind != Node::Apply || product.opcode != Opcode::mul ||
      product.type != DType::F32 || product.operands[0] == product.operands[1])
    return;
  std::optional<unsigned> best;
  int64_t fewest = 0;
  for (unsigned operand : product.operands) {
    const Node &node = nest.nodes[operand];
    const auto users =
        llvm::count_if(nest.nodes, [&](const Node &user) { return llvm::is_contained(user.operands, operand); });
    if (node.kind != Node::Load || !isFloat(node.type) || users != 1)
      return;
    int64_t elements = 1;
    for (auto [loop, stride] : llvm::zip_equal(nest.loops, node.access.strides))
      elements *= stride ? loop.extent : 1;
    if (!best || elements < fewest) {
      best = operand;
      fewest = elements;
    }
  }
  fused = nest.value;
  widened = best;
  narrow = nest.nodes[*best].type;
  nest.nodes[*best].type = DType::F32;
}

} // namespace perpend::quoin
