//===- Registers.cpp - register tiles of contractions ---------------------===//
//
// The emitter of register tiles: blocks of sums in vector registers (PanelCall.h). A call costs a few nanoseconds,
// compared to a microsecond of work.
//
// The function holds the whole tile of c in vector registers while it iterates over the window and the depth. For each
// k it loads one row of packed b and multiplies it by the broadcast word of each row of a (WordProducts.h). If the
// tile has too few vectors to cover the latency of the multiply-add, consecutive steps use separate sets of
// accumulators, which are added at the end; except in batch-invariant kernels (graph/BatchInvariance.h).
//
// With few columns of f32, vectors would be mostly empty. So intrinsics with words of f32 keep one sum per element of
// a word: the lanes are columns times elements, and the depth takes correspondingly fewer steps.
//
// Words of a narrower type than the sums are extended a vector at a time: that many steps read them from a copy in
// local memory, in which a word is broadcast as it is loaded.
//
// If a block has one column, which is contiguous along the depth, its lanes are along the depth, for the rows and the
// column alike, and are added up at the end. Remaining words are loaded a few at a time into the first lanes.
//
//   tile.call_intrinsic "f32.block" %a, %b, %c at(…) strides(…) extents(%cols, %depth, %inner, %outer, %rows)
// becomes
//   func.call @registers_f32.block_8x32(%a, %ao, %as, %b, %bo, %c, %co, %cs, %k, %h, %w, %ah, %aw, %bh, %bw)
//
//===----------------------------------------------------------------------===//

#include "graph/BatchInvariance.h"
#include "target/vector/Emitters.h"
#include "target/vector/PanelCall.h"
#include "target/vector/WordProducts.h"
#include "tile/intrinsics/Words.h"
#include "tile/kernel/Buffers.h"

#include "graph/ElementTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using namespace perpend::tile;

namespace {

/// Independent multiply-adds that keep two pipes of latency 4 busy, with some slack.
constexpr int64_t minAccumulators = 10;
/// Steps along k in the body of the main loop. LLVM's scheduler interleaves the steps of a body, and then spills
/// accumulators or row addresses of tall tiles. A step of a tall tile is long enough to hide the loop's own
/// instructions.
constexpr int64_t unrollFactor = 4;
constexpr int64_t maxUnrolledRows = 8;
/// If a short depth is known that `unrollFactor` does not divide, such as 7 x 3 channels, a body has the most steps
/// between these that divide it. Otherwise single steps would follow, each with the instructions of a loop and without
/// others that hide the latency of its loads. Bodies of nine steps were slower.
constexpr int64_t leastDividingSteps = 3, mostDividingSteps = 7, mostDividedSteps = 32;
/// Distance of the prefetch, in rows of b.
constexpr int64_t prefetchDistance = 32;
/// At most this many calls share the prefetching of a panel; with more, lines are requested repeatedly.
constexpr int64_t mostParts = 8;
/// Words per step at the end of a column, where they do not fill a vector.
constexpr int64_t fewLanes = 4;
/// Limits of rows per tile: more rows add code but no speed. With one column, each row ends with a sum over lanes.
constexpr int64_t mostRows = 24, mostColumnRows = 8;
/// Rows whose words are in registers at the same time, where instructions select from several.
constexpr int64_t selectedRows = 2;
/// If no multiply-add takes a word directly from memory, LLVM spills the accumulators of more rows than this.
constexpr int64_t mostRowsOfSums = 16;
/// Words of each row that are extended at once for a single column. Of fewer, LLVM unrolls the loop that reads them, and
/// then takes them out of vectors one by one.
constexpr int64_t leastExtendedWords = 16;

int64_t columnsOfVector(Type sum, int64_t sumsOfColumn, const target::Machine &target) {
  return std::max<int64_t>(1, target.vectorLanes(elementBytes(sum)) / sumsOfColumn);
}

/// Registers per logical vector: words may be wider than a register's lane.
int64_t registersOfVector(Type sum, int64_t sumsOfColumn, const target::Machine &target) {
  return llvm::divideCeil(sumsOfColumn, target.vectorLanes(elementBytes(sum)));
}

/// The register allocation of a tile.
struct RegisterBlock {
  int64_t rows, cols;
  int64_t lanes;       //  words per vector
  int64_t vectors;     // vectors per row
  int64_t words;       //  words of the depth per step
  int64_t unroll;      // steps along k in the body of the main loop
  int64_t sets;        // independent copies of the accumulators, at most unroll
  int64_t mostSteps;   // of a body
  bool hasRest = true; // steps may remain after the main loop
  bool isColumn;       // a panel of one column, whose elements are contiguous along the depth

