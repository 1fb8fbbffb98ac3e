//===- Registers.cpp - register-blocked contractions --------------------------===//
//
// The emitter of blocks of sums in registers. Each distinct block becomes one private function, and every use a call of
// it. Emitting the block once keeps code size and compile time independent of the number of uses; the call costs a few
// nanoseconds against a microsecond of work.
//
// The function holds the whole block of c in vector registers while it walks the window and the depth: for each k it
// loads one row of packed b, and multiplies it by the broadcast of one word of each row of a (WordProducts.h). When the
// block has too few vectors to cover the latency of the multiply-add, consecutive steps go to separate sets of
// accumulators, which are added at the end.
//
// A block of one column has its lanes along the depth, of rows and column alike, and sums them at the end; of the words
// that are left, a few at a time are in the first lanes.
//
//   tile.call_intrinsic "f32.block" %a, %b, %c at(…) strides(…) extents(%cols, %depth, %inner, %outer, %rows)
// becomes
//   func.call @registers_f32.block_8x32(%a, %ao, %as, %b, %bo, %c, %co, %cs, %k, %h, %w, %ah, %aw, %bh, %bw)
//
//===----------------------------------------------------------------------===//

#include "tile/intrinsics/Emitters.h"
#include "tile/intrinsics/WordProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace mlir;
using namespace perpend;
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
/// In as many calls at most what is asked for comes; with more of them it is asked for again.
constexpr int64_t mostParts = 8;
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
    lanes = lanesOf(cols, registerLanes);
    vectors = llvm::divideCeil(cols, lanes);
    words = isColumn() ? lanes : 1;
    auto fits = [&](int64_t count) { return count * accumulators() + vectors + 1 <= registers; };
    unroll = rows > maxUnrolledRows || !(isFused || fits(unrollFactor)) ? 1 : unrollFactor;
    while (sets < unroll && sets * accumulators() < minAccumulators && fits(2 * sets))
      sets *= 2;
  }

  /// Of a vector: as many as divide the columns; of one column, all.
  static int64_t lanesOf(int64_t cols, int64_t registerLanes) {
    return cols == 1 ? registerLanes : cols < registerLanes ? cols : std::gcd(cols, registerLanes);
  }
  int64_t accumulators() const { return rows * vectors; }
  bool isColumn() const { return cols == 1; }
};

/// The arguments of the emitted function, in order.
struct Arguments {
  Value a, aOffset, aStride, b, bOffset, c, cOffset, cStride, depth, counts[2], aSteps[2], bSteps[2];
  Value ahead; // null: nothing is asked for

  explicit Arguments(ValueRange v)
      : a(v[0]), aOffset(v[1]), aStride(v[2]), b(v[3]), bOffset(v[4]), c(v[5]), cOffset(v[6]), cStride(v[7]),
        depth(v[8]), counts{v[9], v[10]}, aSteps{v[11], v[12]}, bSteps{v[13], v[14]},
        ahead(v.size() > 15 ? v[15] : Value()) {}
};

class MicroKernelEmitter {
public:
  MicroKernelEmitter(ImplicitLocOpBuilder &builder, RegisterBlock block, Arguments arguments, WordProducts words,
                     unsigned lineBytes, int64_t parts)
      : builder(builder), block(block), arguments(arguments), words(words), lineBytes(lineBytes), parts(parts) {}

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
  void emitPrefetchAhead(Value bIndex);
  int64_t lineElements() { return 8 * lineBytes / cast<MemRefType>(arguments.b.getType()).getElementTypeBitWidth(); }
  Values addSets(ValueRange accumulators);
  void emitStores(ValueRange accumulators);

  ImplicitLocOpBuilder &builder;
  RegisterBlock block;
  Arguments arguments;
  WordProducts words;
  unsigned lineBytes;
  int64_t parts; ///< calls in which what is asked for ahead comes
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
      if (arguments.ahead && count == block.unroll)
        emitPrefetchAhead(bIndex);
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
    Value word = block.isColumn() ? words.loadRow(arguments.a, index) : words.loadWord(arguments.a, index);
    for (int64_t vector = 0; vector < block.vectors; ++vector) {
      Value &accumulator = set[row * block.vectors + vector];
      accumulator = words.multiplyAdd(word, bRow[vector], accumulator);
    }
  }
}

