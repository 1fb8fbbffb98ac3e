//===- AttributeNames.cpp - checks attributes of ONNX nodes ---------------===//

#include "frontend/onnx/AttributeNames.h"
#include "support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace perpend::onnx {
/// Empty for types that are not checked.
static StringRef lettersOf(AttributeProto::Kind kind) {
  using Kind = AttributeProto::Kind;
  static constexpr std::pair<Kind, StringRef> table[] = {
      {Kind::Float, "f"}, {Kind::Int, "i"},     {Kind::String, "s"}, {Kind::Tensor, "t"},
      {Kind::Graph, "g"}, {Kind::Floats, "f*"}, {Kind::Ints, "i*"},  {Kind::Strings, "s*"},
  };
  for (auto [known, letters] : table)
    if (known == kind)
      return letters;
  return "";
}

static StringRef nameOfType(StringRef letters) {
  static constexpr std::pair<StringRef, StringRef> table[] = {
      {"f", "a float"}, {"i", "an integer"}, {"s", "a text"},    {"t", "a tensor"},
      {"g", "a graph"}, {"f*", "floats"},    {"i*", "integers"}, {"s*", "texts"},
  };
  for (auto [known, name] : table)
    if (known == letters)
      return name;
  return "another type";
}

std::string complaintAboutAttributes(const NodeProto &node, const Operator &entry, int64_t operatorSet) {
  std::vector<std::string> names;
  llvm::SmallVector<StringRef> types, required;
  for (StringRef known : llvm::split(entry.attributes, ' '))
    if (auto [name, type] = known.split(':'); !name.empty()) {
      if (type.consume_back("!"))
        required.push_back(name);
      names.push_back(name.str());
      types.push_back(type);
    }
  for (const AttributeProto &attribute : node.attributes) {
    auto found = llvm::find(names, attribute.name);
    if (found == names.end()) {
      std::string guess = support::nearest(attribute.name, names);
      return ("the operator has no attribute '" + attribute.name + "'\nhint: ").str() +
             (guess.empty() ? "" : "did you mean '" + guess + "'? ") + "in operator set " +
             std::to_string(operatorSet) + " it has " + (names.empty() ? "none" : llvm::join(names, ", "));
    }
    if (llvm::count_if(node.attributes, [&](const auto &other) { return other.name == attribute.name; }) > 1)
      return ("the attribute '" + attribute.name + "' is given twice").str();
    StringRef expected = types[found - names.begin()], got = lettersOf(attribute.kind);
    if (expected != "?" && !got.empty() && got != expected)
      return ("attribute '" + attribute.name + "': expected " + nameOfType(expected) + ", got " + nameOfType(got))
          .str();
  }
  for (StringRef name : required)
    if (llvm::none_of(node.attributes, [&](const auto &given) { return given.name == name; }))
      return ("expected the attribute '" + name + "', which is required, got none" +
              "\nhint: export the model again, or add the attribute")
          .str();
  return "";
}
} // namespace perpend::onnx
