//===- WordProducts.cpp - multiply-adds of words of 32 bits -----------------===//

#include "tile/passes/WordProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tile/Tile.h"

using namespace mlir;
using namespace perpend::tile;

WordProducts::WordProducts(ImplicitLocOpBuilder &builder, Type element, int64_t group, int64_t lanes)
    : group(group), builder(builder), element(element), lanes(lanes) {
  sumType = VectorType::get(lanes, element.isF32() ? element : builder.getI32Type());
}

VectorType WordProducts::vectorOf(int64_t words) const { return VectorType::get(words * group, element); }

Value WordProducts::loadWord(Value buffer, Value index) {
  if (group == 1)
    return builder.create<vector::BroadcastOp>(sumType, builder.create<memref::LoadOp>(buffer, index));
  Value elements = builder.create<vector::LoadOp>(vectorOf(1), buffer, index);
  Value word = builder.create<vector::BitCastOp>(VectorType::get(1, builder.getI32Type()), elements);
  return builder.create<vector::BitCastOp>(vectorOf(lanes), builder.create<vector::BroadcastOp>(sumType, word));
}

Value WordProducts::loadVector(Value buffer, Value index) {
  return builder.create<vector::LoadOp>(vectorOf(lanes), buffer, index);
}

Value WordProducts::loadFirst(Value buffer, Value index, int64_t words) {
  Value zeros = builder.create<arith::ConstantOp>(builder.getZeroAttr(vectorOf(lanes)));
  Value first = builder.create<vector::LoadOp>(vectorOf(words), buffer, index);
  return builder.create<vector::InsertStridedSliceOp>(first, zeros, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
}

Value WordProducts::multiplyAdd(Value word, Value vector, Value sums) {
  if (group == 1)
    return builder.create<vector::FMAOp>(word, vector, sums);
  return builder.create<DotOp>(sums.getType(), word, vector, sums);
}

Value WordProducts::add(Value x, Value y) {
  if (group == 1)
    return builder.create<arith::AddFOp>(x, y);
  return builder.create<arith::AddIOp>(x, y);
}

Value WordProducts::sum(Value sums) {
  auto reassociated = group == 1 ? arith::FastMathFlags::reassoc : arith::FastMathFlags::none;
  return builder.create<vector::ReductionOp>(vector::CombiningKind::ADD, sums, reassociated);
}
