//===- Matrices.cpp - register tiles of steps on pairs of rows ------------===//
//
// The emitter of blocks whose step multiplies the words of two rows with those of several columns: a register of sums
// holds a small matrix, its two rows one behind the other. Twice as many products per instruction as a word that is
// multiplied with a vector of words (Registers.cpp).
//
// Vectors of consecutive words of two rows are loaded as they lie, and their words paired: for words w and v of the two
// rows, (w0, w1) and (v0, v1) become (w0, v0) and (w1, v1). Panels hold the words of columns one behind the other, as
// for other intrinsics, so a vector of a panel has the columns of a step. If the number of rows is odd, the last one is
// its own partner.
//
//   tile.call_intrinsic "i8.matrices" %a, %b, %c at(…) strides(…) extents(%cols, %depth, %inner, %outer, %rows)
// becomes
//   func.call @matrices_i8.matrices_8x8(%a, %ao, %as, %b, %bo, %c, %co, %cs, %k, %h, %w, %ah, %aw, %bh, %bw)
//
//===----------------------------------------------------------------------===//

#include "target/vector/Emitters.h"
#include "target/vector/PanelCall.h"
#include "tile/intrinsics/Words.h"

#include "graph/ElementTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using namespace perpend::tile;

namespace {

/// Words of each row that are loaded at once.
constexpr int64_t wordsAtOnce = 2;
/// Distance of the prefetch, in rows of b.
constexpr int64_t prefetchDistance = 16;

class MatrixEmitter : PanelCode {
public:
  MatrixEmitter(ImplicitLocOpBuilder &builder, const Intrinsic &intrinsic, const Intrinsic::Step &step, int64_t rows,
                int64_t cols, PanelArguments arguments, const target::Machine &target)
      : PanelCode(builder, arguments, target), intrinsic(intrinsic), step(step), rows(rows), cols(cols),
        width(step.lanes() / rowsOfStep), pairs(llvm::divideCeil(rows, rowsOfStep)), vectors(cols / width),
        group(intrinsic.panels->group) {}

  void emit();

private:
  Values emitDepth(Value aBase, Value bBase, ValueRange accumulators);
  void emitSteps(ValueRange rowIndices, Value bIndex, int64_t count, MutableArrayRef<Value> accumulators);
  Value loadElements(Value buffer, Type element, Value index, int64_t count) {
    return builder.create<vector::LoadOp>(VectorType::get(count, graph::scalarType(element)), buffer, index);
  }
  Value pair(Value one, Value other, int64_t word);
  void emitStores(ValueRange accumulators);

