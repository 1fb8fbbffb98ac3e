//===- Precision.cpp - --precision: the request and its result ------------===//

#include "compiler/Precision.h"

#include "graph/ElementTypes.h"
#include "support/Nearest.h"
#include "tile/Attributes.h"
#include "tile/intrinsics/Intrinsic.h"
#include "tile/ir/Tile.h"

#include "llvm/ADT/StringSwitch.h"

#include <set>

using namespace mlir;

namespace perpend {

static std::set<std::string> precisionsOf(MLIRContext *context, const target::Machine &target) {
  std::set<std::string> known{"f32"};
  for (const auto &intrinsic : tile::IntrinsicLibrary::of(context).list()) {
    const auto &panels = intrinsic->panels;
    if (!panels || !intrinsic->missingOn(target).empty())
      continue;
    bool isOfFloats = isa<FloatType>(panels->left) && isa<FloatType>(panels->right);
    if (panels->sum.isInteger(32))
      known.insert("int8");
    else if (panels->sum.isF32() && isOfFloats && tile::holdsAll(panels->left, panels->right))
      known.insert(graph::nameOf(panels->right));
  }
  return known;
}

bool hasPrecision(MLIRContext *context, StringRef precision, const target::Machine &target) {
  return precisionsOf(context, target).count(precision.str());
}

/// Perpend's name of a type, given the name that other libraries use; empty: unknown.
static std::string nameHere(StringRef name) {
  return llvm::StringSwitch<std::string>(name.lower())
      .Cases("float16", "half", "f16")
      .Cases("bfloat16", "bfloat", "bf16")
      .Cases("float32", "float", "single", "f32")
      .Cases("i8", "s8", "w8a8", "int8")
      .Default("");
}

LogicalResult checkPrecision(ModuleOp module, StringRef precision, const target::Machine &target) {
  std::set<std::string> known = precisionsOf(module.getContext(), target);
  if (known.count(precision.str()))
    return success();
  bool isName = precision == "int8" || graph::elementTypeNamed(module.getContext(), precision);
  std::string near = nameHere(precision);
  if (!isName && !known.count(near))
    near = support::nearest(precision, std::vector<std::string>(known.begin(), known.end()));
  std::string hint = near.empty() ? "leave it out, or compile for another machine (--target); --intrinsics FILE brings "
                                    "products of other types"
                                  : "did you mean '" + near + "'?";
  return module.emitError("precision (--precision): the machine '")
         << target.name << "' multiplies " << llvm::join(known, ", ") << ", got '" << precision << "'\nhint: " << hint;
}

PrecisionFacts precisionFactsOf(ModuleOp module) {
  auto facts = module->getAttrOfType<DictionaryAttr>(tile::precisionAttribute);
  if (!facts)
    return {};
  auto count = [](Attribute number) { return static_cast<uint64_t>(cast<IntegerAttr>(number).getInt()); };
  PrecisionFacts read{cast<StringAttr>(facts.get("type")).str(), count(facts.get("products")), {}};
  for (NamedAttribute kept : cast<DictionaryAttr>(facts.get("kept")))
    read.kept.emplace_back(kept.getName().str(), count(kept.getValue()));
  return read;
}

/// For example "1 depthwise convolution", "2 products with one column".
static std::string countedText(StringRef what, uint64_t count) {
  std::string text = what.str();
  size_t noun = std::min(text.find("product"), text.find("convolution"));
  if (count != 1)
    text.insert(std::min(text.find(' ', noun), text.size()), "s");
  return std::to_string(count) + " " + text;
}

std::string PrecisionFacts::text() const {
  uint64_t all = products;
  std::vector<std::string> others;
  for (const auto &[what, count] : kept) {
    all += count;
    others.push_back(countedText(what, count));
  }
  std::string lines = "precision " + type + ": the operands of " + std::to_string(products) + " of " +
                      std::to_string(all) + " products and convolutions; sums and all else are f32\n";
  return others.empty() ? lines : lines + "still in f32: " + llvm::join(others, ", ") + "\n";
}
} // namespace perpend
