//===- KnownElements.cpp - reuses loaded and stored elements --------------===//

#include "tile/flatten/KnownElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace perpend::tile;

KnownElements::Elements KnownElements::at(Value position, Type type) {
  Elements elements;
  if (auto vector = dyn_cast<VectorType>(type))
    elements.count = vector.getNumElements();
  auto sum = position.getDefiningOp<arith::AddIOp>();
  std::optional<int64_t> number = getConstantIntValue(sum ? sum.getRhs() : position);
  elements.behind = number ? (sum ? sum.getLhs() : Value()) : position;
  elements.offset = number.value_or(0);
  return elements;
}

void KnownElements::catchUp(OpBuilder &builder) {
  Block *now = builder.getInsertionBlock();
  assert((now != block || !last || isBehind(builder, last)) && "code that is emitted in front of what is known");
  Block::iterator end = builder.getInsertionPoint();
  if (now != block)
    known.clear();
  else
    for (auto op = last ? std::next(last->getIterator()) : now->begin(); op != end; ++op)
      if (!isa<memref::PrefetchOp>(*op) && !isMemoryEffectFree(&*op)) {
        known.clear();
        break;
      }
  block = now;
  last = end == now->begin() ? nullptr : &*std::prev(end);
}

Value KnownElements::load(OpBuilder &builder, Location loc, Value memory, Value position, Type type) {
  catchUp(builder);
  Type stored = storedType(type, memory);
  Elements elements = at(position, stored);
  auto &list = known[memory];
  auto same = llvm::find_if(list, [&](const Elements &other) { return other.isSame(elements, stored); });
  if (same != list.end())
    return asValue(builder, loc, same->value, type);
  for (Elements &other : list)
    if (other.mayOverlap(elements))
      other.store = nullptr;
  if (auto vector = dyn_cast<VectorType>(stored))
    elements.value = builder.create<vector::LoadOp>(loc, vector, memory, ValueRange(position));
  else
    elements.value = builder.create<memref::LoadOp>(loc, memory, ValueRange(position));
  last = elements.value.getDefiningOp();
  list.push_back(elements);
  return asValue(builder, loc, elements.value, type);
}

void KnownElements::store(OpBuilder &builder, Location loc, Value value, Value memory, Value position) {
  catchUp(builder);
  Type stored = storedType(value.getType(), memory);
  if (value.getType() != stored)
    value = builder.create<arith::ExtUIOp>(loc, stored, value);
  Elements elements = at(position, stored);
  elements.value = value;
  auto &list = known[memory];
  for (Elements &other : list)
    if (other.store && other.isSame(elements, stored)) {
      if (last == other.store)
        last = last->getPrevNode();
      other.store->erase();
    }
  llvm::erase_if(list, [&](const Elements &other) { return other.mayOverlap(elements); });
  if (isa<VectorType>(stored))
    elements.store = builder.create<vector::StoreOp>(loc, value, memory, ValueRange(position));
  else
    elements.store = builder.create<memref::StoreOp>(loc, value, memory, ValueRange(position));
  last = elements.store;
  list.push_back(elements);
}

bool perpend::tile::isBehind(OpBuilder &builder, Operation *op) {
  Block *now = builder.getInsertionBlock();
  if (now == op->getBlock())
    return builder.getInsertionPoint() == now->end() || op->isBeforeInBlock(&*builder.getInsertionPoint());
  Operation *around = op->getBlock()->findAncestorOpInBlock(*now->getParentOp());
  return around && op->isBeforeInBlock(around);
}

Type perpend::tile::storedType(Type type, Value memory) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.clone(element) : element;
}

Value perpend::tile::asValue(OpBuilder &builder, Location loc, Value stored, Type type) {
  if (stored.getType() == type)
    return stored;
  if (!getElementTypeOrSelf(type).isInteger(1))
    return builder.create<arith::TruncIOp>(loc, type, stored);
  Value zero = builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(stored.getType())); // nonzero is true
  return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, stored, zero);
}
