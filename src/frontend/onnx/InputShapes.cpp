//===- InputShapes.cpp - symbols of a model's inputs ----------------------===//

#include "frontend/onnx/InputShapes.h"
#include "support/DimensionNames.h"

#include "llvm/ADT/StringExtras.h"

namespace perpend::onnx {

std::string InputShapes::symbolFor(StringRef input, size_t index, StringRef parameter) {
  std::string symbol = support::symbolOfDimension(input, index, parameter);
  std::string name = support::isUnnamed(parameter) ? (input + ":" + llvm::Twine(index)).str() : parameter.str();
  for (;; symbol += "_") {
    auto [entry, isNew] = parameterOf.try_emplace(symbol, name);
    if (isNew || entry->second == name)
      return symbol;
  }
}

std::optional<SymbolicInt> InputShapes::resolveDimension(const ValueInfo &input, size_t index, std::string &error) {
  const Dimension &dimension = (*input.dims)[index];
  std::string position = input.name.str() + ":" + std::to_string(index);
  if (std::optional<SymbolicInt> chosen = options.apply(position, error); chosen || !error.empty()) {
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
    if (std::optional<SymbolicInt> chosen = options.apply(subject, error); chosen || !error.empty())
      return chosen;
  }
  return SymbolicInt::symbol(symbol);
}

std::optional<int64_t> InputShapes::rankOption(StringRef name, std::string &error) {
  constexpr int64_t mostDimensions = 32;
  std::optional<SymbolicInt> rank = options.apply(name.str() + ":rank", error);
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
} // namespace perpend::onnx