void MicroKernelEmitter::emitPrefetch(Value bIndex, int64_t step) {
  for (int64_t column = 0; column < block.cols; column += lineElements() / words.group)
    builder.create<memref::PrefetchOp>(arguments.b,
                                       add(bIndex, ((step + prefetchDistance) * block.cols + column) * words.group),
                                       /*isWrite=*/false,
                                       /*localityHint=*/3, /*isDataCache=*/true);
}

/// The part of this iteration, into the second cache: what comes all at once would stop the multiply-adds.
void MicroKernelEmitter::emitPrefetchAhead(Value bIndex) {
  Value read = builder.create<arith::SubIOp>(bIndex, arguments.bOffset);
  Value first = add(arguments.ahead, builder.create<arith::DivUIOp>(read, constant(parts)));
  int64_t elements = block.unroll * block.words * block.cols * words.group / parts;
  for (int64_t line = 0; line < std::max<int64_t>(1, elements); line += lineElements())
    builder.create<memref::PrefetchOp>(arguments.b, add(first, line), /*isWrite=*/false, /*localityHint=*/2,
                                       /*isDataCache=*/true);
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

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// A contiguous buffer of any size with these elements.
MemRefType plainBuffer(Type buffer) {
  return MemRefType::get({ShapedType::kDynamic}, cast<BaseMemRefType>(buffer).getElementType());
}

/// Whether products are added by what makes them: the last thing that a step does is no addition.
bool addsProducts(const Intrinsic &intrinsic, int64_t lanes, const target::TargetInfo &target) {
  const Intrinsic::Step *step = WordProducts::stepFor(intrinsic, lanes, target);
  if (!step)
    return isa<FloatType>(intrinsic.panels->sum);
  Value next = step->code.getBody().front().getTerminator()->getOperand(0);
  return !isa_and_nonnull<arith::AddIOp, arith::AddFOp>(next.getDefiningOp());
}

/// What the function of a block takes, in the order of Arguments, of a call whose buffers are [outer, inner, rows,
/// depth(, g)], [outer, inner, depth, cols(, g)] and [rows, cols].
class RegisterCall {
public:
  RegisterCall(CallIntrinsicOp op, const Intrinsic &intrinsic) : op(op), intrinsic(intrinsic), builder(op) {}

  LogicalResult lower(const target::TargetInfo &target);

private:
  Value extent(StringRef name) {
    return op.getExtents()[llvm::find(intrinsic.parameters, name) - intrinsic.parameters.begin()];
  }
  Value stride(unsigned buffer, unsigned dim) {
    for (unsigned i = 0; i < buffer; ++i)
      dim += intrinsic.rank(i);
    return op.getStrides()[dim];
  }
  FailureOr<Value> plain(Value buffer);
  func::FuncOp functionOf(int64_t rows, int64_t cols, TypeRange inputs, const target::TargetInfo &target);
  /// As a power of two.
  int64_t parts() {
    return op.getAhead() ? std::min<int64_t>(mostParts, llvm::bit_floor<uint64_t>(*op.getParts())) : 0;
  }

  CallIntrinsicOp op;
  const Intrinsic &intrinsic;
  OpBuilder builder;
};

FailureOr<Value> RegisterCall::plain(Value buffer) {
  MemRefType expected = plainBuffer(buffer.getType());
  if (buffer.getType() == expected)
    return buffer;
  if (!memref::CastOp::areCastCompatible(buffer.getType(), expected))
    return op.emitOpError("expected contiguous one-dimensional buffers, got ")
           << buffer.getType() << "; hint: address a part of a buffer by its base";
  return Value(builder.create<memref::CastOp>(op.getLoc(), expected, buffer));
}

func::FuncOp RegisterCall::functionOf(int64_t rows, int64_t cols, TypeRange inputs, const target::TargetInfo &target) {
  auto module = op->getParentOfType<ModuleOp>();
  std::string name = llvm::formatv("registers_{0}_{1}x{2}", intrinsic.name, rows, cols);
  if (parts())
    name += "_ahead" + std::to_string(parts());
  if (auto existing = module.lookupSymbol<func::FuncOp>(name))
    return existing;
  ImplicitLocOpBuilder code(module.getLoc(), module.getBodyRegion());
  auto function = code.create<func::FuncOp>(name, code.getFunctionType(inputs, {}));
  function.setPrivate();
  function->setAttr("passthrough", code.getStrArrayAttr({"noinline"}));
  function->setAttr("llvm.linkage", LLVM::LinkageAttr::get(module.getContext(), LLVM::Linkage::Internal));
  code.setInsertionPointToStart(function.addEntryBlock());
  int64_t lanes = target.vectorLanes(intrinsic.panels->sum.getIntOrFloatBitWidth() / 8);
  RegisterBlock block(rows, cols, lanes, target.vectorRegisters,
                      addsProducts(intrinsic, RegisterBlock::lanesOf(cols, lanes), target));
  WordProducts words(code, intrinsic, block.lanes, target);
  MicroKernelEmitter(code, block, Arguments(function.getArguments()), words, target.lineBytes, parts()).emit();
  return function;
}

LogicalResult RegisterCall::lower(const target::TargetInfo &target) {
  std::optional<int64_t> rows = getConstantIntValue(extent("rows")), cols = getConstantIntValue(extent("cols"));
  Shape extents(intrinsic.block.getDomain().values());
  for (SymbolicInt &extent : extents)
    if (!extent.isConstant())
      extent = SymbolicInt(extent.str() == "rows" ? rows.value_or(0) : extent.str() == "cols" ? cols.value_or(0) : 1);
  if (!rows || !cols || *rows < 1 || *cols < 1 || !intrinsic.allows(extents))
    return op.emitOpError("expected numbers of rows and columns that '") << intrinsic.name << "' takes";
  FailureOr<Value> a = plain(op.getBuffers()[0]), b = plain(op.getBuffers()[1]), c = plain(op.getBuffers()[2]);
  if (failed(a) || failed(b) || failed(c))
    return failure();
  Value depth = extent("depth");
  if (intrinsic.panels->group > 1)
    depth = builder.createOrFold<arith::MulIOp>(
        op.getLoc(), depth, builder.create<arith::ConstantIndexOp>(op.getLoc(), intrinsic.panels->group));
  SmallVector<Value> operands = {*a,
                                 op.getBases()[0],
                                 stride(0, 2),
                                 *b,
                                 op.getBases()[1],
                                 *c,
                                 op.getBases()[2],
                                 stride(2, 0),
                                 depth,
                                 extent("outer"),
                                 extent("inner"),
                                 stride(0, 0),
                                 stride(0, 1),
                                 stride(1, 0),
                                 stride(1, 1)};
  if (op.getAhead())
    operands.push_back(op.getAhead());
  func::FuncOp function = functionOf(*rows, *cols, TypeRange(ValueRange(operands)), target);
  builder.create<func::CallOp>(op.getLoc(), function, operands);
  op.erase();
  return success();
}

/// Of products in panels over a window of two dimensions: strides of the sums, and of elements, are what the code has.
bool takesPanels(const Intrinsic &intrinsic) {
  std::string text;
  for (unsigned buffer = 0; buffer < intrinsic.strides.size(); ++buffer) {
    for (const SymbolicInt &extent : intrinsic.bufferType(buffer).extents())
      text += extent.str() + " ";
    text += "; ";
  }
  std::string word =
      intrinsic.panels && intrinsic.panels->group > 1 ? std::to_string(intrinsic.panels->group) + " " : "";
  return intrinsic.panels &&
         text == "outer inner rows depth " + word + "; outer inner depth cols " + word + "; rows cols ; ";
}

LogicalResult lowerCall(CallIntrinsicOp op, const Intrinsic &intrinsic, const target::TargetInfo &target) {
  return RegisterCall(op, intrinsic).lower(target);
}

} // namespace

const Emitter perpend::tile::registersEmitter = {"registers", takesPanels, lowerCall};
