//===- NodeValues.cpp - checks inputs and outputs of ONNX nodes -----------===//

#include "frontend/onnx/NodeValues.h"

#include "graph/ElementTypes.h"

#include "llvm/ADT/STLExtras.h"

namespace perpend::onnx {
/// Whether the last formal value is variadic.
static bool isVariadic(StringRef formals) { return formals.ends_with("+") || formals.ends_with("*"); }

namespace {
/// The number of values that a list such as "110" or "1+" accepts.
struct Count {
  explicit Count(StringRef formals) : isAnyNumber(isVariadic(formals)) {
    most = formals.size();
    least = isAnyNumber ? most - formals.ends_with("*") : formals.rfind('1') + 1;
  }

  bool fits(size_t count) const { return count >= least && (isAnyNumber || count <= most); }
  std::string text() const {
    if (isAnyNumber)
      return std::to_string(least) + " or more";
    return least == most ? std::to_string(most) : std::to_string(least) + " to " + std::to_string(most);
  }

  bool isAnyNumber;
  size_t least, most;
};
} // namespace

static bool fits(const NodeProto &node, const Operator &entry) {
  auto [inputs, outputs] = entry.values.split('>');
  return Count(inputs).fits(node.inputs.size()) && Count(outputs).fits(node.outputs.size());
}

/// Hints at an operator set in which the operator has this number of values.
static std::string hintOf(const NodeProto &node, const Operator &entry, bool isSurplus, const char *kind) {
  if (const Operator *other = findForm(entry, [&](const Operator &form) { return fits(node, form); }))
    return "in operator set " + std::to_string(other->since) + " it has as many; export with that one";
  return std::string(isSurplus ? "remove the last " : "give the missing ") + kind + "s, or export the model again";
}

static std::string complaintAbout(llvm::ArrayRef<StringRef> values, StringRef formals, const char *kind,
                                  llvm::function_ref<std::string(bool)> hint) {
  Count count(formals);
  if (!count.fits(values.size()))
    return "expected " + count.text() + " " + kind + (count.text() == "1" ? "" : "s") + ", got " +
           std::to_string(values.size()) + "\nhint: " + hint(values.size() > count.least);
  for (auto [index, formal] : llvm::enumerate(formals.take_front(values.size())))
    if (formal == '1' && values[index].empty())
      return "expected the " + std::string(kind) + " " + std::to_string(index) +
             ", got an empty name\nhint: only optional ones may be left out";
  return "";
}

std::string complaintAboutValues(const NodeProto &node, const Operator &entry) {
  auto [inputs, outputs] = entry.values.split('>');
  auto hintFor = [&](const char *kind) {
    return [&node, &entry, kind](bool isSurplus) { return hintOf(node, entry, isSurplus, kind); };
  };
  std::string complaint = complaintAbout(node.inputs, inputs, "input", hintFor("input"));
  return complaint.empty() ? complaintAbout(node.outputs, outputs, "output", hintFor("output")) : complaint;
}

std::string complaintAboutTypes(const Node &node, const Operator &entry) {
  StringRef formals = entry.values.split('>').first;
  bool isRepeated = !formals.empty() && isVariadic(formals) && entry.types.size() == formals.size();
  llvm::SmallDenseMap<char, size_t> firsts; // the first input with each letter
  for (auto [index, value] : llvm::enumerate(node.inputs)) {
    if (!value || (index >= entry.types.size() && !isRepeated))
      continue;
    char letter = entry.types[std::min(index, entry.types.size() - 1)];
    size_t first = letter == '.' ? index : firsts.try_emplace(letter, index).first->second;
    mlir::Type expected = graph::tensorTypeOf(node.inputs[first]).getElementType();
    mlir::Type got = graph::tensorTypeOf(value).getElementType();
    bool areLists = llvm::isa<graph::SequenceType>(expected) && llvm::isa<graph::SequenceType>(got);
    if (got != expected && !areLists)
      return "expected inputs of one element type, got " + graph::nameOf(expected) + " and " + graph::nameOf(got) +
             " for '" + node.proto.inputs[first].str() + "' and '" + node.proto.inputs[index].str() +
             "'\nhint: cast them to one type";
  }
  return "";
}
} // namespace perpend::onnx
