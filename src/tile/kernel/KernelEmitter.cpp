//===- KernelEmitter.cpp - prologue of a kernel on buffers ----------------===//

#include "tile/kernel/KernelEmitter.h"

#include "graph/SymbolicCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::tile {

MemRefType bufferType(Type elementType) {
  Type scalar = scalarType(elementType);
  if (auto integer = dyn_cast<IntegerType>(scalar); integer && integer.getWidth() < 8)
    scalar = IntegerType::get(elementType.getContext(), 8);
  return MemRefType::get({ShapedType::kDynamic}, scalar);
}

KernelEmitter::KernelEmitter(func::FuncOp kernel, Value symbols, ArrayRef<StringRef> symbolNames)
    : prologue(OpBuilder::atBlockBegin(&kernel.getBody().front())), symbols(symbols), symbolNames(symbolNames) {
  constants[0] = prologue.create<arith::ConstantIndexOp>(kernel.getLoc(), 0);
  // The prologue is inserted before this otherwise unused marker, since the end of the block moves after the loops.
  prologue.setInsertionPoint(prologue.create<arith::ConstantIndexOp>(kernel.getLoc(), 0));
}

Value KernelEmitter::constant(int64_t value) {
  Value &constant = constants[value];
  if (!constant)
    constant = prologue.create<arith::ConstantIndexOp>(prologue.getUnknownLoc(), value);
  return constant;
}

Value KernelEmitter::symbol(StringRef name) {
  Value &value = extents[name];
  if (value)
    return value;
  size_t position = llvm::find(symbolNames, name) - symbolNames.begin();
  assert(position < symbolNames.size() && "a symbol that the kernel does not list");
  Location loc = prologue.getUnknownLoc();
  Value loaded = prologue.create<memref::LoadOp>(loc, symbols, ValueRange(constant(position)));
  return value = prologue.create<arith::IndexCastOp>(loc, prologue.getIndexType(), loaded);
}

Value KernelEmitter::extent(Location loc, const SymbolicInt &value) {
  if (std::optional<int64_t> number = value.constant())
    return constant(*number);
  std::string text = value.str();
  if (Value known = extents.lookup(text))
    return known;
  Value emitted = emitSymbolicInt(prologue, loc, value, [&](StringRef name) { return symbol(name); });
  return extents[text] = emitted;
}
} // namespace perpend::tile