  /// `isFused`: one instruction multiplies and adds. If not, LLVM first adds up the products of neighbouring steps,
  /// which needs registers for all of them.
  /// `isOneChain`: each sum is one chain of multiply-adds, whatever the number of rows.
  /// `liesApart`: a panel's rows do.
  RegisterBlock(int64_t rows, int64_t cols, int64_t registerLanes, int64_t registers, bool isFused, bool isOneChain,
                bool liesApart)
      : rows(rows), cols(cols), sets(1), isColumn(cols == 1 && !liesApart) {
    lanes = cols == 1 && liesApart ? 1 : lanesOf(cols, registerLanes);
    vectors = llvm::divideCeil(cols, lanes);
    words = isColumn ? lanes : 1;
    auto fits = [&](int64_t count) { return count * accumulators() + vectors + 1 <= registers; };
    unroll = rows > maxUnrolledRows || !(isFused || fits(unrollFactor)) ? 1 : unrollFactor;
    mostSteps = mostDividingSteps;
    while (!isFused && mostSteps > 1 && !fits(mostSteps))
      --mostSteps;
    while (!isOneChain && sets < unroll && sets * accumulators() < minAccumulators && fits(2 * sets))
      sets *= 2;
  }

  /// Lanes of a vector: the most that divide the columns; all, for a single column.
  static int64_t lanesOf(int64_t cols, int64_t registerLanes) {
    return cols == 1 ? registerLanes : cols < registerLanes ? cols : std::gcd(cols, registerLanes);
  }
  int64_t accumulators() const { return rows * vectors; }
  /// Divides this many steps into bodies without a rest, if another number of steps per body than usual does it.
  /// Returns whether it does.
  bool divideSteps(int64_t steps) {
    if (unroll == 1 || steps < leastDividingSteps || steps > mostDividedSteps || steps % unroll == 0)
      return false;
    int64_t most = std::min(steps, mostSteps);
    while (most >= leastDividingSteps && steps % most != 0)
      --most;
    if (most < std::max(leastDividingSteps, sets))
      return false;
    unroll = most;
    hasRest = false;
    return true;
  }
};

class MicroKernelEmitter : PanelCode {
public:
  MicroKernelEmitter(ImplicitLocOpBuilder &builder, RegisterBlock block, PanelArguments arguments, WordProducts words,
                     int64_t wholeLanes, const Intrinsic &intrinsic, const target::Machine &target, int64_t parts,
                     Value rowOfPanel)
      : PanelCode(builder, arguments, target), block(block), words(words),
        whole(builder, intrinsic, wholeLanes, target), wholeLanes(wholeLanes), parts(parts), rowOfPanel(rowOfPanel) {}

