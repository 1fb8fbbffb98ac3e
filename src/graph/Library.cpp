//===- Library.cpp - calls of C functions, and the types that they need ---===//
//
// Verifier, effects and dimensions of call_library.
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/Shapes.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace perpend::graph;

SmallVector<StringAttr> CallLibraryOp::definedSymbols() {
  return llvm::map_to_vector(getSymbols().getAsRange<StringAttr>(), [](StringAttr name) { return name; });
}

/// Calls that define symbols or are marked graph.impure have effects; all others are pure functions of their operands.
void CallLibraryOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (!getSymbols().empty() || (*this)->hasAttr(impureAttribute))
    effects.emplace_back(MemoryEffects::Write::get());
}

bool CallLibraryOp::keepsDimensions() { return (*this)->hasAttr(elementwiseAttribute); }
std::optional<unsigned> CallLibraryOp::followingDim(OpOperand &, unsigned dim) { return dim; }

/// Prints a number so that it is not read as an integer: 2.0, 1e+30. Infinity becomes a number beyond 64 bits.
static std::string floatText(double number) {
  if (std::isinf(number))
    return number < 0 ? "-1e999" : "1e999";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*g", std::numeric_limits<double>::max_digits10, number);
  return StringRef(text).find_first_of(".e") == StringRef::npos ? text + ".0" : text;
}

static void print(llvm::json::OStream &json, Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value))
    json.value(integer.getValue().getSExtValue());
  else if (auto number = dyn_cast<FloatAttr>(value))
    json.rawValue(floatText(number.getValueAsDouble()));
  else if (auto text = dyn_cast<StringAttr>(value))
    json.value(text.getValue());
  else
    json.array([&] {
      for (Attribute element : cast<ArrayAttr>(value))
        print(json, element);
    });
}

std::string perpend::graph::parametersText(DictionaryAttr parameters) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  json.object([&] {
    for (NamedAttribute parameter : parameters) {
      json.attributeBegin(parameter.getName().getValue());
      print(json, parameter.getValue());
      json.attributeEnd();
    }
  });
  return text;
}

static bool isParameter(Attribute value) {
  if (auto list = dyn_cast<ArrayAttr>(value))
    return llvm::all_of(list, [](Attribute element) { return !isa<ArrayAttr>(element) && isParameter(element); });
  if (auto number = dyn_cast<FloatAttr>(value))
    return !number.getValue().isNaN();
  return isa<IntegerAttr, StringAttr>(value);
}

LogicalResult CallLibraryOp::verify() {
  auto [library, name] = getFunction().split('.');
  auto isWord = [](StringRef text) {
    return !text.empty() && llvm::all_of(text, [](char letter) { return llvm::isAlnum(letter) || letter == '_'; });
  };
  if (!isWord(library) || !isWord(name))
    return emitOpError("C1: expected a function 'library.name', got '") << getFunction() << "'";
  for (StringAttr symbol : definedSymbols())
    if (llvm::none_of(getResultTypes(), [&](Type type) {
          return llvm::is_contained(shapeOf(cast<RankedTensorType>(type)), SymbolicInt::symbol(symbol.str()));
        }))
      return emitOpError("C2: the symbol ") << symbol << " is no extent of a result";
  for (NamedAttribute parameter : getParameters())
    if (!isParameter(parameter.getValue()))
      return emitOpError("C3: the parameter '") << parameter.getName().getValue() << "' is no number, text or list";
  return success();
}
