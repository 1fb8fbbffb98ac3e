//===- NumberLimits.cpp - checks of numbers that a run computes -----------===//

#include "target/accelerator/NumberLimits.h"

#include "graph/Shapes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using perpend::support::SymbolicInt;

namespace perpend::accelerator {

std::optional<NumberLimits> limitsOf(host::CheckOp check) {
  auto only = [](graph::ShapeAttr expressions) {
    auto values = expressions.values();
    return values.size() == 1 ? SymbolicInt(values.front()) : SymbolicInt::poison();
  };
  const SymbolicInt value = only(check.getValue()), got = only(check.getGot());
  std::set<std::string> names;
  value.symbols(names);
  std::optional<int64_t> expected = only(check.getExpected()).constant();
  if (check.getUnless() || names.size() != 1 || !expected)
    return std::nullopt;
  const SymbolicInt number = SymbolicInt::symbol(*names.begin());
  NumberLimits limits{*names.begin(), std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                      check.getMessage().str()};
  if (got != number)
    return std::nullopt;
  // value = sign * number + offset
  for (int64_t sign : {1, -1}) {
    std::optional<int64_t> offset = (value - SymbolicInt(sign) * number).constant();
    int64_t bound = 0;
    if (!offset || llvm::SubOverflow(*expected, *offset, bound) || bound == limits.least)
      continue;
    if (sign > 0 || check.getIsEqual())
      limits.least = sign * bound;
    if (sign < 0 || check.getIsEqual())
      limits.most = sign * bound;
    return limits;
  }
  return std::nullopt;
}

/// Whether nothing stands between it and what reads the number: the memory of a number is another value's from then on.
static bool followsRead(host::CheckOp check, StringRef symbol) {
  for (Operation *op = check->getPrevNode(); isa_and_nonnull<host::ReadOp, host::CheckOp>(op); op = op->getPrevNode())
    if (auto read = dyn_cast<host::ReadOp>(op); read && read.getSymbol() == symbol)
      return true;
  return false;
}

std::set<std::string> limitedSymbolsOf(host::EntryOp entry) {
  std::set<std::string> names, others;
  for (const std::string &name : entry.dataSymbolNames())
    names.insert(name);
  for (unsigned value = 0; value < entry.inputCount() + entry.outputCount(); ++value)
    for (const SymbolicInt &extent : graph::shapeOf(entry.tensorOf(value)))
      extent.symbols(others);
  entry.getBody().walk([&](Operation *op) {
    if (auto check = dyn_cast<host::CheckOp>(op); check && check->getParentOp() == entry)
      if (std::optional<NumberLimits> limits = limitsOf(check); limits && followsRead(check, limits->symbol))
        return;
    if (auto read = dyn_cast<host::ReadOp>(op);
        read && !read.getPlace().getType().getTensor().getElementType().isInteger(64))
      others.insert(read.getSymbol().str());
    op->getAttrDictionary().walk([&](graph::ShapeAttr shape) {
      for (const SymbolicInt &value : shape.values())
        value.symbols(others);
    });
  });
  for (const std::string &other : others)
    names.erase(other);
  return names;
}

} // namespace perpend::accelerator
