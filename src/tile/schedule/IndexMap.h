//===- IndexMap.h - one numbering of points as another ----------*- C++ -*-===//
//
// `(k, j) -> (j floordiv 32, k, j mod 32)`: what layouts and iterators are
// transformed by. A map that loses no point takes its inputs apart into digits
// and puts each digit into one output, so that its inverse is known.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_INDEXMAP_H
#define PERPEND_TILE_SCHEDULE_INDEXMAP_H

#include "tile/IndexExpressions.h"

namespace perpend::tile {

class IndexMap {
public:
  /// Operators: + - * floordiv mod, and what SymbolicInt reads. Names that are no inputs are symbols of the model.
  static std::optional<IndexMap> parse(llvm::StringRef text, std::string &why);
  /// From results over the symbols "%k".
  static IndexMap of(unsigned inputCount, llvm::ArrayRef<SymbolicInt> outputs);
  std::string str() const;

  unsigned inputCount() const { return inputs.size(); }
  llvm::ArrayRef<std::string> inputNames() const { return inputs; }
  /// The outputs, as expressions of other inputs.
  Shape apply(llvm::ArrayRef<SymbolicInt> point) const;
  /// The outputs, with the k-th input as the symbol "%k".
  const Shape &expressions() const { return outputs; }

private:
  llvm::SmallVector<std::string> inputs;
  Shape outputs;
};

/// A map on points in [0, extent) of each input, that gives different results for different points.
struct Renumbering {
  /// Of each output: 0 <= output < extent.
  Shape extents;
  /// The inputs that each output has a digit of.
  llvm::SmallVector<llvm::SmallVector<unsigned>> sources;
  /// Of each input, whether some results come from a value of it beyond its extent.
  llvm::SmallVector<bool> isPadded;

  /// The inputs, as expressions of the outputs.
  Shape invert(llvm::ArrayRef<SymbolicInt> outputs) const;

  /// Errors: nullopt, where the map is not known to be one.
  static std::optional<Renumbering> of(const IndexMap &map, llvm::ArrayRef<SymbolicInt> extents, std::string &why);

private:
  /// floordiv(input, divisor) mod extent, which is multiplied by stride in the output.
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
