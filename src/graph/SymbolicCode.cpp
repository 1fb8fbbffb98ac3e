//===- SymbolicCode.cpp - code that computes symbolic integers ------------===//

#include "graph/SymbolicCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using perpend::support::SymbolicAtom;
using perpend::support::SymbolicAtomKind;
using perpend::support::SymbolicInt;
using perpend::support::SymbolicTerm;

namespace {
class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc, llvm::function_ref<Value(StringRef)> symbol, Value *isTooLarge)
      : builder(builder), loc(loc), symbol(symbol), isTooLarge(isTooLarge) {}

  Value emit(const SymbolicInt &value) {
    Value sum;
    for (const SymbolicTerm &term : value.terms())
      sum = sum ? builder.createOrFold<arith::AddIOp>(loc, sum, emit(term)) : emit(term);
    return sum ? sum : constant(0);
  }

private:
  Value constant(int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); }

  Value emit(const SymbolicTerm &term) {
    Value product;
    for (const auto &factor : term.factors)
      for (unsigned i = 0; i < factor.power; ++i) {
        Value atom = emit(factor.atom);
        product = product ? multiply(product, atom) : atom;
      }
    if (!product)
      return constant(term.coefficient);
    return term.coefficient == 1 ? product : multiply(product, constant(term.coefficient));
  }

  /// Checks that a product has at most 54 bits: sums of as many products as an expression may have then fit 64 bits.
  Value multiply(Value a, Value b) {
    if (!isTooLarge)
      return builder.createOrFold<arith::MulIOp>(loc, a, b);
    constexpr int64_t limit = int64_t{1} << 54;
    auto product = builder.create<arith::MulSIExtendedOp>(loc, a, b);
    Value low = product.getLow(), sign = builder.create<arith::ShRSIOp>(loc, low, constant(63));
    Value wraps = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, product.getHigh(), sign);
    Value shifted = builder.create<arith::AddIOp>(loc, low, constant(limit));
    Value isLong = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ugt, shifted, constant(2 * limit));
    note(builder.create<arith::OrIOp>(loc, wraps, isLong));
    return low;
  }

  void note(Value condition) {
    *isTooLarge = *isTooLarge ? builder.create<arith::OrIOp>(loc, *isTooLarge, condition).getResult() : condition;
  }

  Value emit(const SymbolicAtom &atom) {
    if (atom.kind() == SymbolicAtomKind::Symbol)
      return symbol(atom.name());
    SmallVector<Value> operands;
    for (const SymbolicInt &operand : atom.operands())
      operands.push_back(emit(operand));
    return combine(atom, operands);
  }

  Value combine(const SymbolicAtom &atom, ArrayRef<Value> operands) {
    switch (atom.kind()) {
    case SymbolicAtomKind::FloorDiv:
      return floorDivision(atom, operands);
    case SymbolicAtomKind::Mod: {
      Value product = builder.create<arith::MulIOp>(loc, floorDivision(atom, operands), operands[1]);
      return builder.create<arith::SubIOp>(loc, operands[0], product);
    }
    case SymbolicAtomKind::Min:
      return fold<arith::MinSIOp>(operands);
    default:
      return fold<arith::MaxSIOp>(operands);
    }
  }

  template <typename Op> Value fold(ArrayRef<Value> operands) {
    Value result = operands[0];
    for (Value operand : operands.drop_front())
      result = builder.create<Op>(loc, result, operand);
    return result;
  }

  /// Replaces a divisor 0, so that an expression can be computed even where it is undefined and unused.
  Value divisorOf(const SymbolicInt &divisor, Value value) {
    if (divisor.knownPositive())
      return value;
    if (divisor.knownNonNegative())
      return builder.create<arith::MaxSIOp>(loc, value, constant(1));
    Value isZero = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, value, constant(0));
    return builder.create<arith::SelectOp>(loc, isZero, constant(1), value);
  }

  /// Rounds towards minus infinity; a plain division if nothing can be negative.
  Value floorDivision(const SymbolicAtom &atom, ArrayRef<Value> operands) {
    Value divisor = divisorOf(atom.operands()[1], operands[1]);
    if (atom.operands()[0].knownNonNegative() && atom.operands()[1].knownNonNegative())
      return builder.create<arith::DivUIOp>(loc, operands[0], divisor);
    Value quotient = builder.create<arith::DivSIOp>(loc, operands[0], divisor);
    Value back = builder.create<arith::MulIOp>(loc, quotient, divisor);
    Value remainder = builder.create<arith::SubIOp>(loc, operands[0], back);
    auto isNegative = [&](Value value) {
      return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, value, constant(0));
    };
    Value isInexact = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, remainder, constant(0));
    Value differ = builder.create<arith::XOrIOp>(loc, isNegative(operands[0]), isNegative(operands[1]));
    Value roundsUp = builder.create<arith::AndIOp>(loc, isInexact, differ);
    Value lower = builder.create<arith::SubIOp>(loc, quotient, constant(1));
    return builder.create<arith::SelectOp>(loc, roundsUp, lower, quotient);
  }

  OpBuilder &builder;
  Location loc;
  llvm::function_ref<Value(StringRef)> symbol;
  Value *isTooLarge;
};
} // namespace

Value perpend::graph::emitSymbolicInt(OpBuilder &builder, Location loc, const SymbolicInt &value,
                                      llvm::function_ref<Value(StringRef)> symbol, Value *isTooLarge) {
  assert(!value.isPoison() && "an expression that has no code");
  return Emitter(builder, loc, symbol, isTooLarge).emit(value);
}
