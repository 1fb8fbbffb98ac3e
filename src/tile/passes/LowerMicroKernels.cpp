//===- LowerMicroKernels.cpp - register-blocked contractions ----------------===//
//
// Each distinct block of tile.ukernel becomes one private function, and every use a call of it. Emitting the block once
// keeps code size and compile time independent of the number of uses; the call costs a few nanoseconds against a
// microsecond of work. Must come after tiling (which creates the ops) and before the conversion to the LLVM dialect.
//
// The function holds the whole block of c in vector registers while it walks the window and the depth: for each k it
// loads one row of packed b, and multiplies it by the broadcast of one element of each row of a. Integers take the same
// steps with words of two or four elements instead of one f32 (WordProducts.h). When the block has too few vectors to
// cover the latency of the multiply-add, consecutive steps go to separate sets of accumulators, which are added at the
// end.
//
// A block of one column has its lanes along the depth, of rows and column alike, and sums them at the end; of the words
// that are left, a few at a time are in the first lanes.
//
//   tile.ukernel %a[%ao, %as], %b[%bo], %c[%co, %cs] depth %k window(%h, %w) steps(%ah, %aw)(%bh, %bw) block 8 x 32
// becomes
//   func.call @ukernel_f32_8x32(%a, %ao, %as, %b, %bo, %c, %co, %cs, %k, %h, %w, %ah, %aw, %bh, %bw)
//
//===----------------------------------------------------------------------===//

#include "tile/passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tile/Tile.h"
#include "tile/passes/WordProducts.h"

#include "llvm/Support/FormatVariadic.h"

#include <numeric>

namespace perpend::tile {
#define GEN_PASS_DEF_TILELOWERMICROKERNELS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend::tile;

namespace {

/// Independent multiply-adds that keep two pipes of latency 4 busy, with a little slack.
constexpr int64_t minAccumulators = 10;
/// Steps along k in the body of the main loop. LLVM's scheduler mixes the steps of one body and then spills
/// accumulators or row addresses of tall blocks; a step of a tall block is long enough to hide the loop's own
/// instructions.
constexpr int64_t unrollFactor = 4;
constexpr int64_t maxUnrolledRows = 8;
/// Rows of b between the multiply-adds and the prefetch.
constexpr int64_t prefetchDistance = 8;
constexpr int64_t wordsPerCacheLine = 16;
/// Words of a column, of those that do not fill a vector, in one step.
constexpr int64_t fewLanes = 4;

/// How a block is laid out in vector registers.
struct RegisterBlock {
  int64_t rows, cols;
  int64_t lanes;   // words of one vector
  int64_t vectors; // vectors of one row
  int64_t words;   // of the depth, in one step
  int64_t unroll;  // steps along k in the body of the main loop
  int64_t sets;    // independent copies of the accumulators; divides unroll

  /// `isFused`: products are added by the instruction that makes them. If not, LLVM adds up those of neighbouring steps
  /// first, and needs registers for all.
  RegisterBlock(int64_t rows, int64_t cols, int64_t registerLanes, int64_t registers, bool isFused)
      : rows(rows), cols(cols), sets(1) {
    lanes = cols == 1 ? registerLanes : cols < registerLanes ? cols : std::gcd(cols, registerLanes);
    vectors = llvm::divideCeil(cols, lanes);
    words = isColumn() ? lanes : 1;
    auto fits = [&](int64_t count) { return count * accumulators() + vectors + 1 <= registers; };
    unroll = rows > maxUnrolledRows || !(isFused || fits(unrollFactor)) ? 1 : unrollFactor;
    while (sets < unroll && sets * accumulators() < minAccumulators && fits(2 * sets))
      sets *= 2;
  }

  int64_t accumulators() const { return rows * vectors; }
  bool isColumn() const { return cols == 1; }
};

/// The arguments of the emitted function, in order.
struct Arguments {
  Value a, aOffset, aStride, b, bOffset, c, cOffset, cStride, depth, counts[2], aSteps[2], bSteps[2];

  explicit Arguments(ValueRange v)
      : a(v[0]), aOffset(v[1]), aStride(v[2]), b(v[3]), bOffset(v[4]), c(v[5]), cOffset(v[6]), cStride(v[7]),
        depth(v[8]), counts{v[9], v[10]}, aSteps{v[11], v[12]}, bSteps{v[13], v[14]} {}
};

class MicroKernelEmitter {
public:
  MicroKernelEmitter(ImplicitLocOpBuilder &builder, RegisterBlock block, Arguments arguments, WordProducts words)
      : builder(builder), block(block), arguments(arguments), words(words) {}

  void emit();

private:
  using Values = SmallVector<Value>;
  using LoopBody = function_ref<Values(Value, ValueRange)>;

