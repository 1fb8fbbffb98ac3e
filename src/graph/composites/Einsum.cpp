//===- Einsum.cpp - sums of products in index notation --------------------===//
//
// Operands are joined from left to right. A label is summed as soon as neither
// the result nor a later operand needs it, so that each join is one
// contraction.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace perpend::graph {
namespace {
/// A letter, or a number below 0 for a dimension of the ellipsis (-1 is the last).
using Labels = SmallVector<int>;

struct Operand {
  Value value;
  Labels labels;

  int64_t dimOf(int label) const { return llvm::find(labels, label) - labels.begin(); }
  bool has(int label) const { return llvm::is_contained(labels, label); }
};

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};
} // namespace

/// The labels of a term, in which "..." stands for `ellipsisRank` dimensions. nullopt: a character is not a letter.
static std::optional<Labels> readTerm(StringRef term, int64_t ellipsisRank) {
  Labels labels;
  while (!term.empty()) {
    if (term.consume_front("..."))
      for (int64_t dim = -ellipsisRank; dim < 0; ++dim)
        labels.push_back(static_cast<int>(dim));
    else if (llvm::isAlpha(term.front()))
      labels.push_back(term.front()), term = term.drop_front();
    else
      return std::nullopt;
  }
  return labels;
}

/// The labels of the result without "->": the ellipsis, then the letters that occur once, in alphabetical order.
static Labels implicitResult(ArrayRef<Labels> operands, int64_t ellipsisRank) {
  Labels result = *readTerm("...", ellipsisRank);
  for (int letter = 'A'; letter <= 'z'; ++letter) {
    int64_t count = 0;
    for (const Labels &labels : operands)
      count += llvm::count(labels, letter);
    if (count == 1)
      result.push_back(letter);
  }
  return result;
}

static std::optional<Equation> readEquation(StringRef text, Values in) {
  std::string compact;
  llvm::copy_if(text, std::back_inserter(compact), [](char letter) { return letter != ' '; });
  auto [left, right] = StringRef(compact).split("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != in.size())
    return std::nullopt;
  int64_t ellipsisRank = 0;
  for (auto [term, value] : llvm::zip(terms, in))
    if (term.contains("..."))
      ellipsisRank = std::max(ellipsisRank, rankOf(value) - static_cast<int64_t>(term.size()) + 3);
  Equation equation;
  for (auto [term, value] : llvm::zip(terms, in)) {
    int64_t letters = static_cast<int64_t>(term.size()) - (term.contains("...") ? 3 : 0);
    std::optional<Labels> labels = readTerm(term, rankOf(value) - letters);
    if (!labels || static_cast<int64_t>(labels->size()) != rankOf(value))
      return std::nullopt;
    equation.operands.push_back(*labels);
  }
  bool isExplicit = compact.find("->") != std::string::npos;
  std::optional<Labels> result =
      isExplicit ? readTerm(right, ellipsisRank) : implicitResult(equation.operands, ellipsisRank);
  if (!result)
    return std::nullopt;
  equation.result = *result;
  for (int label : equation.result) {
    bool isKnown =
        llvm::any_of(equation.operands, [&](const Labels &labels) { return llvm::is_contained(labels, label); });
    if (!isKnown || llvm::count(equation.result, label) > 1)
      return std::nullopt;
  }
  return equation;
}

/// A label that occurs twice in one operand takes the diagonal.
static Operand takeDiagonals(Builder &b, Operand operand) {
  Operand result;
  Shape shape = shapeOf(operand.value), extents;
  for (auto [label, extent] : llvm::zip(operand.labels, shape))
    if (!result.has(label)) {
      result.labels.push_back(label);
      extents.push_back(extent);
    }
  if (result.labels.size() == operand.labels.size())
    return operand;
  result.value = b.generate(operand.value, extents, elementTypeOf(operand.value),
                            [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                              SmallVector<Value> source;
                              for (int label : operand.labels)
                                source.push_back(index[result.dimOf(label)]);
                              return load(builder, loc, tensors[0], source);
                            });
  return result;
}

/// Sums over all labels for which `isNeeded` is false.
static Operand sumOthers(Builder &b, Operand operand, llvm::function_ref<bool(int)> isNeeded) {
  SmallVector<int64_t> dims;
  Labels kept;
  for (auto [dim, label] : llvm::enumerate(operand.labels))
    if (isNeeded(label))
      kept.push_back(label);
    else
      dims.push_back(dim);
  return {b.reduce(ReductionKind::Sum, operand.value, dims, false), kept};
}

/// Extents of 1 that meet a larger extent under the same label are repeated.
static Value broadcastShared(Builder &b, const Operand &operand, const Operand &other) {
  Shape shape = shapeOf(operand.value), otherShape = shapeOf(other.value);
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  for (auto [label, extent] : llvm::zip(operand.labels, shape))
    if (extent == SymbolicInt(1) && other.has(label))
      extent = otherShape[other.dimOf(label)];
  return b.broadcast(operand.value, dims, shape);
}

static Operand join(Builder &b, const Operand &left, const Operand &right, llvm::function_ref<bool(int)> isNeeded) {
  SmallVector<int64_t> leftBatch, rightBatch, leftSum, rightSum;
  Operand result;
  for (int label : left.labels) {
    if (!right.has(label))
      continue;
    bool isBatch = isNeeded(label);
    (isBatch ? leftBatch : leftSum).push_back(left.dimOf(label));
    (isBatch ? rightBatch : rightSum).push_back(right.dimOf(label));
    if (isBatch)
      result.labels.push_back(label);
  }
  for (int label : left.labels)
    if (!right.has(label))
      result.labels.push_back(label);
  for (int label : right.labels)
    if (!left.has(label))
      result.labels.push_back(label);
  Value leftValue = broadcastShared(b, left, right), rightValue = broadcastShared(b, right, left);
  result.value = b.contract(leftValue, rightValue, leftBatch, rightBatch, leftSum, rightSum);
  return result;
}

namespace composites {
Results einsum(Builder &b, Values in, const Attributes &a) {
  StringRef text = a.getString("equation");
  std::optional<Equation> equation = readEquation(text, in);
  if (!equation)
    return {b.contradict("einsum: the equation '" + text + "' does not fit inputs of these ranks")};
  Operand joined;
  for (size_t i = 0; i < in.size(); ++i) {
    auto isNeeded = [&](int label) {
      return llvm::is_contained(equation->result, label) ||
             llvm::any_of(llvm::drop_begin(equation->operands, i + 1),
                          [&](const Labels &labels) { return llvm::is_contained(labels, label); });
    };
    Operand next = takeDiagonals(b, {b.cast(in[i], computeType(elementTypeOf(in[i]))), equation->operands[i]});
    next = sumOthers(b, next, [&](int label) { return isNeeded(label) || joined.has(label); });
    if (joined.value)
      joined = sumOthers(b, joined, [&](int label) { return isNeeded(label) || next.has(label); });
    joined = joined.value ? join(b, joined, next, isNeeded) : next;
    if (!joined.value)
      return {};
  }
  SmallVector<int64_t> permutation;
  for (int label : equation->result)
    permutation.push_back(joined.dimOf(label));
  Value result = b.transpose(joined.value, permutation);
  return {result ? b.cast(result, elementTypeOf(in[0])) : result};
}
} // namespace composites
} // namespace perpend::graph
