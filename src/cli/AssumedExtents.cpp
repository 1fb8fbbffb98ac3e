//===- AssumedExtents.cpp - finds extents that were not given -------------===//

#include "cli/AssumedExtents.h"
#include "cli/Session.h"
#include "support/SymbolicInt.h"

namespace perpend::cli {

std::set<std::string> symbolsIn(StringRef text) {
  std::set<std::string> names;
  if (std::optional<support::SymbolicInt> extent = support::SymbolicInt::parse(text))
    extent->symbols(names);
  return names;
}

namespace {
/// Asks a model whether it accepts inputs of certain shapes and gives outputs with elements. Needs no data and runs
/// nothing.
class Shapes {
public:
  Shapes(perpend_model *model, ArrayRef<std::optional<Array>> given)
      : model(model), given(given), session(Session::create(model, 1)) {}

  /// False if inputs are lists, whose extents are unknown before the run.
  bool canTell() const;
  bool fit(const llvm::StringMap<int64_t> &symbols);

private:
  perpend_model *model;
  ArrayRef<std::optional<Array>> given;
  std::unique_ptr<Session> session;
};
} // namespace

bool Shapes::canTell() const {
  for (size_t i = 0; i < given.size(); ++i)
    if (const perpend_tensor_info *info = perpend_model_input(model, static_cast<int32_t>(i));
        info->type == PERPEND_SEQUENCE || info->type == PERPEND_OPTIONAL)
      return false;
  return session && perpend_model_output_count(model) > 0;
}

bool Shapes::fit(const llvm::StringMap<int64_t> &symbols) {
  std::vector<llvm::SmallVector<int64_t>> shapes(given.size());
  std::vector<perpend_tensor> inputs;
  for (size_t i = 0; i < given.size(); ++i) {
    const perpend_tensor_info *info = perpend_model_input(model, static_cast<int32_t>(i));
    if (given[i])
      shapes[i] = given[i]->shape;
    for (int32_t dim = 0; !given[i] && dim < info->rank; ++dim) {
      std::optional<support::SymbolicInt> extent = support::SymbolicInt::parse(info->dimTexts[dim]);
      shapes[i].push_back(extent ? extent->evaluate(symbols).value_or(0) : 0);
    }
    inputs.push_back({nullptr, shapes[i].data(), static_cast<int32_t>(shapes[i].size()), info->type});
  }
  auto outputs = session->outputShapes(inputs);
  return outputs && llvm::none_of(*outputs, [](ArrayRef<int64_t> shape) { return llvm::is_contained(shape, 0); });
}

/// The values to try: powers of 2, small ones first.
static constexpr int64_t least = 2, most = 512;
/// With more symbols, all have the same value, to limit the number of combinations.
static constexpr size_t mostSearched = 4;

/// Tries all values up to `limit` for the symbols from `next` on, the last one varying fastest; returns whether some
/// fit.
static bool search(ArrayRef<std::string> names, size_t next, int64_t limit, llvm::StringMap<int64_t> &symbols,
                   Shapes &shapes) {
  if (next == names.size())
    return shapes.fit(symbols);
  for (int64_t value = least; value <= limit; value *= 2) {
    symbols[names[next]] = value;
    if (search(names, next + 1, limit, symbols, shapes))
      return true;
  }
  return false;
}

std::vector<std::string> assumeExtents(perpend_model *model, ArrayRef<std::optional<Array>> given,
                                       llvm::StringMap<int64_t> &symbols) {
  std::vector<std::string> names;
  for (size_t i = 0; i < given.size(); ++i) {
    const perpend_tensor_info *info = perpend_model_input(model, static_cast<int32_t>(i));
    for (int32_t dim = 0; !given[i] && dim < info->rank; ++dim)
      for (const std::string &name : symbolsIn(info->dimTexts[dim]))
        if (info->dims[dim] < 0 && symbols.try_emplace(name, least).second)
          names.push_back(name);
  }
  auto setAll = [&](int64_t value) {
    for (const std::string &name : names)
      symbols[name] = value;
  };
  if (names.empty())
    return names;
  Shapes shapes(model, given);
  if (!shapes.canTell())
    return names;
  for (int64_t limit = least; limit <= most; limit *= 2) {
    setAll(limit);
    if (names.size() > mostSearched ? shapes.fit(symbols) : search(names, 0, limit, symbols, shapes))
      return names;
  }
  setAll(least);
  return names;
}
} // namespace perpend::cli
