//===- Costs.cpp - conditions and costs of intrinsics ---------------------===//

#include "tile/intrinsics/Intrinsic.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

std::string perpend::tile::missingFeatures(const Features &features, const target::Machine &target) {
  std::string text;
  for (const std::vector<std::string> &needed : features) {
    std::vector<std::string> missing;
    llvm::copy_if(needed, std::back_inserter(missing), [&](const auto &name) { return !target.hasFeature(name); });
    if (missing.empty())
      return "";
    text += (text.empty() ? "" : ", nor ") + llvm::join(missing, ", ");
  }
  return text;
}

std::string Intrinsic::missingOn(const target::Machine &machine) const {
  std::string missing = missingFeatures(features, machine);
  return missing.empty() ? missingPartOn(machine) : missing;
}

std::string Intrinsic::missingPartOn(const target::Machine &machine) const {
  if (!unit.empty() && !machine.hasUnit(unit))
    return "unit '" + unit + "'";
  for (unsigned i = 0; i < strides.size(); ++i)
    if (StringRef memory = memoryOf(i); !memory.empty() && !llvm::is_contained(machine.scopes(), memory))
      return "memory '" + memory.str() + "'";
  return "";
}

/// The value of each parameter: the extent of its iterator.
static llvm::StringMap<SymbolicInt> valuesOf(const Intrinsic &intrinsic, ArrayRef<SymbolicInt> extents) {
  llvm::StringMap<SymbolicInt> values;
  for (auto [extent, described] : llvm::zip_equal(extents, intrinsic.block.getDomain().values()))
    if (!described.isConstant())
      values[described.str()] = extent;
  return values;
}

bool Intrinsic::allows(ArrayRef<SymbolicInt> extents) const {
  llvm::StringMap<SymbolicInt> values = valuesOf(*this, extents);
  for (size_t i = 0; i < where.size(); i += 2)
    if (!(where[i + 1].substitute(values) - where[i].substitute(values)).knownNonNegative())
      return false;
  return true;
}

std::optional<double> Intrinsic::cyclesPerPoint(ArrayRef<SymbolicInt> extents, const target::Machine &target) const {
  constexpr int64_t longExtent = 256;
  Shape numbers;
  double points = 1;
  for (const SymbolicInt &extent : extents) {
    numbers.emplace_back(extent.constant().value_or(longExtent));
    points *= double(std::max<int64_t>(*numbers.back().constant(), 1));
  }
  llvm::StringMap<SymbolicInt> values = valuesOf(*this, numbers);
  values["lanes"] = SymbolicInt(target.vectorLanes(4));
  values["fmas"] = SymbolicInt(target.fmaPerCycle);
  values["word"] = SymbolicInt(target.cyclesOfWord);
  std::optional<int64_t> count = cycles ? cycles->substitute(values).constant() : std::nullopt;
  return count && *count > 0 ? std::optional(double(*count) / points) : std::nullopt;
}
