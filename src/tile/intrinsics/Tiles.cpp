//===- Tiles.cpp - contractions in registers that are matrices --------------===//
//
// The emitter of blocks of sums in registers of rows and columns (PanelCall.h), for processors that multiply such
// registers. How large they are, and which instructions there are for them, is what the intrinsic's text says
// (Intrinsic::Tiles); this file has the loops. A block has up to two times two of them:
//
//               6      7      right operand, a step of the depth
//        4      0      1
//        5      2      3      sums
//
// of which each step loads four and multiplies four. Rows are any number: the processor is told how many the registers
// have, which costs more than a step. So a kernel that has such calls tells it at its entry, for the rows of the first,
// and around those of other rows; at its end the registers are released.
//
// A step loads as many bytes as the second cache gives in twice the time that its products take. So a call of more rows
// than a block has takes a part of the depth at a time, whose part of the panel stays in the first cache for all
// blocks; from the second part on, a block begins with the sums that it has stored.
//
//   tile.call_intrinsic "i8.tiles" %a, %b, %c at(…) strides(…) extents(%cols, %depth, %inner, %outer, %rows)
// becomes
//   func.call @tiles_i8.tiles_32x32(%a, %ao, %as, %b, %bo, %c, %co, %cs, %k, %h, %w, %ah, %aw, %bh, %bw)
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/intrinsics/Emitters.h"
#include "tile/intrinsics/PanelCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {

/// Registers of a block along each side, and the numbers of those that hold operands, behind the sums.
constexpr int64_t mostAlong = 2, firstOfLeft = mostAlong * mostAlong, firstOfRight = firstOfLeft + mostAlong;

//===----------------------------------------------------------------------===//
// The function of a block
//===----------------------------------------------------------------------===//

/// Rows of a block, of so many in all, with registers of `inOne`: spread evenly, where that takes no more registers.
int64_t rowsOfBlock(int64_t inOne, std::optional<int64_t> rows) {
  int64_t most = mostAlong * inOne;
  if (!rows || *rows < 1)
    return most;
  int64_t blocks = llvm::divideCeil(*rows, most), even = llvm::divideCeil(*rows, blocks);
  return blocks * llvm::divideCeil(even, inOne) <= llvm::divideCeil(*rows, inOne) ? even : most;
}

/// What the function of a block does.
struct TileBlock {
  int64_t down;       ///< registers of its rows
  bool goesOn;        ///< from sums in memory, not from zeros
  int64_t pieces = 0; ///< of what a step reads of the panel: one of the next panel is asked for; 0: none

  std::string suffix() const {
    return (goesOn ? "_more" : "") + (pieces ? "_ahead" + std::to_string(pieces) : std::string());
  }
};

class TileBlockEmitter : PanelCode {
public:
  /// Of so many registers along each side.
  TileBlockEmitter(ImplicitLocOpBuilder &builder, const Intrinsic &intrinsic, int64_t across, TileBlock block,
                   PanelArguments arguments, const target::TargetInfo &target)
      : PanelCode(builder, arguments, target), intrinsic(intrinsic), tiles(*intrinsic.tiles), across(across),
        block(block) {}

  void emit();

private:
  Value number(int64_t value) { return builder.create<arith::ConstantIntOp>(value, 8); }
  Value asInteger(Value index) { return builder.create<arith::IndexCastOp>(builder.getI64Type(), index); }
  void emitStep(Value aBase, Value bBase);
  void emitPrefetchAhead(Value k);
  void emitMoves(const Intrinsic::Code &move);
  void emitMove(const Intrinsic::Code &move, int64_t tile, Value buffer, Value position, Value stride);
  /// The sums for each register.
  void forSums(function_ref<void(int64_t row, int64_t column, int64_t tile)> visit) {
    for (int64_t row = 0; row < block.down; ++row)
      for (int64_t column = 0; column < across; ++column)
        visit(row, column, row * mostAlong + column);
  }

  const Intrinsic &intrinsic;
  const Intrinsic::Tiles &tiles;
  int64_t across;
  TileBlock block;
};

/// A register's rows in memory are elements from a position on, each by a stride behind the one before.
void TileBlockEmitter::emitMove(const Intrinsic::Code &move, int64_t tile, Value buffer, Value position, Value stride) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Value address = asInteger(builder.create<memref::ExtractAlignedPointerAsIndexOp>(buffer));
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value memory = builder.create<LLVM::IntToPtrOp>(pointer, address);
  Value first = builder.create<LLVM::GEPOp>(pointer, element, memory, ValueRange(asInteger(position)));
  Value bytes = multiply(stride, constant(element.getIntOrFloatBitWidth() / 8));
  move.inlined(builder, {number(tile), first, asInteger(bytes)});
}

