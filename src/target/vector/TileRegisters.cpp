//===- TileRegisters.cpp - matrix registers of a kernel -------------------===//

#include "target/vector/TileRegisters.h"

#include "tile/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using namespace perpend::tile;

void perpend::target::emitTileMove(ImplicitLocOpBuilder &builder, const Intrinsic::Code &move, int64_t tile,
                                   Value buffer, Value position, Value stride) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  auto asInteger = [&](Value index) -> Value {
    return builder.create<arith::IndexCastOp>(builder.getI64Type(), index);
  };
  Value address = asInteger(builder.create<memref::ExtractAlignedPointerAsIndexOp>(buffer));
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value memory = builder.create<LLVM::IntToPtrOp>(pointer, address);
  Value first = builder.create<LLVM::GEPOp>(pointer, element, memory, ValueRange(asInteger(position)));
  Value size = builder.create<arith::ConstantIndexOp>(element.getIntOrFloatBitWidth() / 8);
  Value number = builder.create<arith::ConstantIntOp>(tile, 8);
  move.inlined(builder, {number, first, asInteger(builder.create<arith::MulIOp>(stride, size))});
}

/// One function for all intrinsics with this code.
func::FuncOp TileConfiguration::function() {
  auto module = call->getParentOfType<ModuleOp>();
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

TileShapes TileConfiguration::shapes(int64_t first, int64_t second) {
  return {function().getSymName().str(), first, second};
}

void TileConfiguration::emit(OpBuilder &builder, const TileShapes &shapes) {
  auto number = [&](int64_t value) -> Value { return builder.create<arith::ConstantIndexOp>(call->getLoc(), value); };
  emit(builder, shapes.function, number(shapes.first), number(shapes.second));
}

void TileConfiguration::emit(OpBuilder &builder, StringRef function, Value first, Value second) {
  Location loc = call->getLoc();
  Value numbers[] = {first, second};
  for (Value &number : numbers)
    number = builder.createOrFold<arith::IndexCastOp>(loc, builder.getI8Type(), number);
  builder.create<func::CallOp>(loc, function, TypeRange(), numbers);
}

TileShapes TileConfiguration::onEntry(const TileShapes &wanted) {
  auto kernel = call->getParentOfType<func::FuncOp>();
  if (auto known = kernel->getAttrOfType<ArrayAttr>(configuredAttribute))
    return {cast<StringAttr>(known[0]).str(), cast<IntegerAttr>(known[1]).getInt(),
            cast<IntegerAttr>(known[2]).getInt()};
  OpBuilder entry = OpBuilder::atBlockBegin(&kernel.getBody().front());
  kernel->setAttr(configuredAttribute,
                  entry.getArrayAttr({entry.getStringAttr(wanted.function), entry.getI64IntegerAttr(wanted.first),
                                      entry.getI64IntegerAttr(wanted.second)}));
  emit(entry, wanted);
  kernel.walk([&](func::ReturnOp end) {
    OpBuilder builder(end);
    tiles.release.inlined(builder, {});
  });
  return wanted;
}
