//===- Tiles.cpp - contractions in matrix registers -----------------------===//
//
// The emitter for processors with matrix registers (PanelCall.h). The intrinsic's text gives their size and the
// instructions (Intrinsic::Tiles); this file generates the loops. A block uses up to two by two registers of sums:
//
//               6      7      right operand, a step of the depth
//        4      0      1
//        5      2      3      sums
//
// Each step of a full block loads four registers and multiplies four pairs. The number of rows is arbitrary; the
// processor is configured for those of the first call, and again around calls with other rows (TileRegisters.h).
//
// The lower registers (2, 3 and 5) normally continue the rows of the upper ones. If the lines of an image have no more
// rows than a register, they hold the next line instead: a single line would load as much of the panel for half of the
// products. The distance of the lower rows is an argument, so that one function serves both cases.
//
// A step loads as many bytes as the second-level cache delivers in twice the time of its products. So a call with more
// rows than one block processes the depth in parts, so that the corresponding part of the panel stays in the
// first-level cache for all blocks. From the second part on, a block starts from the sums that it has stored.
//
//   tile.call_intrinsic "i8.tiles" %a, %b, %c at(…) strides(…) extents(%cols, %depth, %inner, %lines, %outer, %rows)
// becomes
//   func.call @tiles_i8.tiles_32x32(%a, %ao, %as, %b, %bo, %c, %co, %cs, %k, %h, %w, %ah, %aw, %bh, %bw, %al, %cl)
//
//===----------------------------------------------------------------------===//

#include "target/vector/Emitters.h"
#include "target/vector/PanelCall.h"
#include "target/vector/TileRegisters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using namespace perpend::tile;

namespace {

/// Registers per side of a block, and the numbers of the operand registers, which follow the sums.
constexpr int64_t mostAlong = 2, firstOfLeft = mostAlong * mostAlong, firstOfRight = firstOfLeft + mostAlong;

//===----------------------------------------------------------------------===//
// The function of a block
//===----------------------------------------------------------------------===//

/// Rows of a block with registers of `inOne` rows: distributed evenly if that takes no more registers.
int64_t rowsOfBlock(int64_t inOne, std::optional<int64_t> rows) {
  int64_t most = mostAlong * inOne;
  if (!rows || *rows < 1)
    return most;
  int64_t blocks = llvm::divideCeil(*rows, most), even = llvm::divideCeil(*rows, blocks);
  return blocks * llvm::divideCeil(even, inOne) <= llvm::divideCeil(*rows, inOne) ? even : most;
}

/// Rows of the upper and of the lower registers; 0: there are no lower ones.
struct RegisterRows {
  int64_t upper, lower;
};

/// The arguments of a block's function, plus the distance from the upper registers' rows to the lower ones' in the left
/// operand and in the sums.
struct TileArguments : PanelArguments {
  Value aDown, cDown;

  explicit TileArguments(ValueRange v) : PanelArguments(v.drop_back(2)), aDown(v.drop_back().back()), cDown(v.back()) {}
};

/// The variant of a block's function.
struct TileBlock {
  int64_t down;       ///< registers along its rows
  bool goesOn;        ///< starts from sums in memory instead of zeros
  int64_t pieces = 0; ///< pieces of a panel's step, one of which is prefetched; 0: none

  std::string suffix() const {
    return (goesOn ? "_more" : "") + (pieces ? "_ahead" + std::to_string(pieces) : std::string());
  }
};

class TileBlockEmitter : PanelCode {
public:
  /// `across` is the number of registers along the columns.
  TileBlockEmitter(ImplicitLocOpBuilder &builder, const Intrinsic &intrinsic, int64_t across, TileBlock block,
                   TileArguments arguments, const target::Machine &target)
      : PanelCode(builder, arguments, target), intrinsic(intrinsic), tiles(*intrinsic.tiles), across(across),
        block(block), aDown(arguments.aDown), cDown(arguments.cDown) {}