  Value constant(int64_t value) { return builder.create<arith::ConstantIndexOp>(value); }
  Value add(Value x, Value y) { return builder.create<arith::AddIOp>(x, y); }
  Value add(Value x, int64_t y) { return y == 0 ? x : add(x, constant(y)); }
  Value multiply(Value x, Value y) { return builder.create<arith::MulIOp>(x, y); }

  Values emitLoop(Value lower, Value upper, int64_t step, ValueRange initial, LoopBody body);
  Values emitDepth(Value aBase, Value bBase, ValueRange accumulators);
  void emitStep(ValueRange aIndices, Value bIndex, int64_t step, MutableArrayRef<Value> accumulators);
  void emitFirstLanes(ValueRange aIndices, Value bIndex, int64_t lanes, MutableArrayRef<Value> accumulators);
  void emitPrefetch(Value bIndex, int64_t step);
  Values addSets(ValueRange accumulators);
  void emitStores(ValueRange accumulators);

  ImplicitLocOpBuilder &builder;
  RegisterBlock block;
  Arguments arguments;
  WordProducts words;
};

MicroKernelEmitter::Values MicroKernelEmitter::emitLoop(Value lower, Value upper, int64_t step, ValueRange initial,
                                                        LoopBody body) {
  auto loop = builder.create<scf::ForOp>(lower, upper, constant(step), initial);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Values results = body(loop.getInductionVar(), loop.getRegionIterArgs());
  builder.create<scf::YieldOp>(results);
  return loop.getResults();
}

/// Accumulates one position of the window: the sum over k.
MicroKernelEmitter::Values MicroKernelEmitter::emitDepth(Value aBase, Value bBase, ValueRange accumulators) {
  Values rowBases;
  for (int64_t row = 0; row < block.rows; ++row)
    rowBases.push_back(add(aBase, multiply(arguments.aStride, constant(row))));
  using Steps = function_ref<void(ValueRange aIndices, Value bIndex, MutableArrayRef<Value> sums)>;
  Values sums(accumulators);
  Value from = constant(0);
  // As many times `count` words as are left.
  auto emitSteps = [&](int64_t count, Steps emitBody) {
    int64_t elements = count * words.group;
    Value to = arguments.depth;
    if (count > 1)
      to = multiply(builder.create<arith::DivUIOp>(to, constant(elements)), constant(elements));
    sums = emitLoop(from, to, elements, sums, [&](Value k, ValueRange current) {
      Values aIndices, next(current);
      for (Value base : rowBases)
        aIndices.push_back(add(base, k));
      emitBody(aIndices, add(bBase, multiply(k, constant(block.cols))), next);
      return next;
    });
    from = to;
  };
  auto emitWhole = [&](int64_t count) {
    emitSteps(count * block.words, [&](ValueRange aIndices, Value bIndex, MutableArrayRef<Value> next) {
      for (int64_t step = 0; step < count; ++step)
        emitStep(aIndices, bIndex, step, next);
    });
  };
  emitWhole(block.unroll);
  if (block.unroll > 1)
    emitWhole(1);
  for (int64_t lanes : {fewLanes, int64_t(1)})
    if (lanes < block.words)
      emitSteps(lanes, [&](ValueRange aIndices, Value bIndex, MutableArrayRef<Value> next) {
        emitFirstLanes(aIndices, bIndex, lanes, next);
      });
  return sums;
}

/// A few words of a column for all rows.
void MicroKernelEmitter::emitFirstLanes(ValueRange aIndices, Value bIndex, int64_t lanes,
                                        MutableArrayRef<Value> accumulators) {
  Value column = words.loadFirst(arguments.b, bIndex, lanes);
  for (auto [index, accumulator] : llvm::zip(aIndices, accumulators))
    accumulator = words.multiplyAdd(words.loadFirst(arguments.a, index, lanes), column, accumulator);
}

/// One word along k for all rows and columns. The indices belong to the first step of the loop's body.
void MicroKernelEmitter::emitStep(ValueRange aIndices, Value bIndex, int64_t step,
                                  MutableArrayRef<Value> accumulators) {
  if (!block.isColumn())
    emitPrefetch(bIndex, step);
  Values bRow;
  for (int64_t vector = 0; vector < block.vectors; ++vector) {
    int64_t position = (step * block.words * block.cols + vector * block.lanes) * words.group;
    bRow.push_back(words.loadVector(arguments.b, add(bIndex, position)));
  }
  MutableArrayRef<Value> set = accumulators.slice((step % block.sets) * block.accumulators(), block.accumulators());
  for (int64_t row = 0; row < block.rows; ++row) {
    Value index = add(aIndices[row], step * block.words * words.group);
    Value word = block.isColumn() ? words.loadVector(arguments.a, index) : words.loadWord(arguments.a, index);
    for (int64_t vector = 0; vector < block.vectors; ++vector) {
      Value &accumulator = set[row * block.vectors + vector];
      accumulator = words.multiplyAdd(word, bRow[vector], accumulator);
    }
  }
}

void MicroKernelEmitter::emitPrefetch(Value bIndex, int64_t step) {
  for (int64_t column = 0; column < block.cols; column += wordsPerCacheLine)
    builder.create<memref::PrefetchOp>(arguments.b,
                                       add(bIndex, ((step + prefetchDistance) * block.cols + column) * words.group),
                                       /*isWrite=*/false,
                                       /*localityHint=*/3, /*isDataCache=*/true);
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
    if (block.isColumn()) {
      builder.create<memref::StoreOp>(words.sum(accumulators[row]), arguments.c, rowIndex);
      continue;
    }
    for (int64_t vector = 0; vector < block.vectors; ++vector)
      builder.create<vector::StoreOp>(accumulators[row * block.vectors + vector], arguments.c,
                                      add(rowIndex, vector * block.lanes));
  }
}

void MicroKernelEmitter::emit() {
  Value zero = builder.create<arith::ConstantOp>(builder.getZeroAttr(words.sumType));
  Values accumulators(block.sets * block.accumulators(), zero);
  auto offset = [&](Value base, Value position, Value step) { return add(base, multiply(position, step)); };
  Values sums = emitLoop(constant(0), arguments.counts[0], 1, accumulators, [&](Value outer, ValueRange outerSums) {
    Value aOuter = offset(arguments.aOffset, outer, arguments.aSteps[0]);
    Value bOuter = offset(arguments.bOffset, outer, arguments.bSteps[0]);
    return emitLoop(constant(0), arguments.counts[1], 1, outerSums, [&](Value inner, ValueRange innerSums) {
      return emitDepth(offset(aOuter, inner, arguments.aSteps[1]), offset(bOuter, inner, arguments.bSteps[1]),
                       innerSums);
    });
  });
  emitStores(addSets(sums));
  builder.create<func::ReturnOp>();
}

/// A contiguous buffer of any size with these elements.
MemRefType plainBuffer(Type buffer) {
  return MemRefType::get({ShapedType::kDynamic}, cast<BaseMemRefType>(buffer).getElementType());
}

func::FuncOp createKernel(ModuleOp module, StringRef name, RegisterBlock block, MicroKernelOp op) {
  ImplicitLocOpBuilder builder(module.getLoc(), module.getBodyRegion());
  SmallVector<Type> inputs(op->getOperandTypes());
  for (Type &type : inputs)
    if (isa<BaseMemRefType>(type))
      type = plainBuffer(type);
  auto function = builder.create<func::FuncOp>(name, builder.getFunctionType(inputs, {}));
  function.setPrivate();
  function->setAttr("passthrough", builder.getStrArrayAttr({"noinline"}));
  function->setAttr("llvm.linkage", LLVM::LinkageAttr::get(module.getContext(), LLVM::Linkage::Internal));
  builder.setInsertionPointToStart(function.addEntryBlock());
  WordProducts words(builder, cast<MemRefType>(inputs[3]).getElementType(), op.getGroup(), block.lanes);
  MicroKernelEmitter(builder, block, Arguments(function.getArguments()), words).emit();
  return function;
}

class LowerMicroKernels : public perpend::tile::impl::TileLowerMicroKernelsBase<LowerMicroKernels> {
public:
  using TileLowerMicroKernelsBase::TileLowerMicroKernelsBase;

  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](MicroKernelOp op) { return WalkResult(lower(op)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult lower(MicroKernelOp op);
  func::FuncOp kernelFor(MicroKernelOp op);
};

func::FuncOp LowerMicroKernels::kernelFor(MicroKernelOp op) {
  int64_t rows = op.getRows(), cols = op.getCols();
  Type element = cast<BaseMemRefType>(op.getB().getType()).getElementType();
  std::string name = llvm::formatv("ukernel_{0}_{1}x{2}", element, rows, cols);
  if (auto existing = getOperation().lookupSymbol<func::FuncOp>(name))
    return existing;
  RegisterBlock block(rows, cols, target.vectorLanes(4), target.vectorRegisters,
                      element.isF32() || target.accumulatesDots);
  return createKernel(getOperation(), name, block, op);
}

LogicalResult LowerMicroKernels::lower(MicroKernelOp op) {
  OpBuilder builder(op);
  SmallVector<Value> operands(op.getOperands());
  for (Value &operand : operands) {
    if (!isa<BaseMemRefType>(operand.getType()) || operand.getType() == plainBuffer(operand.getType()))
      continue;
    MemRefType expected = plainBuffer(operand.getType());
    if (!memref::CastOp::areCastCompatible(operand.getType(), expected))
      return op.emitOpError("expected contiguous one-dimensional buffers, got ")
             << operand.getType() << "; hint: address a part of a buffer by the offset operands";
    operand = builder.create<memref::CastOp>(op.getLoc(), expected, operand);
  }
  builder.create<func::CallOp>(op.getLoc(), kernelFor(op), operands);
  op.erase();
  return success();
}

} // namespace