  const Intrinsic &intrinsic;
  const Intrinsic::Step &step;
  int64_t rows, cols;
  int64_t width;          // columns of a step
  int64_t pairs, vectors; // of rows; steps in a row of the panel
  int64_t group;          // elements of a word
};

/// The words of this number of two rows, one behind the other.
Value MatrixEmitter::pair(Value one, Value other, int64_t word) {
  const int64_t elements = cast<VectorType>(one.getType()).getNumElements();
  SmallVector<int64_t> positions;
  for (int64_t row = 0; row < rowsOfStep; ++row)
    for (int64_t element = 0; element < group; ++element)
      positions.push_back(row * elements + word * group + element);
  return builder.create<vector::ShuffleOp>(one, other, positions);
}

void MatrixEmitter::emitSteps(ValueRange rowIndices, Value bIndex, int64_t count, MutableArrayRef<Value> accumulators) {
  Values loaded;
  for (Value index : rowIndices)
    loaded.push_back(loadElements(arguments.a, intrinsic.panels->left, index, count * group));
  for (int64_t word = 0; word < count; ++word) {
    Value row = add(bIndex, word * cols * group);
    prefetch(arguments.b, row, prefetchDistance * cols * group, cols * group);
    Values panel;
    for (int64_t vector = 0; vector < vectors; ++vector)
      panel.push_back(
          loadElements(arguments.b, intrinsic.panels->right, add(row, vector * width * group), width * group));
    for (int64_t each = 0; each < pairs; ++each) {
      const int64_t first = each * rowsOfStep, second = std::min(first + 1, rows - 1);
      Value left = pair(loaded[first], loaded[second], word);
      for (auto [vector, right] : llvm::enumerate(panel)) {
        Value &sums = accumulators[each * vectors + int64_t(vector)];
        sums = step.inlined(builder, {left, right, sums});
      }
    }
  }
}

/// Accumulates one position of the window: the sum over k.
MatrixEmitter::Values MatrixEmitter::emitDepth(Value aBase, Value bBase, ValueRange accumulators) {
  Values rowBases, sums(accumulators);
  for (int64_t row = 0; row < rows; ++row)
    rowBases.push_back(add(aBase, multiply(arguments.aStride, constant(row))));
  Value from = constant(0);
  for (int64_t count : {wordsAtOnce, int64_t(1)}) {
    const int64_t elements = count * group;
    Value to = arguments.depth;
    if (count > 1)
      to = multiply(builder.create<arith::DivUIOp>(to, constant(elements)), constant(elements));
    sums = emitLoop(from, to, elements, sums, [&](Value k, ValueRange current) {
      Values indices, next(current);
      for (Value base : rowBases)
        indices.push_back(add(base, k));
      emitSteps(indices, add(bBase, multiply(k, constant(cols))), count, next);
      return next;
    });
    from = to;
  }
  return sums;
}

/// Joins the rows of as many matrices as fill a vector.
void MatrixEmitter::emitStores(ValueRange accumulators) {
  for (int64_t row = 0; row < rows; ++row) {
    Value index = add(arguments.cOffset, multiply(arguments.cStride, constant(row)));
    SmallVector<int64_t> positions;
    for (int64_t matrix = 0; matrix < rowsOfStep; ++matrix)
      for (int64_t column = 0; column < width; ++column)
        positions.push_back(matrix * step.lanes() + row % rowsOfStep * width + column);
    for (int64_t vector = 0; vector < vectors; vector += rowsOfStep) {
      const int64_t first = row / rowsOfStep * vectors + vector;
      Value joined = builder.create<vector::ShuffleOp>(accumulators[first], accumulators[first + 1], positions);
      builder.create<vector::StoreOp>(joined, arguments.c, add(index, vector * width));
    }
  }
}

void MatrixEmitter::emit() {
  auto type = VectorType::get(step.lanes(), graph::scalarType(intrinsic.panels->sum));
  Value zero = builder.create<arith::ConstantOp>(builder.getZeroAttr(type));
  Values sums = emitWindow(Values(pairs * vectors, zero),
                           [&](Value a, Value b, ValueRange current) { return emitDepth(a, b, current); });
  emitStores(sums);
}

/// The description's conditions let columns be whole pairs of matrices only.
LogicalResult lowerCall(CallIntrinsicOp op, const Intrinsic &intrinsic, const target::Machine &target) {
  PanelCall call(op, intrinsic);
  std::optional<int64_t> rows = getConstantIntValue(call.rows()), cols = getConstantIntValue(call.columns());
  if (failed(call.check(rows, cols)))
    return failure();
  const Intrinsic::Step *step = matrixStepFor(intrinsic, target);
  if (!step || *cols % step->lanes() != 0)
    return op.emitOpError("no step of '") << intrinsic.name << "' multiplies " << *cols << " columns on this target";
  FailureOr<SmallVector<Value>> operands = call.operands();
  if (failed(operands))
    return failure();
  auto emit = [&](ImplicitLocOpBuilder &code, ValueRange arguments) {
    MatrixEmitter(code, intrinsic, *step, *rows, *cols, PanelArguments(arguments), target).emit();
  };
  call.replace(llvm::formatv("matrices_{0}_{1}x{2}", intrinsic.name, *rows, *cols).str(), *operands, emit);
  return success();
}

/// An even number, for which there are registers: of sums, a row of the panel, a pair of each two rows, and one more.
int64_t rowsAtOnceOfMatrices(const Intrinsic &intrinsic, int64_t panel, std::optional<int64_t> rows,
                             const target::Machine &target) {
  const Intrinsic::Step *step = matrixStepFor(intrinsic, target);
  const int64_t vectors = step ? std::max<int64_t>(1, panel * rowsOfStep / step->lanes()) : 1;
  int64_t most = (int64_t(target.vectorRegisters) - vectors - 1) / (vectors + 1) * rowsOfStep;
  if (step && panel == 2 * step->lanes())
    most = std::min<int64_t>(most, llvm::alignTo(target.gemmRows, rowsOfStep));
  most = std::max<int64_t>(most, rowsOfStep);
  if (!rows || *rows <= 0)
    return most;
  const int64_t even = llvm::divideCeil(*rows, llvm::divideCeil(*rows, most));
  return std::min<int64_t>(*rows, llvm::alignTo(even, rowsOfStep));
}

} // namespace

const Emitter perpend::target::matricesEmitter = {"matrices", PanelCall::takes, lowerCall, rowsAtOnceOfMatrices,
                                                  /*takesAnyRows=*/false};