  void emit();

private:
  Value number(int64_t value) { return builder.create<arith::ConstantIntOp>(value, 8); }
  void emitStep(Value aBase, Value bBase);
  void emitPrefetchAhead(Value k);
  void emitMoves(const Intrinsic::Code &move);
  /// Visits the register of each sum.
  void forSums(function_ref<void(int64_t row, int64_t column, int64_t tile)> visit) {
    for (int64_t row = 0; row < block.down; ++row)
      for (int64_t column = 0; column < across; ++column)
        visit(row, column, row * mostAlong + column);
  }

  const Intrinsic &intrinsic;
  const Intrinsic::Tiles &tiles;
  int64_t across;
  TileBlock block;
  Value aDown, cDown;
};

/// Emits a step, as deep as a register.
void TileBlockEmitter::emitStep(Value aBase, Value bBase) {
  int64_t group = intrinsic.panels->group;
  Value bStride = constant(across * tiles.columns * group);
  for (int64_t column = 0; column < across; ++column)
    emitTileMove(builder, tiles.load, firstOfRight + column, arguments.b, add(bBase, column * tiles.columns * group),
                 bStride);
  for (int64_t row = 0; row < block.down; ++row)
    emitTileMove(builder, tiles.load, firstOfLeft + row, arguments.a, offset(aBase, constant(row), aDown),
                 arguments.aStride);
  forSums([&](int64_t row, int64_t column, int64_t tile) {
    tiles.multiply.inlined(builder, {number(tile), number(firstOfLeft + row), number(firstOfRight + column)});
  });
}

/// Prefetches into the second-level cache. All at once would stall the products.
void TileBlockEmitter::emitPrefetchAhead(Value k) {
  int64_t columns = across * tiles.columns;
  Value first = builder.create<arith::DivUIOp>(multiply(k, constant(columns)), constant(block.pieces));
  int64_t elements = intrinsic.panels->depth * columns / block.pieces;
  prefetch(arguments.b, add(arguments.ahead, first), 0, std::max<int64_t>(1, elements), /*cache=*/2);
}

/// Loads or stores all sums.
void TileBlockEmitter::emitMoves(const Intrinsic::Code &move) {
  forSums([&](int64_t row, int64_t column, int64_t tile) {
    Value position = offset(arguments.cOffset, constant(row), cDown);
    emitTileMove(builder, move, tile, arguments.c, add(position, column * tiles.columns), arguments.cStride);
  });
}

void TileBlockEmitter::emit() {
  if (block.goesOn)
    emitMoves(tiles.load);
  else
    forSums([&](int64_t, int64_t, int64_t tile) { tiles.zero.inlined(builder, number(tile)); });
  emitWindow({}, [&](Value a, Value b, ValueRange) {
    return emitLoop(constant(0), arguments.depth, intrinsic.panels->depth, {}, [&](Value k, ValueRange) {
      if (block.pieces)
        emitPrefetchAhead(k);
      emitStep(add(a, k), offset(b, k, constant(across * tiles.columns)));
      return Values();
    });
  });
  emitMoves(tiles.store);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

class TileCall {
public:
  TileCall(CallIntrinsicOp op, const Intrinsic &intrinsic, const target::Machine &target)
      : op(op), intrinsic(intrinsic), tiles(*intrinsic.tiles), target(target), call(op, intrinsic),
        configuration(op, tiles) {}

  LogicalResult lower();

private:
  /// The position at which a block starts.
  struct Place {
    Value row, k;
  };

  Value constant(OpBuilder &builder, int64_t value) {
    return builder.create<arith::ConstantIndexOp>(op.getLoc(), value);
  }
  template <typename Operation> Value compute(OpBuilder &builder, Value left, Value right) {
    return builder.createOrFold<Operation>(op.getLoc(), left, right);
  }
  int64_t registersFor(int64_t rows) const { return (rows + tiles.rows - 1) / tiles.rows; }
  RegisterRows rowsOf(int64_t rows) const {
    return {std::min(rows, tiles.rows), std::max<int64_t>(rows - tiles.rows, 0)};
  }
  /// Emits code that configures the number of rows.
  void emitConfiguration(OpBuilder &builder, Value rows);
  /// Without lower registers, these get one row.
  TileShapes shapesOf(RegisterRows rows) { return configuration.shapes(rows.upper, std::max<int64_t>(rows.lower, 1)); }
  void placeLower(OpBuilder &builder, bool isOfLines);
  void emitCall(OpBuilder &builder, TileBlock block, ValueRange operands);
  SmallVector<Value> operandsAt(OpBuilder &builder, Place place, Value depth);
  Value partOfDepth(OpBuilder &builder, Value count);
  void emitBlocks(OpBuilder &builder, Value count, TileBlock block, Value k, Value depth);
  void emitParts(OpBuilder &builder, Value count, int64_t down);
  void emitLines(OpBuilder &builder);
  void emitRest(OpBuilder &builder, Value first, const TileShapes &configured);

  CallIntrinsicOp op;
  const Intrinsic &intrinsic;
  const Intrinsic::Tiles &tiles;
  const target::Machine &target;
  PanelCall call;
  TileConfiguration configuration;
  SmallVector<Value> operands;
  /// Distance from the upper registers' rows to the lower ones', in the left operand and in the sums.
  Value aDown, cDown;
  /// Rows of a block, or of each of its lines; and registers along its columns.
  int64_t height = 0, across = 1;
};

/// Configures the upper and lower registers; without lower ones, these get one row.
void TileCall::emitConfiguration(OpBuilder &builder, Value rows) {
  Location loc = op.getLoc();
  Value most = constant(builder, tiles.rows);
  Value left = builder.createOrFold<arith::SubIOp>(loc, rows, most);
  configuration.emit(builder, builder.createOrFold<arith::MinSIOp>(loc, rows, most),
                     builder.createOrFold<arith::MaxSIOp>(loc, left, constant(builder, 1)));
}

/// The lower registers start one line below the upper ones, or where these end.
void TileCall::placeLower(OpBuilder &builder, bool isOfLines) {
  PanelArguments all{ValueRange(operands)};
  Value inOne = constant(builder, tiles.rows);
  aDown = isOfLines ? call.leftOfLine() : compute<arith::MulIOp>(builder, all.aStride, inOne);
  cDown = isOfLines ? call.sumsOfLine() : compute<arith::MulIOp>(builder, all.cStride, inOne);
}

void TileCall::emitCall(OpBuilder &builder, TileBlock block, ValueRange operands) {
  std::string name = llvm::formatv("tiles_{0}_{1}x{2}{3}", intrinsic.name, block.down * tiles.rows,
                                   across * tiles.columns, block.suffix());
  auto attributes = tiles.multiply.code->getAttrOfType<ArrayAttr>("passthrough");
  auto emit = [&](ImplicitLocOpBuilder &code, ValueRange arguments) {
    TileBlockEmitter(code, intrinsic, across, block, TileArguments(arguments), target).emit();
  };
  SmallVector<Value> all(operands);
  all.append({aDown, cDown});
  func::FuncOp function =
      call.function(name, ValueRange(all).getTypes(), attributes ? attributes.getValue() : ArrayRef<Attribute>(), emit);
  builder.create<func::CallOp>(op.getLoc(), function, all);
}

/// The arguments for a block at this place, with a part of the depth.
SmallVector<Value> TileCall::operandsAt(OpBuilder &builder, Place place, Value depth) {
  auto moved = [&](Value base, Value count, Value stride) {
    return compute<arith::AddIOp>(builder, base, compute<arith::MulIOp>(builder, count, stride));
  };
  PanelArguments all{ValueRange(operands)};
  all.aOffset = moved(compute<arith::AddIOp>(builder, all.aOffset, place.k), place.row, all.aStride);
  all.bOffset = moved(all.bOffset, place.k, constant(builder, across * tiles.columns));
  all.cOffset = moved(all.cOffset, place.row, all.cStride);
  all.depth = depth;
  return all.values();
}

/// A part of the depth such that its share of the panel takes a third of the first-level cache; all of it if there is a
/// window, or a single block.
Value TileCall::partOfDepth(OpBuilder &builder, Value count) {
  PanelArguments all{ValueRange(operands)};
  int64_t columnBytes = across * tiles.columns * intrinsic.panels->right.getIntOrFloatBitWidth() / 8;
  int64_t part = llvm::alignDown(target.nearCacheBytes() / 3 / columnBytes, intrinsic.panels->depth);
  bool isWindow = !matchPattern(all.counts[0], m_One()) || !matchPattern(all.counts[1], m_One());
  std::optional<int64_t> depth = getConstantIntValue(all.depth);
  if (isWindow || matchPattern(count, m_One()) || (depth && *depth <= part) || part < intrinsic.panels->depth)
    return all.depth;
  Value ofFirstCache = compute<arith::MinSIOp>(builder, all.depth, constant(builder, part));
  if (getConstantIntValue(count))
    return ofFirstCache;
  Value isSingle = builder.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::sle, count, constant(builder, 1));
  return builder.create<arith::SelectOp>(op.getLoc(), isSingle, all.depth, ofFirstCache);
}

/// Emits `count` blocks of the same height, one below the other. Each prefetches one piece of the next panel.
void TileCall::emitBlocks(OpBuilder &builder, Value count, TileBlock block, Value k, Value depth) {
  constexpr int64_t someBlocks = 4, mostParts = 8;
  OpBuilder inner = builder;
  Value number = constant(builder, 0);
  if (!matchPattern(count, m_One())) {
    auto loop = builder.create<scf::ForOp>(op.getLoc(), number, count, constant(builder, 1));
    inner = OpBuilder::atBlockBegin(loop.getBody());
    number = loop.getInductionVar();
  }
  SmallVector<Value> values =
      operandsAt(inner, {compute<arith::MulIOp>(inner, number, constant(inner, height)), k}, depth);
  if (op.getAhead()) {
    int64_t parts = std::min<int64_t>(mostParts, *op.getParts());
    block.pieces = parts * getConstantIntValue(count).value_or(someBlocks);
    Value columns = constant(inner, across * tiles.columns);
    Value before = compute<arith::DivUIOp>(inner, compute<arith::MulIOp>(inner, k, columns), constant(inner, parts));
    Value ofBlock =
        compute<arith::DivUIOp>(inner, compute<arith::MulIOp>(inner, depth, columns), constant(inner, block.pieces));
    before = compute<arith::AddIOp>(inner, before, compute<arith::MulIOp>(inner, number, ofBlock));
    values.push_back(compute<arith::AddIOp>(inner, op.getAhead(), before));
  }
  emitCall(inner, block, values);
}

/// Emits the whole depth for blocks that are `down` registers high.
void TileCall::emitParts(OpBuilder &builder, Value count, int64_t down) {
  Value depth = PanelArguments(ValueRange(operands)).depth, part = partOfDepth(builder, count);
  emitBlocks(builder, count, {down, /*goesOn=*/false}, constant(builder, 0), part);
  if (part == depth)
    return;
  auto loop = builder.create<scf::ForOp>(op.getLoc(), part, depth, part);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value k = loop.getInductionVar(), left = compute<arith::SubIOp>(inner, depth, k);
  emitBlocks(inner, count, {down, /*goesOn=*/true}, k, compute<arith::MinSIOp>(inner, part, left));
}

/// Emits one block with one line per register along the rows. A number of lines known only at run time is at least 1.
void TileCall::emitLines(OpBuilder &builder) {
  Value lines = call.lines(), one = constant(builder, 1);
  if (std::optional<int64_t> count = getConstantIntValue(lines))
    return emitParts(builder, one, *count);
  Value isPair = builder.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::sgt, lines, one);
  auto choice = builder.create<scf::IfOp>(op.getLoc(), isPair, /*withElseRegion=*/true);
  OpBuilder pair = choice.getThenBodyBuilder(), single = choice.getElseBodyBuilder();
  emitParts(pair, one, mostAlong);
  emitParts(single, one, 1);
}

