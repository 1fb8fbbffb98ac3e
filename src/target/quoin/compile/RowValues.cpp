//===- RowValues.cpp - what a chain of rows computes ----------------------===//
#include "target/quoin/compile/RowValues.h"
#include "target/quoin/compile/VectorNest.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>

namespace perpend::quoin {
namespace {

class Builder {
public:
  explicit Builder(const RowChain &chain) : chain(chain) {}
  RowValues build();

private:
  void addNest(const Nest &nest);
  std::optional<unsigned> valueOf(const Nest &nest, unsigned number);
  std::optional<unsigned> load(const Node &node);
  std::optional<unsigned> apply(const Nest &nest, const Node &node);
  std::optional<unsigned> reduce(const Nest &nest);
  unsigned moved(unsigned from, DType type, bool hasColumns, bool isNew);
  unsigned add(RowValue value, bool isNew = false);
  std::nullopt_t refuse(const char *text) {
    made.problem = text;
    return std::nullopt;
  }
  bool isWritten(unsigned buffer) const {
    return llvm::any_of(chain.nests, [&](const Nest &nest) { return nest.store.buffer == buffer; });
  }

  const RowChain &chain;
  RowValues made;
  std::map<unsigned, unsigned> left; ///< values, of the buffers that nests have written
};

} // namespace

static bool isSame(const RowValue &a, const RowValue &b) {
  return a.kind == b.kind && a.type == b.type && a.opcode == b.opcode && a.operands == b.operands &&
         a.access == b.access && a.number == b.number && std::signbit(a.number) == std::signbit(b.number) &&
         a.numberType == b.numberType && a.hasRows == b.hasRows && a.hasColumns == b.hasColumns;
}

/// `isNew`: even if there is such a value.
unsigned Builder::add(RowValue value, bool isNew) {
  auto same = llvm::find_if(made.values, [&](const RowValue &other) { return isSame(value, other); });
  if (same != made.values.end() && !isNew)
    return static_cast<unsigned>(same - made.values.begin());
  for (unsigned operand : value.operands)
    ++made.values[operand].users;
  made.values.push_back(std::move(value));
  return static_cast<unsigned>(made.values.size() - 1);
}

std::optional<unsigned> Builder::load(const Node &node) {
  if (auto known = left.find(node.access.buffer); known != left.end())
    return known->second;
  if (node.access.buffer >= chain.between)
    return refuse("a value that no nest leaves");
  const auto rows = llvm::ArrayRef(node.access.strides).take_front(chain.rows);
  RowValue value{RowValue::Load, node.type};
  value.access = node.access;
  value.hasRows = rows.back() != 0;
  value.hasColumns = node.access.strides[chain.rows] != 0;
  value.isShared = llvm::all_of(rows, [](int64_t stride) { return stride == 0; }) && !isWritten(node.access.buffer);
  return add(std::move(value));
}

/// A number that is the last operand may be part of the instruction.
std::optional<unsigned> Builder::apply(const Nest &nest, const Node &node) {
  if (reinterprets(nest, node))
    return refuse("bits of another type");
  const llvm::SmallVector<unsigned, 3> operands = operandsOf(nest, node);
  RowValue value{RowValue::Apply, node.type};
  value.opcode = node.opcode;
  value.isShared = true;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    const Node &each = nest.nodes[operand];
    if (infoOf(node.opcode).modes && index + 1 == operands.size() && each.kind == Node::Number) {
      if (index == 0)
        return refuse("a function of a number");
      value.number = each.number;
      value.numberType = each.type;
      continue;
    }
    const std::optional<unsigned> from = valueOf(nest, operand);
    if (!from)
      return std::nullopt;
    value.operands.push_back(*from);
    value.hasRows |= made.values[*from].hasRows;
    value.hasColumns |= made.values[*from].hasColumns;
    value.isShared &= made.values[*from].isShared;
  }
  return add(std::move(value));
}

std::optional<unsigned> Builder::valueOf(const Nest &nest, unsigned number) {
  const Node &node = nest.nodes[number];
  if (node.kind == Node::Load)
    return load(node);
  if (node.kind == Node::Apply)
    return apply(nest, node);
  if (node.type == DType::Pred8)
    return refuse("a truth that does not change");
  RowValue value{RowValue::Number, node.type};
  value.number = node.number;
  value.isShared = true;
  return add(std::move(value));
}

/// A sum of squares squares by itself, and a reduction widens floats by itself.
std::optional<unsigned> Builder::reduce(const Nest &nest) {
  const Node &node = nest.nodes[nest.value];
  RowValue value{RowValue::Reduce, node.type};
  value.opcode = *nest.combine == Opcode::add   ? Opcode::rsum
                 : *nest.combine == Opcode::mul ? Opcode::rprod
                 : *nest.combine == Opcode::max ? Opcode::rmax
                                                : Opcode::rmin;
  value.number = nest.initial;
  unsigned reduced = nest.value;
  if (node.kind == Node::Apply && isFloat(node.type) && isFloat(nest.nodes[node.operands[0]].type)) {
    const DType inner = nest.nodes[node.operands[0]].type;
    if (node.opcode == Opcode::mul && node.operands[0] == node.operands[1] && value.opcode == Opcode::rsum) {
      value.opcode = Opcode::rsumsq;
      reduced = node.operands[0];
    } else if (node.opcode == Opcode::cvt && sizeOf(inner) < sizeOf(node.type)) {
      reduced = node.operands[0];
    }
  }
  const std::optional<unsigned> from = valueOf(nest, reduced);
  if (!from)
    return std::nullopt;
  if (!made.values[*from].hasColumns)
    return refuse("a reduction of what does not change");
  value.operands = {*from};
  value.hasRows = made.values[*from].hasRows;
  return add(std::move(value));
}

unsigned Builder::moved(unsigned from, DType type, bool hasColumns, bool isNew) {
  RowValue value{RowValue::Apply, type};
  const DType before = made.values[from].type;
  value.opcode = before == type || (isFloat(before) && isFloat(type)) ? Opcode::mov : Opcode::cvt;
  value.operands = {from};
  value.hasRows = true;
  value.hasColumns = hasColumns;
  return add(std::move(value), isNew);
}

void Builder::addNest(const Nest &nest) {
  const bool leaves = nest.store.buffer < chain.between;
  const bool hasColumns = !nest.combine && nest.store.strides[chain.rows] != 0;
  std::optional<unsigned> value = nest.combine ? reduce(nest) : valueOf(nest, nest.value);
  if (!value)
    return;
  const RowValue &last = made.values[*value];
  const bool isFinal = last.type == nest.type && last.hasRows && last.hasColumns == hasColumns;
  const bool isOwn = last.kind == RowValue::Apply && !last.isStored; // the memory of what leaves is this value's alone
  if (!isFinal || (leaves && !isOwn))
    value = moved(*value, nest.type, hasColumns, /*isNew=*/leaves);
  left[nest.store.buffer] = *value;
  if (!leaves)
    return;
  made.values[*value].isStored = true;
  made.stores.push_back({*value, nest.store});
}

RowValues Builder::build() {
  for (const Nest &nest : chain.nests)
    if (made.problem.empty())
      addNest(nest);
  return std::move(made);
}

RowValues rowValuesOf(const RowChain &chain) { return Builder(chain).build(); }

} // namespace perpend::quoin
