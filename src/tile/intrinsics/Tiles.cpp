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

class TileBlockEmitter : PanelCode {
public:
  /// Of so many registers along each side.
  TileBlockEmitter(ImplicitLocOpBuilder &builder, const Intrinsic &intrinsic, int64_t down, int64_t across,
                   PanelArguments arguments, const target::TargetInfo &target)
      : PanelCode(builder, arguments, target), intrinsic(intrinsic), tiles(*intrinsic.tiles), down(down),
        across(across) {}

  void emit();

private:
  Value number(int64_t value) { return builder.create<arith::ConstantIntOp>(value, 8); }
  Value asInteger(Value index) { return builder.create<arith::IndexCastOp>(builder.getI64Type(), index); }
  void emitStep(Value aBase, Value bBase);
  void emitMove(const Intrinsic::Code &move, int64_t tile, Value buffer, Value position, Value stride);
  /// The sums for each register.
  void forSums(function_ref<void(int64_t row, int64_t column, int64_t tile)> visit) {
    for (int64_t row = 0; row < down; ++row)
      for (int64_t column = 0; column < across; ++column)
        visit(row, column, row * mostAlong + column);
  }

  const Intrinsic &intrinsic;
  const Intrinsic::Tiles &tiles;
  int64_t down, across;
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
  for (int64_t row = 0; row < down; ++row)
    emitMove(tiles.load, firstOfLeft + row, arguments.a,
             add(aBase, multiply(arguments.aStride, constant(row * tiles.rows))), arguments.aStride);
  forSums([&](int64_t row, int64_t column, int64_t tile) {
    tiles.multiply.inlined(builder, {number(tile), number(firstOfLeft + row), number(firstOfRight + column)});
  });
}

void TileBlockEmitter::emit() {
  forSums([&](int64_t, int64_t, int64_t tile) { tiles.zero.inlined(builder, number(tile)); });
  emitWindow({}, [&](Value a, Value b, ValueRange) {
    return emitLoop(constant(0), arguments.depth, intrinsic.panels->depth, {}, [&](Value k, ValueRange) {
      emitStep(add(a, k), offset(b, k, constant(across * tiles.columns)));
      return Values();
    });
  });
  forSums([&](int64_t row, int64_t column, int64_t tile) {
    Value position = add(arguments.cOffset, multiply(arguments.cStride, constant(row * tiles.rows)));
    emitMove(tiles.store, tile, arguments.c, add(position, column * tiles.columns), arguments.cStride);
  });
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
  Value constant(OpBuilder &builder, int64_t value) {
    return builder.create<arith::ConstantIndexOp>(op.getLoc(), value);
  }
  /// Tells the processor that blocks have so many rows.
  void emitConfiguration(OpBuilder &builder, Value rows);
  func::FuncOp configuration();
  /// The rows for which the kernel tells it, at its entry.
  int64_t configuredRows(int64_t rows);
  void emitCall(OpBuilder &builder, int64_t down);

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

void TileCall::emitCall(OpBuilder &builder, int64_t down) {
  std::string name = llvm::formatv("tiles_{0}_{1}x{2}", intrinsic.name, down * tiles.rows, across * tiles.columns);
  auto attributes = tiles.multiply.code->getAttrOfType<ArrayAttr>("passthrough");
  auto emit = [&](ImplicitLocOpBuilder &code, ValueRange arguments) {
    TileBlockEmitter(code, intrinsic, down, across, PanelArguments(arguments), target).emit();
  };
  func::FuncOp function = call.function(name, ValueRange(operands).getTypes(),
                                        attributes ? attributes.getValue() : ArrayRef<Attribute>(), emit);
  builder.create<func::CallOp>(op.getLoc(), function, operands);
}

LogicalResult TileCall::lower() {
  int64_t most = mostAlong * tiles.rows;
  std::optional<int64_t> rows = getConstantIntValue(call.rows()), columns = getConstantIntValue(call.columns());
  if (failed(call.check(rows.value_or(most), columns)))
    return failure();
  FailureOr<SmallVector<Value>> found = call.operands();
  if (failed(found))
    return failure();
  operands = *found;
  across = llvm::divideCeil(*columns, tiles.columns);
  OpBuilder builder(op);
  int64_t configured = configuredRows(rows.value_or(most));
  if (rows != configured)
    emitConfiguration(builder, call.rows());
  if (rows) {
    emitCall(builder, llvm::divideCeil(*rows, tiles.rows));
  } else {
    Value isHigh = builder.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::sgt, call.rows(),
                                                 constant(builder, tiles.rows));
    auto choice = builder.create<scf::IfOp>(op.getLoc(), isHigh, /*withElseRegion=*/true);
    OpBuilder high = choice.getThenBodyBuilder(), low = choice.getElseBodyBuilder();
    emitCall(high, mostAlong);
    emitCall(low, 1);
  }
  if (rows != configured)
    emitConfiguration(builder, constant(builder, configured));
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

/// Spread evenly, where that takes no more registers.
int64_t rowsInTiles(const Intrinsic &intrinsic, int64_t, std::optional<int64_t> rows, const target::TargetInfo &) {
  int64_t inOne = intrinsic.tiles->rows, most = mostAlong * inOne;
  if (!rows || *rows < 1)
    return most;
  int64_t blocks = llvm::divideCeil(*rows, most), even = llvm::divideCeil(*rows, blocks);
  return blocks * llvm::divideCeil(even, inOne) <= llvm::divideCeil(*rows, inOne) ? even : most;
}

} // namespace

const Emitter perpend::tile::tilesEmitter = {"tiles", takesTiles, lowerCall, rowsInTiles, /*takesAnyRows=*/true};
