//===- Library.cpp - calls of C functions, and the types that they need ---===//
//
// Constraints and effects of call_library.
//
//===----------------------------------------------------------------------===//

#include "graph/Shapes.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace perpend::graph;

SmallVector<StringAttr> CallLibraryOp::definedSymbols() {
  return llvm::map_to_vector(getSymbols().getAsRange<StringAttr>(), [](StringAttr name) { return name; });
}

/// A call that defines symbols stays where it is, and so does one marked graph.impure; the others are functions of
/// their operands.
void CallLibraryOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (!getSymbols().empty() || (*this)->hasAttr("graph.impure"))
    effects.emplace_back(MemoryEffects::Write::get());
}

static llvm::json::Value toJson(Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return integer.getValue().getSExtValue();
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValueAsDouble();
  if (auto list = dyn_cast<ArrayAttr>(value))
    return llvm::json::Array(llvm::map_range(list, toJson));
  return cast<StringAttr>(value).getValue();
}

std::string perpend::graph::parametersText(DictionaryAttr parameters) {
  llvm::json::Object object;
  for (NamedAttribute parameter : parameters)
    object[parameter.getName().getValue()] = toJson(parameter.getValue());
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  return text;
}

static bool isParameter(Attribute value) {
  if (auto list = dyn_cast<ArrayAttr>(value))
    return llvm::all_of(list, [](Attribute element) { return !isa<ArrayAttr>(element) && isParameter(element); });
  return isa<IntegerAttr, FloatAttr, StringAttr>(value);
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