/// As much of the depth as a register has.
void TileBlockEmitter::emitStep(Value aBase, Value bBase) {
  int64_t group = intrinsic.panels->group;
  Value bStride = constant(across * tiles.columns * group);
  for (int64_t column = 0; column < across; ++column)
    emitMove(tiles.load, firstOfRight + column, arguments.b, add(bBase, column * tiles.columns * group), bStride);
  for (int64_t row = 0; row < block.down; ++row)
    emitMove(tiles.load, firstOfLeft + row, arguments.a,
             add(aBase, multiply(arguments.aStride, constant(row * tiles.rows))), arguments.aStride);
  forSums([&](int64_t row, int64_t column, int64_t tile) {
    tiles.multiply.inlined(builder, {number(tile), number(firstOfLeft + row), number(firstOfRight + column)});
  });
}

/// Into the second cache: what comes all at once would stop the products.
void TileBlockEmitter::emitPrefetchAhead(Value k) {
  int64_t columns = across * tiles.columns;
  Value first = builder.create<arith::DivUIOp>(multiply(k, constant(columns)), constant(block.pieces));
  int64_t elements = intrinsic.panels->depth * columns / block.pieces;
  prefetch(arguments.b, add(arguments.ahead, first), 0, std::max<int64_t>(1, elements), /*cache=*/2);
}

