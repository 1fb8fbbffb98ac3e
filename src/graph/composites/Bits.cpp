//===- Bits.cpp - elements of one type seen as those of another -----------===//

#include "graph/Scalars.h"
#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

/// Of an element in memory; bool is a byte.
static int64_t widthInMemory(Type type) { return type.isInteger(1) ? 8 : bitWidth(type); }

/// Each element as `count` narrower ones along the last dimension, the one with the lowest bits first.
static Value takenApart(Builder &b, Value x, Type to, int64_t count) {
  Type from = elementTypeOf(x);
  Shape shape = shapeOf(x);
  shape.back() *= count;
  return b.generate(x, shape, to, [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    Scalar position(builder, loc, index.back());
    SmallVector<Value> source(index);
    source.back() = (position / position.integer(count)).value;
    Type word = builder.getIntegerType(widthInMemory(from), /*isSigned=*/false);
    Value bits = reinterpret(builder, loc, load(builder, loc, tensors[0], source), from, word);
    Scalar place = (position % position.integer(count)).to(bits.getType());
    Value low = builder.create<arith::ShRUIOp>(loc, bits, (place * place.integer(widthInMemory(to))).value);
    Type part = builder.getIntegerType(widthInMemory(to));
    return reinterpret(builder, loc, builder.create<arith::TruncIOp>(loc, part, low), part, to);
  });
}

/// `count` elements along the last dimension as one of a wider type, the first one its lowest bits.
static Value joined(Builder &b, Value x, Type to, int64_t count) {
  Type from = elementTypeOf(x);
  Shape shape = shapeOf(x);
  SymbolicInt rest = mod(shape.back(), SymbolicInt(count));
  b.require(-rest,
            "bit_cast: expected a last extent that " + std::to_string(count) + " divides, got " + shape.back().str());
  shape.back() = floorDiv(shape.back(), SymbolicInt(count));
  if (b.hasFailed())
    return {};
  return b.generate(x, shape, to, [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    Scalar first(builder, loc, index.back());
    first = first * first.integer(count);
    Type part = builder.getIntegerType(widthInMemory(from)), word = builder.getIntegerType(widthInMemory(to));
    SmallVector<Value> source(index);
    std::optional<Scalar> bits;
    for (int64_t i = 0; i < count; ++i) {
      source.back() = (first + first.integer(i)).value;
      Value element = reinterpret(builder, loc, load(builder, loc, tensors[0], source), from, part);
      Scalar wide(builder, loc, builder.create<arith::ExtUIOp>(loc, word, element));
      if (i > 0)
        wide = wide.call<arith::ShLIOp>(wide.value, wide.integer(i * widthInMemory(from)).value);
      bits = bits ? *bits | wide : wide;
    }
    return reinterpret(builder, loc, bits->value, word, to);
  });
}

namespace composites {
/// The last dimension is longer, or shorter, by as many times as the elements of the other type are narrower, or wider.
Results bit_cast(Builder &b, Values in, const Attributes &attributes) {
  Type from = elementTypeOf(in[0]), to = attributes.getType("to");
  if (!to || isHandle(from) || isHandle(to))
    return {b.fail("bit_cast: expected a type of numbers, got " + (to ? nameOf(isHandle(from) ? from : to) : "none"))};
  int64_t have = widthInMemory(from), wanted = widthInMemory(to);
  if (have == wanted)
    return {b.map(in[0], to, [&](OpBuilder &builder, Location loc, ValueRange x) {
      return reinterpret(builder, loc, x[0], from, to);
    })};
  if (rankOf(in[0]) == 0 || have % 8 || wanted % 8)
    return {b.fail("bit_cast: expected an element type of " + Twine(have) + " bits, got " + nameOf(to) +
                   "\nhint: other types need a last dimension, and elements of whole bytes")};
  return {have > wanted ? takenApart(b, in[0], to, have / wanted) : joined(b, in[0], to, wanted / have)};
}
} // namespace composites
} // namespace perpend::graph
