//===- Inputs.h - input arrays of a run -------------------------*- C++ -*-===//

#ifndef PERPEND_CLI_INPUTS_H
#define PERPEND_CLI_INPUTS_H

#include "cli/ArrayFiles.h"
#include "cli/Module.h"

namespace perpend::cli {

/// The sources of a model's inputs.
struct InputOptions {
  std::vector<std::string> files;   ///< "x.npy", or "name=x.npy" or a folder
  std::vector<std::string> symbols; ///< "n=3"
  int64_t seed = 0;

  void addTo(OptionList &options);
};

/// The arrays of a run, and the names of those that were invented.
struct Inputs {
  std::vector<Array> arrays;
  std::vector<std::string> random;  ///< names of random inputs
  std::vector<std::string> assumed; ///< extents in them: "n=2"
  std::vector<std::string> drawn;   ///< integers and booleans, where they are few: "steps = 2"

  /// How the user can give the values instead, for a failed run; empty if nothing was invented.
  std::string advice() const;
  /// A line about the random values, or nothing.
  std::string drawnText() const;
  /// Prints a line with the type and shape of each input, and the random values.
  void print(const perpend_model *model) const;
};

/// One array for each input of the model: from files, otherwise random. The value of a symbol comes from --symbol,
/// otherwise from an array in a file, otherwise from assumeExtents. Random counts and lengths are 1 or 2 unless
/// `source` is a library, so that every loop runs. Errors: nullopt, printed.
std::optional<Inputs> makeInputs(perpend_model *model, const ModelSource &source, const InputOptions &options);
} // namespace perpend::cli

#endif
