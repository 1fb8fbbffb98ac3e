//===- InputShapes.cpp - symbols of a model's inputs ----------------------===//

#include "frontend/onnx/InputShapes.h"
#include "support/DimensionNames.h"

#include "llvm/ADT/StringExtras.h"

namespace perpend::onnx {
using support::identifierOf;

std::string InputShapes::symbolFor(StringRef input, size_t index, StringRef parameter) {
  std::string symbol = support::symbolOfDimension(input, index, parameter);
  std::string name = support::isUnnamed(parameter) ? (input + ":" + llvm::Twine(index)).str() : parameter.str();
  for (;; symbol += "_") {
    auto [entry, isNew] = parameterOf.try_emplace(symbol, name);
    if (isNew || entry->second == name)
      return symbol;
  }
}

/// Applies the option for a dimension; nullopt without an error if there is none.
std::optional<SymbolicInt> InputShapes::apply(StringRef subject, std::string &error) {
  subjects.push_back(subject.str());
  std::optional<SymbolicInt> result;
  for (size_t i = 0; i < options.dimensions.size(); ++i) {
    if (options.dimensions[i].subject != subject)
      continue;
    used[i] = true;
    StringRef value = options.dimensions[i].value;
    int64_t number;
    if (!value.getAsInteger(10, number)) {
      if (number >= 0)
        result = SymbolicInt(number);
      else
        error = "a dimension cannot be " + value.str();
    } else if (identifierOf(value) == value) {
      result = SymbolicInt::symbol(value);
    } else if (llvm::all_of(value, llvm::isDigit)) {
      error = "a dimension cannot be " + value.str() + ": it is too large";
    } else {
      error = "'" + value.str() + "' is neither a number nor a name of letters, digits and '_'";
    }
  }
  return result;
}

std::optional<SymbolicInt> InputShapes::resolveDimension(const ValueInfo &input, size_t index, std::string &error) {
  const Dimension &dimension = (*input.dims)[index];
  std::string position = input.name.str() + ":" + std::to_string(index);
  if (std::optional<SymbolicInt> chosen = apply(position, error); chosen || !error.empty()) {
    if (chosen && !chosen->isConstant() && dimension.value)
      freed.try_emplace(chosen->str(), *dimension.value);
    return chosen;
  }
  if (dimension.value && *dimension.value >= 0)
    return SymbolicInt(*dimension.value);
  std::string symbol = symbolFor(input.name, index, dimension.parameter);
  llvm::SmallVector<StringRef, 2> names{symbol};
  if (!support::isUnnamed(dimension.parameter) && dimension.parameter != symbol)
    names.push_back(dimension.parameter);
  for (StringRef subject : names) {
    if (std::optional<SymbolicInt> chosen = apply(subject, error); chosen || !error.empty())
      return chosen;
  }
  return SymbolicInt::symbol(symbol);
}

std::optional<int64_t> InputShapes::rankOption(StringRef name, std::string &error) {
  constexpr int64_t mostDimensions = 32;
  std::optional<SymbolicInt> rank = apply(name.str() + ":rank", error);
  std::optional<int64_t> number = rank ? rank->constant() : std::nullopt;
  if (!rank || (number && *number <= mostDimensions))
    return number;
  error = "the option '" + name.str() + ":rank' must be a number of at most " + std::to_string(mostDimensions);
  return std::nullopt;
}

mlir::Type InputShapes::resolveList(StringRef name, mlir::RankedTensorType declared, std::string &error) {
  auto list = llvm::cast<graph::SequenceType>(declared.getElementType());
  auto element = llvm::cast<mlir::TensorType>(list.getElement());
  if (auto inner = llvm::dyn_cast<graph::SequenceType>(element.getElementType())) { // an optional list
    mlir::Type resolved = resolveList(name, mlir::RankedTensorType::get({}, inner), error);
    return resolved ? mlir::RankedTensorType::get(
                          {}, graph::SequenceType::get(declared.getContext(), resolved, list.getIsOptional()))
                    : mlir::Type();
  }
  std::optional<int64_t> rank = rankOption(name, error);
  if (!error.empty() || !rank)
    return error.empty() ? declared : mlir::Type();
  if (element.hasRank() && rank == element.getRank())
    return declared;
  if (element.hasRank()) {
    error = "its elements have " + std::to_string(element.getRank()) + " dimensions";
    return {};
  }
  llvm::SmallVector<int64_t> shape(*rank, mlir::ShapedType::kDynamic);
  auto ranked = mlir::RankedTensorType::get(shape, element.getElementType());
  return mlir::RankedTensorType::get({}, graph::SequenceType::get(declared.getContext(), ranked, list.getIsOptional()));
}

std::optional<graph::Shape> InputShapes::resolve(const ValueInfo &input, std::string &error) {
  if (!input.dims) {
    std::optional<int64_t> rank = rankOption(input.name, error);
    if (!rank && error.empty())
      error = "its rank is unknown\nhint: say how many dimensions it has, as the dimension '" + input.name.str() +
              ":rank', or export the model with a shape for this input";
    if (!rank)
      return std::nullopt;
    ValueInfo ranked = input;
    ranked.dims.emplace(*rank);
    return resolve(ranked, error);
  }
  graph::Shape shape;
  for (size_t i = 0; i < input.dims->size(); ++i) {
    std::optional<SymbolicInt> extent = resolveDimension(input, i, error);
    if (!extent)
      return std::nullopt;
    shape.push_back(*extent);
  }
  return shape;
}

std::string InputShapes::unusedOptions() const {
  std::vector<std::string> known;
  for (const std::string &subject : subjects) // inputs may share a symbol
    if (!llvm::is_contained(known, subject))
      known.push_back(subject);
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i])
      return "no input has the dimension '" + options.dimensions[i].subject + "'\nhint: there are " +
             llvm::join(known, ", ");
  return "";
}
} // namespace perpend::onnx