/// Of all sums.
void TileBlockEmitter::emitMoves(const Intrinsic::Code &move) {
  forSums([&](int64_t row, int64_t column, int64_t tile) {
    Value position = add(arguments.cOffset, multiply(arguments.cStride, constant(row * tiles.rows)));
    emitMove(move, tile, arguments.c, add(position, column * tiles.columns), arguments.cStride);
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
  TileCall(CallIntrinsicOp op, const Intrinsic &intrinsic, const target::TargetInfo &target)
      : op(op), intrinsic(intrinsic), tiles(*intrinsic.tiles), target(target), call(op, intrinsic) {}

  LogicalResult lower();

private:
  /// From where on a block computes.
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
  /// Tells the processor that blocks have so many rows.
  void emitConfiguration(OpBuilder &builder, Value rows);
  func::FuncOp configuration();
  /// The rows for which the kernel tells it, at its entry.
  int64_t configuredRows(int64_t rows);
  void emitCall(OpBuilder &builder, TileBlock block, ValueRange operands);
  SmallVector<Value> operandsAt(OpBuilder &builder, Place place, Value depth);
  Value partOfDepth(OpBuilder &builder, Value count);
  void emitBlocks(OpBuilder &builder, Value count, int64_t height, Value k, Value depth, bool goesOn);
  void emitParts(OpBuilder &builder, Value count, int64_t height);
  void emitRest(OpBuilder &builder, Value first, int64_t configured);

  CallIntrinsicOp op;
  const Intrinsic &intrinsic;
  const Intrinsic::Tiles &tiles;
  const target::TargetInfo &target;
  PanelCall call;
  SmallVector<Value> operands;
  int64_t across = 1;
};

/// One function for all intrinsics with this code.
func::FuncOp TileCall::configuration() {
  auto module = op->getParentOfType<ModuleOp>();
  std::string name = ("tiles_" + tiles.configure.code.getSymName()).str();
  if (auto existing = module.lookupSymbol<func::FuncOp>(name))
    return existing;
  func::FuncOp function = tiles.configure.code.clone();
  function.setPrivate();
  function.setSymName(name);
  function->setAttr("llvm.linkage", LLVM::LinkageAttr::get(module.getContext(), LLVM::Linkage::Internal));
  module.push_back(function);
  return function;
}

/// Of the upper and the lower registers; where there are no lower ones, they have a row.
void TileCall::emitConfiguration(OpBuilder &builder, Value rows) {
  Location loc = op.getLoc();
  Value most = constant(builder, tiles.rows);
  Value left = builder.createOrFold<arith::SubIOp>(loc, rows, most);
  Value parts[] = {builder.createOrFold<arith::MinSIOp>(loc, rows, most),
                   builder.createOrFold<arith::MaxSIOp>(loc, left, constant(builder, 1))};
  for (Value &part : parts)
    part = builder.createOrFold<arith::IndexCastOp>(loc, builder.getI8Type(), part);
  builder.create<func::CallOp>(loc, configuration(), parts);
}

int64_t TileCall::configuredRows(int64_t rows) {
  auto kernel = op->getParentOfType<func::FuncOp>();
  if (auto known = kernel->getAttrOfType<IntegerAttr>(configuredRowsAttribute))
    return known.getInt();
  OpBuilder entry = OpBuilder::atBlockBegin(&kernel.getBody().front());
  kernel->setAttr(configuredRowsAttribute, entry.getI64IntegerAttr(rows));
  emitConfiguration(entry, constant(entry, rows));
  kernel.walk([&](func::ReturnOp end) {
    OpBuilder builder(end);
    tiles.release.inlined(builder, {});
  });
  return rows;
}

void TileCall::emitCall(OpBuilder &builder, TileBlock block, ValueRange operands) {
  std::string name = llvm::formatv("tiles_{0}_{1}x{2}{3}", intrinsic.name, block.down * tiles.rows,
                                   across * tiles.columns, block.suffix());
  auto attributes = tiles.multiply.code->getAttrOfType<ArrayAttr>("passthrough");
  auto emit = [&](ImplicitLocOpBuilder &code, ValueRange arguments) {
    TileBlockEmitter(code, intrinsic, across, block, PanelArguments(arguments), target).emit();
  };
  func::FuncOp function =
      call.function(name, operands.getTypes(), attributes ? attributes.getValue() : ArrayRef<Attribute>(), emit);
  builder.create<func::CallOp>(op.getLoc(), function, operands);
}

/// Of a block that begins there, of a part of the depth.
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

/// As much of it as a third of the first cache holds of a panel; all of it where there is a window, or one block.
Value TileCall::partOfDepth(OpBuilder &builder, Value count) {
  PanelArguments all{ValueRange(operands)};
  int64_t columnBytes = across * tiles.columns * intrinsic.panels->right.getIntOrFloatBitWidth() / 8;
  int64_t part = llvm::alignDown(target.l1Bytes / 3 / columnBytes, intrinsic.panels->depth);
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

/// So many of the same height, one below the other. What is asked for ahead comes in pieces, one for each of them.
void TileCall::emitBlocks(OpBuilder &builder, Value count, int64_t height, Value k, Value depth, bool goesOn) {
  constexpr int64_t someBlocks = 4, mostParts = 8;
  OpBuilder inner = builder;
  Value number = constant(builder, 0);
  if (!matchPattern(count, m_One())) {
    auto loop = builder.create<scf::ForOp>(op.getLoc(), number, count, constant(builder, 1));
    inner = OpBuilder::atBlockBegin(loop.getBody());
    number = loop.getInductionVar();
  }
  TileBlock block{registersFor(height), goesOn};
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

void TileCall::emitParts(OpBuilder &builder, Value count, int64_t height) {
  Value depth = PanelArguments(ValueRange(operands)).depth, part = partOfDepth(builder, count);
  emitBlocks(builder, count, height, constant(builder, 0), part, /*goesOn=*/false);
  if (part == depth)
    return;
  auto loop = builder.create<scf::ForOp>(op.getLoc(), part, depth, part);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value k = loop.getInductionVar(), left = compute<arith::SubIOp>(inner, depth, k);
  emitBlocks(inner, count, height, k, compute<arith::MinSIOp>(inner, part, left), /*goesOn=*/true);
}

/// The rows from `first` on, less than a block; none where they are a number that is 0.
void TileCall::emitRest(OpBuilder &builder, Value first, int64_t configured) {
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
  emitConfiguration(inner, constant(inner, configured));
}

LogicalResult TileCall::lower() {
  std::optional<int64_t> rows = getConstantIntValue(call.rows()), columns = getConstantIntValue(call.columns());
  int64_t height = rowsOfBlock(tiles.rows, rows);
  if (failed(call.check(rows.value_or(height), columns)))
    return failure();
  FailureOr<SmallVector<Value>> found = call.operands();
  if (failed(found))
    return failure();
  operands = *found;
  across = llvm::divideCeil(*columns, tiles.columns);
  OpBuilder builder(op);
  int64_t configured = configuredRows(height);
  if (height != configured)
    emitConfiguration(builder, constant(builder, height));
  Value rowsOfOne = constant(builder, height);
  Value count = compute<arith::DivSIOp>(builder, call.rows(), rowsOfOne);
  emitParts(builder, count, height);
  if (height != configured)
    emitConfiguration(builder, constant(builder, configured));
  emitRest(builder, compute<arith::MulIOp>(builder, count, rowsOfOne), configured);
  op.erase();
  return success();
}

LogicalResult lowerCall(CallIntrinsicOp op, const Intrinsic &intrinsic, const target::TargetInfo &target) {
  return TileCall(op, intrinsic, target).lower();
}

/// What the registers hold fills them.
bool takesTiles(const Intrinsic &intrinsic) {
  return PanelCall::takes(intrinsic) && intrinsic.tiles && intrinsic.panels->depth > intrinsic.panels->group;
}

int64_t rowsInTiles(const Intrinsic &intrinsic, int64_t, std::optional<int64_t> rows, const target::TargetInfo &) {
  return rowsOfBlock(intrinsic.tiles->rows, rows);
}

} // namespace

const Emitter perpend::tile::tilesEmitter = {
    "tiles",           takesTiles, lowerCall, rowsInTiles, /*takesAnyRows=*/true,
    /*blocksAtOnce=*/8};
