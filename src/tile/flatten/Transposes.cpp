//===- Transposes.cpp - transposes loads in registers ---------------------===//
//
// Consider a vectorised loop of n lanes in an unrolled loop of n iterations, n a power of two, and a load that is
// contiguous along the unrolled loop, forwards or backwards, instead of the lanes. Whole vectors are loaded and
// transposed in registers: n loads and n * log2(n) shuffles, instead of n * n loads.
//
//   tile.for %i in 8 unrolled { tile.for %j in 8 vectorized { … tile.load %in[%j, %i] … } }
//
//===----------------------------------------------------------------------===//

#include "tile/flatten/Flattener.h"
#include "tile/schedule/Nests.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
/// Transposes n rows of n elements, n a power of 2. Within 128 bits processors shuffle with one instruction, so
/// elements are first permuted within these parts, then the parts.
class RegisterTranspose {
public:
  RegisterTranspose(OpBuilder &builder, Location loc, SmallVector<Value> rows)
      : builder(builder), loc(loc), rows(std::move(rows)) {
    auto type = cast<VectorType>(this->rows.front().getType());
    part = std::min<int64_t>(count(), 128 / type.getElementTypeBitWidth());
  }

  SmallVector<Value> run() {
    for (int64_t step = 1; step < count(); step *= 2)
      exchange(step, [&](int64_t lane, bool isHigh) {
        return step < part ? interleaved(lane, step, isHigh) : swapped(lane, step, isHigh);
      });
    SmallVector<Value> columns(count());
    for (int64_t row = 0; row < count(); ++row)
      columns[(row & ~(part - 1)) | reversed(row & (part - 1))] = rows[row];
    return columns;
  }

private:
  int64_t count() const { return rows.size(); }

  /// Replaces every pair of rows by two shuffles of both. The mask numbers the lanes of the first row, then those of
  /// the second.
  void exchange(int64_t step, llvm::function_ref<int64_t(int64_t, bool)> source) {
    for (int64_t row = 0; row < count(); ++row) {
      if (row & step)
        continue;
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < count(); ++lane) {
        low.push_back(source(lane, false));
        high.push_back(source(lane, true));
      }
      Value first = rows[row], second = rows[row + step];
      rows[row] = builder.create<vector::ShuffleOp>(loc, first, second, low);
      rows[row + step] = builder.create<vector::ShuffleOp>(loc, first, second, high);
    }
  }

  /// Alternates runs of `step` elements from both rows, taken from the lower or upper half of each 128-bit part.
  int64_t interleaved(int64_t lane, int64_t step, bool isHigh) const {
    int64_t inPart = lane % part;
    int64_t from = lane - inPart + inPart / (2 * step) * step + inPart % step + (isHigh ? part / 2 : 0);
    return from + (inPart / step % 2 ? count() : 0);
  }

  /// The lower runs of `step` elements of both rows, or both upper runs.
  int64_t swapped(int64_t lane, int64_t step, bool isHigh) const {
    int64_t from = (lane & ~step) + (isHigh ? step : 0);
    return lane & step ? from + count() : from;
  }

  int64_t reversed(int64_t number) const {
    int64_t result = 0;
    for (int64_t bit = 1, mirror = part / 2; bit < part; bit *= 2, mirror /= 2)
      result |= number & bit ? mirror : 0;
    return result;
  }

  OpBuilder &builder;
  Location loc;
  SmallVector<Value> rows;
  int64_t part; // elements in 128 bits
};
} // namespace

ForOp Flattener::lanesAcross(ForOp loop) {
  auto inner = llvm::hasSingleElement(*loop.body()) ? dyn_cast<ForOp>(loop.body()->front()) : ForOp();
  if (!inner || loop.getKind() != LoopKind::Unrolled || inner.getKind() != LoopKind::Vectorized)
    return {};
  std::optional<int64_t> count = indices.extentOf(loop).constant();
  bool isSquare = count && llvm::isPowerOf2_64(*count) && indices.extentOf(inner).constant() == count;
  return isSquare && !hasOpenCondition(loop) && !hasOpenCondition(inner) && canBeLanes(inner) ? inner : ForOp();
}

/// Whether the expression uses a value computed inside the loop.
static bool usesComputed(const SymbolicInt &expression, ForOp loop, const IndexNames &names) {
  return names.anyValue(expression,
                        [&](Value value) { return value.getDefiningOp() && loop->isAncestor(value.getDefiningOp()); });
}

/// Finds loads that run in all iterations, of elements that the loop does not write, contiguous along the loop but not
/// along the lanes.
SmallVector<LoadOp> Flattener::loadsAcross(ForOp loop) {
  SmallVector<LoadOp> loads;
  loop.walk([&](LoadOp load) {
    bool isWritten = llvm::any_of(accessesIn(loop, load.getBuffer()), [](const Access &a) { return a.isStore(); });
    if (isWritten || !isa<BlockOp>(load->getParentOp()) || hasOpenCondition(cast<BlockOp>(load->getParentOp())))
      return;
    SymbolicInt position = positionOf({load});
    IndexAlong along = indices.along(position, loop, load), across = indices.along(position, lanes, load);
    const bool isAdjacent = along.isContiguous() || along.stride == SymbolicInt(-1);
    if (isAdjacent && across.stride && !across.isUniform() && !across.isContiguous() &&
        !usesLoop(*across.stride, loop, indices.names) && !usesComputed(position, loop, indices.names))
      loads.push_back(load);
  });
  return loads;
}

bool Flattener::emitAcross(OpBuilder &builder, ForOp loop) {
  ForOp inner = lanesAcross(loop);
  if (!inner)
    return false;
  lanes = inner;
  laneCount = *indices.extentOf(inner).constant();
  SmallVector<LoadOp> loads = loadsAcross(loop);
  SmallVector<SmallVector<Value>> columns;
  for (LoadOp load : loads) {
    const bool isForwards = indices.along(positionOf({load}), loop, load).isContiguous();
    Value memory = memoryOf(load.getBuffer());
    Type stored = cast<MemRefType>(memory.getType()).getElementType();
    SymbolicInt position = positionOf({load});
    SmallVector<Value> rows;
    for (int64_t lane = 0; lane < laneCount; ++lane) {
      llvm::StringMap<SymbolicInt> place;
      place[indices.names.nameOf(loop.variable())] = SymbolicInt(isForwards ? 0 : laneCount - 1);
      place[indices.names.nameOf(inner.variable())] = SymbolicInt(lane);
      SymbolicInt start = simplify(position.substitute(place), indices.rangesAround(load));
      rows.push_back(builder.create<vector::LoadOp>(loc, cast<VectorType>(laneType(stored)), memory,
                                                    ValueRange(value(builder, start))));
    }
    columns.push_back(RegisterTranspose(builder, loc, std::move(rows)).run());
    if (!isForwards)
      std::reverse(columns.back().begin(), columns.back().end());
  }
  for (int64_t i = 0; i < laneCount; ++i) {
    mapping.map(loop.variable(), emitter.constant(i));
    for (auto [load, column] : llvm::zip(loads, columns))
      loaded[load] = column[i];
    emit(builder, *inner.body());
  }
  loaded.clear();
  lanes = {};
  return true;
}