/// Emits the remaining rows from `first` on, fewer than a block; nothing if their number is known to be 0.
void TileCall::emitRest(OpBuilder &builder, Value first, const TileShapes &configured) {
  Location loc = op.getLoc();
  Value rest = compute<arith::SubIOp>(builder, call.rows(), first);
  std::optional<int64_t> count = getConstantIntValue(rest);
  if (count == 0)
    return;
  OpBuilder inner = builder;
  if (!count) {
    Value isLeft = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt, rest, constant(builder, 0));
    inner = builder.create<scf::IfOp>(loc, isLeft, /*withElseRegion=*/false).getThenBodyBuilder();
  }
  emitConfiguration(inner, rest);
  SmallVector<Value> values =
      operandsAt(inner, {first, constant(inner, 0)}, PanelArguments(ValueRange(operands)).depth);
  if (count) {
    emitCall(inner, {registersFor(*count), /*goesOn=*/false}, values);
  } else {
    Value isHigh = inner.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt, rest, constant(inner, tiles.rows));
    auto choice = inner.create<scf::IfOp>(loc, isHigh, /*withElseRegion=*/true);
    OpBuilder high = choice.getThenBodyBuilder(), low = choice.getElseBodyBuilder();
    emitCall(high, {mostAlong, /*goesOn=*/false}, values);
    emitCall(low, {1, /*goesOn=*/false}, values);
  }
  configuration.emit(inner, configured);
}

