//===- IndexMap.h - maps from one index space to another --------*- C++ -*-===//
//
// Layouts and iterators are transformed by maps such as `(k, j) -> (j floordiv
// 32, k, j mod 32)`. An injective map splits its inputs into digits and puts
// each digit into one output, which makes it invertible.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_INDEXMAP_H
#define PERPEND_TILE_SCHEDULE_INDEXMAP_H

#include "tile/ir/IndexExpressions.h"

namespace perpend::tile {

class IndexMap {
public:
  /// Operators: + - * floordiv mod, and the functions of SymbolicInt. Names that are not inputs are symbols of the
  /// model.
  static std::optional<IndexMap> parse(llvm::StringRef text, std::string &why);
  /// A map with these outputs, in which the symbol "%k" stands for the k-th input.
  static IndexMap of(unsigned inputCount, llvm::ArrayRef<SymbolicInt> outputs);
  std::string str() const;

  unsigned inputCount() const { return inputs.size(); }
  llvm::ArrayRef<std::string> inputNames() const { return inputs; }
  /// Substitutes the inputs; returns the outputs.
  Shape apply(llvm::ArrayRef<SymbolicInt> point) const;
  /// The outputs, with the k-th input as the symbol "%k".
  const Shape &expressions() const { return outputs; }

private:
  llvm::SmallVector<std::string> inputs;
  Shape outputs;
};

/// An injective map on points whose inputs lie in [0, extent).
struct Renumbering {
  /// The extent of each output: 0 <= output < extent.
  Shape extents;
  /// For each output, the inputs of which it contains a digit.
  llvm::SmallVector<llvm::SmallVector<unsigned>> sources;
  /// For each input, whether some results correspond to values beyond its extent.
  llvm::SmallVector<bool> isPadded;

  /// The inverse: the inputs as expressions of the outputs.
  Shape invert(llvm::ArrayRef<SymbolicInt> outputs) const;

  /// nullopt, with a reason, if the map cannot be shown to be injective.
  static std::optional<Renumbering> of(const IndexMap &map, llvm::ArrayRef<SymbolicInt> extents, std::string &why);

private:
  /// The digit floordiv(input, divisor) mod extent, multiplied by `stride` in the output.
  struct Digit {
    unsigned input = 0, output = 0;
    SymbolicInt divisor, extent, stride;
    bool isTop = false;
  };
  static std::optional<Digit> digitOf(const support::SymbolicTerm &term);
  bool collect(llvm::ArrayRef<SymbolicInt> outputs, std::string &why);
  bool orderInput(unsigned input, const SymbolicInt &extent, std::string &why);
  bool orderOutput(unsigned output, std::string &why);

  llvm::SmallVector<Digit> digits;
};
} // namespace perpend::tile

#endif
