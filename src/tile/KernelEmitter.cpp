//===- KernelEmitter.cpp - elements of tensors as code on buffers ---------===//

#include "tile/KernelEmitter.h"

#include "graph/SymbolicCode.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::tile {

/// Nests of reduction loops with at most this many iterations are unrolled (windows of convolutions and pools).
static constexpr int64_t maxUnrolledIterations = 64;

MemRefType bufferType(Type elementType) {
  Type scalar = scalarType(elementType);
  if (auto integer = dyn_cast<IntegerType>(scalar); integer && integer.getWidth() < 8)
    scalar = IntegerType::get(elementType.getContext(), 8);
  return MemRefType::get({ShapedType::kDynamic}, scalar);
}

bool KernelEmitter::KeyOrder::operator()(const ElementKey &a, const ElementKey &b) const {
  auto pointers = [](const ElementKey &key) {
    SmallVector<const void *, 5> list{key.first.getAsOpaquePointer()};
    for (Value value : key.second)
      list.push_back(value.getAsOpaquePointer());
    return list;
  };
  return pointers(a) < pointers(b);
}

KernelEmitter::KernelEmitter(func::FuncOp kernel, Value symbols, ArrayRef<StringRef> symbolNames)
    : prologue(OpBuilder::atBlockBegin(&kernel.getBody().front())), symbols(symbols), symbolNames(symbolNames) {
  constants[0] = prologue.create<arith::ConstantIndexOp>(kernel.getLoc(), 0);
  // A marker, itself unused, that the prologue stays in front of: the end of the block moves behind the loops.
  prologue.setInsertionPoint(prologue.create<arith::ConstantIndexOp>(kernel.getLoc(), 0));
}

void KernelEmitter::setSource(Value tensor, Source source) {
  sources[tensor] = std::move(source);
  computed.clear();
}

void KernelEmitter::clearSource(Value tensor) {
  sources.erase(tensor);
  computed.clear();
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

Value KernelEmitter::extent(OpBuilder &, Location loc, const SymbolicInt &value) {
  if (std::optional<int64_t> number = value.constant())
    return constant(*number);
  std::string text = value.str();
  if (Value known = extents.lookup(text))
    return known;
  Value emitted = emitSymbolicInt(prologue, loc, value, [&](StringRef name) { return symbol(name); });
  return extents[text] = emitted;
}

Value KernelEmitter::position(OpBuilder &builder, Location loc, ArrayRef<SymbolicInt> shape, ValueRange index) {
  Value sum;
  Shape strides = rowMajorStrides(shape);
  for (auto [extentValue, stride, value] : llvm::zip(shape, strides, index)) {
    if (extentValue == SymbolicInt(1))
      continue;
    Value scaled = value;
    if (stride != SymbolicInt(1))
      scaled = builder.createOrFold<arith::MulIOp>(loc, value, extent(builder, loc, stride));
    sum = sum ? builder.createOrFold<arith::AddIOp>(loc, sum, scaled) : scaled;
  }
  return sum ? sum : constant(0);
}

SmallVector<Value> KernelEmitter::delinearize(OpBuilder &builder, Location loc, ArrayRef<SymbolicInt> shape,
                                              Value rest) {
  SmallVector<Value> index(shape.size(), constant(0));
  int64_t outermost = 0;
  while (outermost < static_cast<int64_t>(shape.size()) && shape[outermost] == SymbolicInt(1))
    ++outermost;
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= outermost; --dim) {
    if (shape[dim] == SymbolicInt(1))
      continue;
    if (dim == outermost) {
      index[dim] = rest;
      break;
    }
    Value size = extent(builder, loc, asDivisor(shape[dim]));
    index[dim] = builder.create<arith::RemUIOp>(loc, rest, size);
    rest = builder.create<arith::DivUIOp>(loc, rest, size);
  }
  return index;
}

Value KernelEmitter::load(OpBuilder &builder, Location loc, Value tensor, Value position) {
  return loadFrom(builder, loc, bufferOf(tensor), position, scalarTypeOf(tensor));
}

Value KernelEmitter::loadFrom(OpBuilder &builder, Location loc, Value buffer, Value position, Type scalar) {
  Value loaded = builder.create<memref::LoadOp>(loc, buffer, ValueRange(position));
  if (loaded.getType() == scalar)
    return loaded;
  if (scalar.isInteger(1)) { // any byte but 0 is true
    Value zero = builder.create<arith::ConstantIntOp>(loc, 0, loaded.getType());
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, loaded, zero);
  }
  return builder.create<arith::TruncIOp>(loc, scalar, loaded);
}

void KernelEmitter::store(OpBuilder &builder, Location loc, Value scalar, Value buffer, Value position) {
  Type stored = cast<MemRefType>(buffer.getType()).getElementType();
  if (scalar.getType() != stored)
    scalar = builder.create<arith::ExtUIOp>(loc, stored, scalar);
  builder.create<memref::StoreOp>(loc, scalar, buffer, ValueRange(position));
}

/// Whether code at the builder's insertion point may use a value defined in `block`.
static bool isVisible(OpBuilder &builder, Value value) {
  return value.getParentBlock()->findAncestorOpInBlock(*builder.getInsertionBlock()->getParentOp()) ||
         value.getParentBlock() == builder.getInsertionBlock();
}

Value KernelEmitter::element(OpBuilder &builder, Location loc, Value tensor, ValueRange index) {
  if (auto source = sources.find(tensor); source != sources.end())
    return source->second(builder, index);
  ElementKey key(tensor, SmallVector<Value, 4>(index));
  if (auto known = computed.find(key); known != computed.end() && isVisible(builder, known->second))
    return known->second;
  Value result;
  if (bufferOf(tensor)) {
    result = load(builder, loc, tensor, position(builder, loc, shapeOf(tensor), index));
  } else if (auto constantOp = tensor.getDefiningOp<ConstantOp>()) {
    auto scalar = cast<DenseElementsAttr>(constantOp.getValue()).getSplatValue<Attribute>();
    if (auto integer = dyn_cast<IntegerAttr>(scalar))
      scalar = IntegerAttr::get(scalarTypeOf(tensor), integer.getValue());
    result = builder.create<arith::ConstantOp>(loc, cast<TypedAttr>(scalar));
  } else {
    result = cast<ElementInterface>(tensor.getDefiningOp()).element(builder, loc, index, *this);
  }
  computed[key] = result;
  return result;
}

Value KernelEmitter::elementAtPosition(OpBuilder &builder, Location loc, Value tensor, Value position) {
  return bufferOf(tensor) ? load(builder, loc, tensor, position) : Value();
}

Value KernelEmitter::loop(OpBuilder &builder, Location loc, const SymbolicInt &count, Value initial, LoopBody body) {
  std::optional<int64_t> number = count.constant();
  if (number && *number * unrolledIterations <= maxUnrolledIterations) {
    unrolledIterations *= std::max<int64_t>(1, *number);
    for (int64_t i = 0; i < *number; ++i)
      initial = body(builder, constant(i), initial);
    unrolledIterations /= std::max<int64_t>(1, *number);
    return initial;
  }
  auto loop = builder.create<scf::ForOp>(loc, constant(0), extent(builder, loc, count), constant(1), initial);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value next = body(inner, loop.getInductionVar(), loop.getRegionIterArg(0));
  inner.setInsertionPointToEnd(loop.getBody());
  inner.create<scf::YieldOp>(loc, next);
  return loop.getResult(0);
}
} // namespace perpend::tile