LogicalResult TileCall::lower() {
  std::optional<int64_t> rows = getConstantIntValue(call.rows()), columns = getConstantIntValue(call.columns());
  std::optional<int64_t> lines = getConstantIntValue(call.lines());
  bool isOfLines = lines != 1;
  height = isOfLines ? rows.value_or(0) : rowsOfBlock(tiles.rows, rows);
  if (failed(call.check(rows.value_or(height), columns, lines.value_or(mostAlong))))
    return failure();
  FailureOr<SmallVector<Value>> found = call.operands();
  if (failed(found))
    return failure();
  operands = *found;
  across = llvm::divideCeil(*columns, tiles.columns);
  OpBuilder builder(op);
  placeLower(builder, isOfLines);
  RegisterRows inRegisters = isOfLines ? RegisterRows{height, height} : rowsOf(height);
  TileShapes wanted = shapesOf(inRegisters), configured = configuration.onEntry(wanted);
  bool isOther = wanted.function != configured.function || wanted.first != configured.first ||
                 (inRegisters.lower > 0 && wanted.second != configured.second);
  if (isOther)
    configuration.emit(builder, wanted);
  Value rowsOfOne = constant(builder, height);
  Value count = compute<arith::DivSIOp>(builder, call.rows(), rowsOfOne);
  if (isOfLines)
    emitLines(builder);
  else
    emitParts(builder, count, registersFor(height));
  if (isOther)
    configuration.emit(builder, configured);
  emitRest(builder, compute<arith::MulIOp>(builder, count, rowsOfOne), configured);
  op.erase();
  return success();
}

LogicalResult lowerCall(CallIntrinsicOp op, const Intrinsic &intrinsic, const target::Machine &target) {
  return TileCall(op, intrinsic, target).lower();
}

/// Whether the intrinsic's elements fill the registers.
bool takesTiles(const Intrinsic &intrinsic) {
  return PanelCall::takesLines(intrinsic) && intrinsic.tiles && intrinsic.panels->depth > intrinsic.panels->group;
}

int64_t rowsInTiles(const Intrinsic &intrinsic, int64_t, std::optional<int64_t> rows, const target::Machine &) {
  return rowsOfBlock(intrinsic.tiles->rows, rows);
}

} // namespace

const Emitter perpend::target::tilesEmitter = {"tiles",
                                               takesTiles,
                                               lowerCall,
                                               rowsInTiles,
                                               /*takesAnyRows=*/true,
                                               /*blocksAtOnce=*/8,
                                               /*linesAtOnce=*/mostAlong};