  void emit();

private:
  Values emitDepth(Value aBase, Value bBase, ValueRange accumulators);
  void emitStep(Value a, ValueRange aIndices, Value bIndex, int64_t step, MutableArrayRef<Value> accumulators,
                ArrayRef<Value> aRows = {});
  Values loadRows(ValueRange aIndices, int64_t steps);
  void emitSelected(ValueRange aIndices, Value bIndex, int64_t first, MutableArrayRef<Value> accumulators);
  Values loadPanelRow(Value bIndex, int64_t step);
  MutableArrayRef<Value> sumsOf(int64_t step, MutableArrayRef<Value> accumulators) {
    return accumulators.slice((step % block.sets) * block.accumulators(), block.accumulators());
  }
  void emitExtended(Value extended, ValueRange aIndices, Value bIndex, MutableArrayRef<Value> accumulators);
  void emitFirstLanes(ValueRange aIndices, Value bIndex, int64_t lanes, MutableArrayRef<Value> accumulators);
  void emitPrefetchAhead(Value bIndex);
  /// The distance of rows of a panel, which are contiguous unless they lie apart.
  Value alongDepth(Value rows) { return multiply(rows, rowOfPanel ? rowOfPanel : constant(block.cols)); }
  Value afterRows(Value bIndex, int64_t rows) {
    return rowOfPanel ? add(bIndex, alongDepth(constant(rows))) : add(bIndex, rows * block.cols * words.group);
  }
  Values addSets(ValueRange accumulators);
  void emitStores(ValueRange accumulators);

