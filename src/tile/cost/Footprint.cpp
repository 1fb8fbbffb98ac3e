//===- Footprint.cpp - memory footprints of loops -------------------------===//

#include "tile/cost/Footprint.h"

#include "graph/Shapes.h"
#include "tile/cost/KernelCost.h"
#include "tile/kernel/Buffers.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using support::SymbolicAtom;
using support::SymbolicAtomKind;

void TouchedBox::add(const TouchedBox &other) {
  if (dims.empty())
    dims = other.dims;
  for (auto [mine, theirs] : llvm::zip(dims, other.dims))
    mine = {std::min(mine.low, theirs.low), std::max(mine.high, theirs.high)};
  times += other.times;
}

double TouchedBox::bytes(BufferType type, double lineBytes) const {
  double elements = 1, width = static_cast<double>(elementBytes(type.getElementType()));
  for (const NumberRange &range : ArrayRef(dims).drop_back(dims.empty() ? 0 : 1))
    elements *= range.count();
  double rows = std::min(elements, times);
  double last = dims.empty() ? 1 : dims.back().count();
  return std::min(rows * std::max(last * width, lineBytes), times * lineBytes);
}

void Footprint::add(const Footprint &other) {
  for (const auto &[buffer, box] : other.boxes)
    boxes[buffer].add(box);
}

double Footprint::bytes(double lineBytes) const {
  double sum = 0;
  for (const auto &[buffer, box] : boxes)
    sum += box.bytes(cast<BufferType>(buffer.getType()), lineBytes);
  return sum;
}

FootprintFinder::FootprintFinder(func::FuncOp kernel) {
  for (const Access &access : accessesIn(kernel))
    places[access.op] = indices.indicesOf(access);
}

double FootprintFinder::trips(ForOp loop) {
  auto [count, isNew] = tripCounts.try_emplace(loop, 0);
  if (isNew) {
    NumberRange extent = rangeOf(indices.extentOf(loop), loop);
    tripCounts[loop] = std::max(1.0, extent.high);
    return tripCounts[loop];
  }
  return count->second;
}

/// Loops outside the statement are taken at iteration 0.
NumberRange FootprintFinder::rangeOfName(StringRef name, Operation *statement) {
  Value value = indices.names.value(name);
  if (!value) {
    auto number = static_cast<double>(estimate(SymbolicInt::symbol(name)));
    return {number, number};
  }
  auto variable = dyn_cast<BlockArgument>(value);
  auto loop = variable ? dyn_cast<ForOp>(variable.getOwner()->getParentOp()) : ForOp();
  if (!loop || !statement->isAncestor(loop))
    return {0, 0};
  return {0, trips(loop) - 1};
}

NumberRange FootprintFinder::rangeOf(const SymbolicAtom &atom, Operation *statement) {
  if (atom.kind() == SymbolicAtomKind::Symbol)
    return rangeOfName(atom.name(), statement);
  SmallVector<NumberRange, 2> operands;
  for (const SymbolicInt &operand : atom.operands())
    operands.push_back(rangeOf(operand, statement));
  NumberRange first = operands.front();
  if (atom.kind() == SymbolicAtomKind::Min || atom.kind() == SymbolicAtomKind::Max) {
    for (const NumberRange &operand : operands)
      first = atom.kind() == SymbolicAtomKind::Min
                  ? NumberRange{std::min(first.low, operand.low), std::min(first.high, operand.high)}
                  : NumberRange{std::max(first.low, operand.low), std::max(first.high, operand.high)};
    return first;
  }
  double divisor = std::max(1.0, operands[1].low);
  if (atom.kind() == SymbolicAtomKind::FloorDiv)
    return {std::floor(first.low / divisor), std::floor(first.high / divisor)};
  double low = std::floor(first.low / divisor), high = std::floor(first.high / divisor);
  return low == high ? NumberRange{first.low - low * divisor, first.high - low * divisor} : NumberRange{0, divisor - 1};
}

NumberRange FootprintFinder::rangeOf(const SymbolicInt &expression, Operation *statement) {
  NumberRange sum;
  for (const support::SymbolicTerm &term : expression.terms()) {
    auto coefficient = static_cast<double>(term.coefficient);
    NumberRange product{coefficient, coefficient};
    for (const support::SymbolicFactor &factor : term.factors)
      for (unsigned i = 0; i < factor.power; ++i) {
        NumberRange atom = rangeOf(factor.atom, statement);
        auto [least, most] = std::minmax(
            {product.low * atom.low, product.low * atom.high, product.high * atom.low, product.high * atom.high});
        product = {least, most};
      }
    sum = {sum.low + product.low, sum.high + product.high};
  }
  return sum;
}

const Footprint &FootprintFinder::of(Operation *statement) {
  if (auto found = known.find(statement); found != known.end())
    return found->second;
  Footprint footprint;
  for (const Access &access : accessesIn(statement)) {
    TouchedBox box;
    Shape extents = cast<BufferType>(access.buffer().getType()).extents();
    for (auto [index, extent] : llvm::zip(places[access.op], extents)) {
      auto most = static_cast<double>(estimate(extent));
      bool isLoaded = indices.names.anyValue(index, [](Value value) { return value.getDefiningOp(); });
      NumberRange range = isLoaded ? NumberRange{0, most - 1} : rangeOf(index, statement);
      box.dims.push_back({std::clamp(range.low, 0.0, most - 1), std::clamp(range.high, 0.0, most - 1)});
    }
    box.times = 1;
    for (Operation *around = access.op->getParentOp(); around && statement->isAncestor(around);
         around = around->getParentOp())
      if (auto loop = dyn_cast<ForOp>(around))
        box.times *= trips(loop);
    footprint.boxes[access.buffer()].add(box);
  }
  return known[statement] = std::move(footprint);
}

Footprint FootprintFinder::of(mlir::Block &body) {
  Footprint all;
  for (Operation &statement : body)
    if (isa<ForOp, BlockOp>(statement))
      all.add(of(&statement));
  return all;
}
