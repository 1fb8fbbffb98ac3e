//===- DimensionOptions.h - what the user says of dimensions ----*- C++ -*-===//

#ifndef PERPEND_SUPPORT_DIMENSIONOPTIONS_H
#define PERPEND_SUPPORT_DIMENSIONOPTIONS_H

#include "support/SymbolicInt.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace perpend::support {

/// `subject`: the name of a symbolic dimension, or `input:dimension`. `value`: its number, or another symbol's name.
struct DimensionOption {
  std::string subject, value;
};

/// Applies options to the dimensions of inputs, and finds those that match none.
class DimensionOptions {
public:
  explicit DimensionOptions(llvm::ArrayRef<DimensionOption> options) : options(options), used(options.size(), false) {}

  /// The extent that options give to a dimension; nullopt without an error if there is none.
  std::optional<SymbolicInt> apply(llvm::StringRef subject, std::string &error);
  /// An error message if an option has matched no dimension; otherwise empty.
  std::string unused() const;

private:
  llvm::ArrayRef<DimensionOption> options;
  std::vector<bool> used;
  /// The names that options may use.
  std::vector<std::string> subjects;
};
} // namespace perpend::support

#endif
