//===- WordProducts.cpp - multiply-adds of words of 32 bits -----------------===//

#include "tile/passes/WordProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tile/Tile.h"

using namespace mlir;
using namespace perpend::tile;

WordProducts::WordProducts(ImplicitLocOpBuilder &builder, Type element, int64_t lanes, bool hasVnni)
    : group(elementsPerWord(element)), builder(builder), element(element), lanes(lanes), hasVnni(hasVnni) {
  sumType = VectorType::get(lanes, element.isF32() ? element : builder.getI32Type());
}

bool WordProducts::exist(Type element, int64_t lanes, bool hasVnni) {
  bool isWhole = lanes == 4 || lanes == 8 || lanes == 16;
  return element.isF32() || (isWhole && (element.isInteger(16) || hasVnni));
}

VectorType WordProducts::vectorOf(int64_t words) const { return VectorType::get(words * group, element); }

Value WordProducts::loadWord(Value buffer, Value index) {
  if (group == 1)
    return builder.create<vector::BroadcastOp>(sumType, builder.create<memref::LoadOp>(buffer, index));
  Value elements = builder.create<vector::LoadOp>(vectorOf(1), buffer, index);
  Value word = builder.create<vector::BitCastOp>(VectorType::get(1, builder.getI32Type()), elements);
  return builder.create<vector::BroadcastOp>(sumType, word);
}

Value WordProducts::loadVector(Value buffer, Value index) {
  Value elements = builder.create<vector::LoadOp>(vectorOf(lanes), buffer, index);
  return group == 1 ? elements : builder.create<vector::BitCastOp>(sumType, elements);
}

Value WordProducts::call(const Twine &intrinsic, ValueRange operands) {
  StringAttr name = builder.getStringAttr("llvm.x86." + intrinsic);
  return builder.create<LLVM::CallIntrinsicOp>(sumType, name, operands).getResults();
}

Value WordProducts::multiplyAdd(Value word, Value vector, Value sums) {
  if (group == 1)
    return builder.create<vector::FMAOp>(word, vector, sums);
  if (hasVnni)
    return call(Twine("avx512.") + (group == 2 ? "vpdpwssd." : "vpdpbusd.") + Twine(lanes * 32), {sums, word, vector});
  auto asPairs = [&](Value words) -> Value { return builder.create<vector::BitCastOp>(vectorOf(lanes), words); };
  const char *product = lanes == 16 ? "avx512.pmaddw.d.512" : lanes == 8 ? "avx2.pmadd.wd" : "sse2.pmadd.wd";
  return builder.create<arith::AddIOp>(sums, call(product, {asPairs(word), asPairs(vector)}));
}

Value WordProducts::add(Value x, Value y) {
  if (group == 1)
    return builder.create<arith::AddFOp>(x, y);
  return builder.create<arith::AddIOp>(x, y);
}