  RegisterBlock block;
  WordProducts words;
  WordProducts whole; ///< of so many lanes, with which words are extended
  int64_t wholeLanes;
  Value extended;   ///< room for a vector of words of each row, in the type of the sums; null: they have it
  int64_t parts;    ///< number of calls that share the prefetching
  Value rowOfPanel; ///< from one row of a panel to the next; null: they are contiguous
};

/// Accumulates one position of the window: the sum over k.
MicroKernelEmitter::Values MicroKernelEmitter::emitDepth(Value aBase, Value bBase, ValueRange accumulators) {
  Values rowBases;
  for (int64_t row = 0; row < block.rows; ++row)
    rowBases.push_back(add(aBase, multiply(arguments.aStride, constant(row))));
  using Steps = function_ref<void(ValueRange aIndices, Value bIndex, MutableArrayRef<Value> sums)>;
  Values sums(accumulators);
  Value from = constant(0);
  // Emits steps of `count` words while as many remain.
  auto emitSteps = [&](int64_t count, Steps emitBody) {
    int64_t elements = count * words.group;
    Value to = arguments.depth;
    if (count > 1)
      to = multiply(builder.create<arith::DivUIOp>(to, constant(elements)), constant(elements));
    sums = emitLoop(from, to, elements, sums, [&](Value k, ValueRange current) {
      Values aIndices, next(current);
      for (Value base : rowBases)
        aIndices.push_back(add(base, k));
      emitBody(aIndices, add(bBase, alongDepth(k)), next);
      return next;
    });
    from = to;
  };
  auto emitWhole = [&](int64_t count) {
    emitSteps(count * block.words, [&](ValueRange aIndices, Value bIndex, MutableArrayRef<Value> next) {
      if (arguments.ahead && count == block.unroll)
        emitPrefetchAhead(bIndex);
      const Values aRows = loadRows(aIndices, count);
      int64_t step = 0;
      if (const int64_t selected = block.isColumn ? 0 : words.wordsOfRow())
        for (; step + selected <= count; step += selected)
          emitSelected(aIndices, bIndex, step, next);
      for (; step < count; ++step)
        emitStep(arguments.a, aIndices, bIndex, step, next, aRows);
    });
  };
  if (extended)
    emitSteps(wholeLanes, [&](ValueRange aIndices, Value bIndex, MutableArrayRef<Value> next) {
      emitExtended(extended, aIndices, bIndex, next);
    });
  emitWhole(block.unroll);
  if (block.unroll > 1 && block.hasRest)
    emitWhole(1);
  for (int64_t lanes : {fewLanes, int64_t(1)})
    if (lanes < block.words)
      emitSteps(lanes, [&](ValueRange aIndices, Value bIndex, MutableArrayRef<Value> next) {
        emitFirstLanes(aIndices, bIndex, lanes, next);
      });
  return sums;
}

/// Adds the last few words of a column, for all rows.
void MicroKernelEmitter::emitFirstLanes(ValueRange aIndices, Value bIndex, int64_t lanes,
                                        MutableArrayRef<Value> accumulators) {
  Value column = words.loadFirst(arguments.b, bIndex, lanes);
  for (auto [index, accumulator] : llvm::zip(aIndices, accumulators))
    accumulator = words.multiplyAdd(words.loadFirst(arguments.a, index, lanes), column, accumulator);
}

/// Emits as many steps as a vector has words, on words extended to the type of the sums.
void MicroKernelEmitter::emitExtended(Value extended, ValueRange aIndices, Value bIndex,
                                      MutableArrayRef<Value> accumulators) {
  for (auto [row, index] : llvm::enumerate(aIndices))
    builder.create<vector::StoreOp>(whole.extend(whole.loadRow(arguments.a, index)), extended,
                                    constant(int64_t(row) * wholeLanes));
  Values sums =
      emitLoop(constant(0), constant(wholeLanes), block.unroll, accumulators, [&](Value k, ValueRange current) {
        Values next(current), indices;
        for (int64_t row = 0; row < block.rows; ++row)
          indices.push_back(add(k, row * wholeLanes));
        Value panel = add(bIndex, alongDepth(k));
        if (arguments.ahead)
          emitPrefetchAhead(panel);
        for (int64_t step = 0; step < block.unroll; ++step)
          emitStep(extended, indices, panel, step, next);
        return next;
      });
  llvm::copy(sums, accumulators.begin());
}

/// The words of so many steps, a vector of each row, if these fill it and instructions select from it; otherwise empty.
MicroKernelEmitter::Values MicroKernelEmitter::loadRows(ValueRange aIndices, int64_t steps) {
  const bool isPlain = words.group == 1 && !words.hasStep(); // which LLVM loads in vectors itself
  if (!target.hasUnit(laneUnit) || block.isColumn || isPlain || words.parts > 1 || steps != block.lanes)
    return {};
  return Values(llvm::map_range(aIndices, [&](Value index) { return words.loadRow(arguments.a, index); }));
}

/// Like emitStep, for the steps from `first` on whose words of a row are loaded at once, and selected by instructions.
/// A few rows at a time: these instructions take the words from few of the registers.
void MicroKernelEmitter::emitSelected(ValueRange aIndices, Value bIndex, int64_t first,
                                      MutableArrayRef<Value> accumulators) {
  SmallVector<Values> panel;
  for (int64_t step = 0; step < words.wordsOfRow(); ++step)
    panel.push_back(loadPanelRow(bIndex, first + step));
  for (int64_t from = 0; from < block.rows; from += selectedRows) {
    const int64_t to = std::min(from + selectedRows, block.rows);
    Values rows;
    for (int64_t row = from; row < to; ++row)
      rows.push_back(words.loadWords(arguments.a, add(aIndices[row], first * words.group)));
    for (auto [step, vectors] : llvm::enumerate(panel))
      for (int64_t row = from; row < to; ++row)
        for (auto [vector, right] : llvm::enumerate(vectors)) {
          MutableArrayRef<Value> set = sumsOf(first + int64_t(step), accumulators);
          Value &accumulator = set[row * block.vectors + int64_t(vector)];
          accumulator = words.multiplyAddOfRow(rows[row - from], int64_t(step), right, accumulator);
        }
  }
}

/// The vectors of the panel's row of a step.
MicroKernelEmitter::Values MicroKernelEmitter::loadPanelRow(Value bIndex, int64_t step) {
  if (!block.isColumn)
    prefetch(arguments.b, afterRows(bIndex, step + prefetchDistance), 0, block.cols * words.group);
  Value row = afterRows(bIndex, step * block.words);
  Values vectors;
  for (int64_t vector = 0; vector < block.vectors; ++vector)
    vectors.push_back(words.loadVector(arguments.b, add(row, vector * block.lanes * words.group)));
  return vectors;
}

/// Emits one word along k of the rows `a` for all rows and columns. The indices belong to the first step of the loop's
/// body, as do the vectors of `aRows`, if there are any.
void MicroKernelEmitter::emitStep(Value a, ValueRange aIndices, Value bIndex, int64_t step,
                                  MutableArrayRef<Value> accumulators, ArrayRef<Value> aRows) {
  const Values bRow = loadPanelRow(bIndex, step);
  MutableArrayRef<Value> set = sumsOf(step, accumulators);
  for (int64_t row = 0; row < block.rows; ++row) {
    Value index = add(aIndices[row], step * block.words * words.group);
    Value word = !aRows.empty()   ? words.wordOf(aRows[row], step)
                 : block.isColumn ? words.loadRow(a, index)
                                  : words.loadWord(a, index);
    for (int64_t vector = 0; vector < block.vectors; ++vector) {
      Value &accumulator = set[row * block.vectors + vector];
      accumulator = words.multiplyAdd(word, bRow[vector], accumulator);
    }
  }
}

/// Prefetches this iteration's share into the second-level cache. All at once would stall the multiply-adds.
void MicroKernelEmitter::emitPrefetchAhead(Value bIndex) {
  Value read = builder.create<arith::SubIOp>(bIndex, arguments.bOffset);
  Value first = add(arguments.ahead, builder.create<arith::DivUIOp>(read, constant(parts)));
  int64_t elements = block.unroll * block.words * block.cols * words.group / parts;
  prefetch(arguments.b, first, 0, std::max<int64_t>(1, elements), /*cache=*/2);
}

MicroKernelEmitter::Values MicroKernelEmitter::addSets(ValueRange accumulators) {
  Values sums(accumulators);
  for (int64_t sets = block.sets; sets > 1; sets /= 2) {
    int64_t half = sets / 2 * block.accumulators();
    for (int64_t i = 0; i < half; ++i)
      sums[i] = words.add(sums[i], sums[i + half]);
  }
  sums.resize(block.accumulators());
  return sums;
}

void MicroKernelEmitter::emitStores(ValueRange accumulators) {
  for (int64_t row = 0; row < block.rows; ++row) {
    Value rowIndex = add(arguments.cOffset, multiply(arguments.cStride, constant(row)));
    if (block.isColumn) {
      builder.create<memref::StoreOp>(words.sum(accumulators[row]), arguments.c, rowIndex);
      continue;
    }
    for (int64_t vector = 0; vector < block.vectors; ++vector)
      builder.create<vector::StoreOp>(words.columns(accumulators[row * block.vectors + vector]), arguments.c,
                                      add(rowIndex, vector * block.lanes));
  }
}

void MicroKernelEmitter::emit() {
  if (words.areNarrow() && !block.isColumn && wholeLanes % block.unroll == 0)
    extended = builder.create<memref::AllocaOp>(
        MemRefType::get({block.rows * wholeLanes}, words.sumType.getElementType()), builder.getI64IntegerAttr(64));
  Value zero = builder.create<arith::ConstantOp>(builder.getZeroAttr(words.sumType));
  Values accumulators(block.sets * block.accumulators(), zero);
  Values sums =
      emitWindow(accumulators, [&](Value a, Value b, ValueRange current) { return emitDepth(a, b, current); });
  emitStores(addSets(sums));
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Whether one instruction multiplies and adds, that is, the step does not end with an addition.
bool addsProducts(const Intrinsic &intrinsic, int64_t lanes, const target::Machine &target) {
  const Intrinsic::Step *step = stepFor(intrinsic, lanes, target);
  if (!step)
    return isa<FloatType>(intrinsic.panels->sum);
  Value next = step->code.getBody().front().getTerminator()->getOperand(0);
  return !isa_and_nonnull<arith::AddIOp, arith::AddFOp>(next.getDefiningOp());
}

/// The depth, if it is known and the block takes it in equal bodies of another size than usual: the block's function is
/// then for this depth alone. Words that are extended come a vector at a time.
std::optional<int64_t> divideDepth(RegisterBlock &block, Value depth, const Intrinsic &intrinsic) {
  std::optional<int64_t> count = getConstantIntValue(depth);
  const int64_t wordElements = intrinsic.panels->group;
  bool isPlain = intrinsic.panels->left == intrinsic.panels->sum && block.words == 1;
  if (!count || !isPlain || *count % wordElements != 0 || !block.divideSteps(*count / wordElements))
    return std::nullopt;
  return count;
}

LogicalResult lowerCall(CallIntrinsicOp op, const Intrinsic &intrinsic, const target::Machine &target) {
  PanelCall call(op, intrinsic);
  std::optional<int64_t> rows = getConstantIntValue(call.rows()), cols = getConstantIntValue(call.columns());
  if (failed(call.check(rows, cols)))
    return failure();
  FailureOr<SmallVector<Value>> operands = call.operands();
  if (failed(operands))
    return failure();
  std::string name = llvm::formatv("registers_{0}_{1}x{2}", intrinsic.name, *rows, *cols);
  int64_t parts = 0; // a power of 2
  if (op.getAhead()) {
    parts = std::min<int64_t>(mostParts, llvm::bit_floor<uint64_t>(*op.getParts()));
    name += "_ahead" + std::to_string(parts);
    operands->push_back(op.getAhead());
  }
  const bool isOneChain = graph::isBatchInvariant(op);
  Value rowOfPanel = call.rowOfPanel();
  const bool liesApart = getConstantIntValue(rowOfPanel) != *cols * intrinsic.panels->group;
  if (liesApart) {
    name += "_apart";
    operands->push_back(rowOfPanel);
  }
  const int64_t lanes = columnsOfVector(intrinsic.panels->sum, intrinsic.sumsOfColumn(), target);
  const int64_t wide = registersOfVector(intrinsic.panels->sum, intrinsic.sumsOfColumn(), target);
  RegisterBlock block(*rows, *cols, lanes, target.vectorRegisters / wide,
                      addsProducts(intrinsic, RegisterBlock::lanesOf(*cols, lanes), target), isOneChain, liesApart);
  std::optional<int64_t> depth = divideDepth(block, PanelArguments(ValueRange(*operands)).depth, intrinsic);
  if (depth)
    name += "_depth" + std::to_string(*depth);
  auto emit = [&](ImplicitLocOpBuilder &code, ValueRange arguments) {
    WordProducts words(code, intrinsic, block.lanes, target);
    const int64_t wholeLanes = *cols == 1 ? std::max(lanes, leastExtendedWords) : block.lanes;
    Value apart = liesApart ? arguments.back() : Value();
    PanelArguments others(liesApart ? arguments.drop_back() : arguments);
    if (depth)
      others.depth = code.create<arith::ConstantIndexOp>(*depth);
    MicroKernelEmitter(code, block, others, words, wholeLanes, intrinsic, target, parts, apart).emit();
  };
  call.replace(name, *operands, emit);
  return success();
}

int64_t rowsAtOnceInRegisters(const Intrinsic &intrinsic, int64_t panel, std::optional<int64_t> rows,
                              const target::Machine &target) {
  return rowsInRegisters(intrinsic.panels->sum, panel, intrinsic.panels->group, rows, target, intrinsic.sumsOfColumn());
}

} // namespace

/// On some targets, products of integers need a register before they can be added.
int64_t perpend::tile::rowsInRegisters(Type sum, int64_t panel, int64_t group, std::optional<int64_t> rows,
                                       const target::Machine &target, int64_t sumsOfColumn) {
  int64_t lanes = columnsOfVector(sum, sumsOfColumn, target);
  int64_t vectors = std::max<int64_t>(1, panel / lanes), others = vectors + (group > 1 ? 2 : 1);
  int64_t registers = target.vectorRegisters / registersOfVector(sum, sumsOfColumn, target);
  int64_t most = std::min<int64_t>(mostRows, (registers - others) / vectors);
  if (vectors == 2)
    most = std::min<int64_t>(most, target.gemmRows);
  if (sumsOfColumn > 1)
    most = std::min<int64_t>(most, mostRowsOfSums);
  if (panel == 1)
    most = std::min<int64_t>(most, mostColumnRows);
  most = std::max<int64_t>(most, 1);
  return rows && *rows > 0 ? llvm::divideCeil(*rows, llvm::divideCeil(*rows, most)) : most;
}

const Emitter perpend::target::registersEmitter = {"registers", PanelCall::takes, lowerCall, rowsAtOnceInRegisters,
                                                   /*takesAnyRows=*/false};
