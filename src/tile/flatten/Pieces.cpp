//===- Pieces.cpp - loops whose code chooses by index ---------------------===//
//
// Behind a concat or a pad, a block chooses by its index where an element comes from. If the choice changes only once
// along a loop, the loop is emitted in two pieces, each with one of the branches and without the comparison: what is
// left is a copy that LLVM vectorises. Rules cut loops whose bounds are constants (loop_partition); the bounds of these
// pieces may depend on symbols and on the unit.
//
//   tile.for %i in 300007 { block … %c = cmpi ult %i, 7; scf.if %c {…} else {…} }
//   =>  for %i in 7 {…}   for %i from 7 to 300007 {…}
//
//===----------------------------------------------------------------------===//

#include "tile/flatten/Flattener.h"
#include "tile/schedule/Nests.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Most cuts of a loop, and most operations in its body, which each piece repeats. A longer body takes so
/// much time that a comparison does not matter.
static constexpr unsigned mostPieceCuts = 8, mostRepeated = 64;
/// Fewest iterations, if they are known.
static constexpr int64_t leastIterations = 16;

/// Whether the loop is innermost, is emitted as it stands, and has a short body.
static bool mayBeInPieces(ForOp loop, KernelIndices &indices) {
  unsigned operations = 0;
  bool isInnermost = true;
  loop.body()->walk([&](Operation *op) {
    ++operations;
    isInnermost &= !isa<ForOp>(op);
  });
  return isInnermost && operations <= mostRepeated && loop.getKind() == LoopKind::Serial &&
         indices.extentOf(loop).constant().value_or(leastIterations) >= leastIterations;
}

std::optional<Flattener::Cut> Flattener::nextCut(ForOp loop) {
  std::optional<Cut> found;
  loop.body()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto choice = dyn_cast<scf::IfOp>(op);
    auto comparison = choice ? choice.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
    if (!comparison || decided.contains(comparison))
      return WalkResult::advance();
    std::optional<SymbolicInt> end = endAlong(comparison, loop, indices);
    if (!end || !isOutside(*end, loop->getParentOp(), indices.names))
      return WalkResult::advance();
    found = Cut{comparison, *end};
    return WalkResult::interrupt();
  });
  return found;
}

void Flattener::forEachPiece(ForOp loop, const SymbolicInt &from, const SymbolicInt &to, EmitPart emitPart) {
  if (decided.empty())
    pieceCuts = 0;
  std::optional<Cut> cut = pieceCuts < mostPieceCuts && mayBeInPieces(loop, indices) ? nextCut(loop) : std::nullopt;
  SymbolicInt at = cut ? withNumbers(support::min(support::max(cut->end, from), to)) : to;
  if (!cut || at.isPoison())
    return emitPart(from, to);
  ++pieceCuts;
  decided[cut->comparison] = true;
  forEachPiece(loop, from, at, emitPart);
  decided[cut->comparison] = false;
  forEachPiece(loop, at, to, emitPart);
  decided.erase(cut->comparison);
}

bool Flattener::emitDecided(OpBuilder &builder, Operation &op) {
  if (auto known = decided.find(&op); known != decided.end()) {
    mapping.map(op.getResult(0), builder.create<arith::ConstantIntOp>(loc, known->second, 1));
    return true;
  }
  auto choice = dyn_cast<scf::IfOp>(op);
  auto known = choice ? decided.find(choice.getCondition().getDefiningOp()) : decided.end();
  if (known == decided.end())
    return false;
  Region &branch = known->second ? choice.getThenRegion() : choice.getElseRegion();
  if (branch.empty())
    return true;
  emit(builder, branch.front());
  for (auto [result, yielded] : llvm::zip(choice.getResults(), branch.front().getTerminator()->getOperands()))
    mapping.map(result, mapping.lookup(yielded));
  return true;
}
