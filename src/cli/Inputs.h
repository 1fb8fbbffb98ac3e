//===- Inputs.h - the arrays that a model is run on --------------*- C++ -*-===//

#ifndef PERPEND_CLI_INPUTS_H
#define PERPEND_CLI_INPUTS_H

#include "cli/ArrayFiles.h"
#include "cli/Module.h"

namespace perpend::cli {

/// Where the inputs of a model come from.
struct InputOptions {
  std::vector<std::string> files;   ///< "x.npy", or "name=x.npy" or a folder
  std::vector<std::string> symbols; ///< "n=3"
  int64_t seed = 0;

  void addTo(OptionList &options);
};

/// The arrays of a run, and what was made up because nobody said it.
struct Inputs {
  std::vector<Array> arrays;
  std::vector<std::string> random;  ///< names of inputs
  std::vector<std::string> assumed; ///< extents in them: "n=2"
  std::vector<std::string> drawn;   ///< integers and booleans, where they are few: "steps = 2"

  /// What the user can say instead, for a run that fails; empty when nothing was made up.
  std::string advice() const;
  /// A line with what was drawn, or nothing.
  std::string drawnText() const;
  /// A line with the type and shape of each, and what was drawn.
  void print(const perpend_model *model) const;
};

/// One array for each input of the model: from files, else random. A symbol has the value that --symbol says, else what
/// an array from a file says, else one that assumeExtents finds. Random counts and lengths are 1 or 2 where `source` is
/// no library, so that every loop runs. Errors: nullopt, printed.
std::optional<Inputs> makeInputs(perpend_model *model, const ModelSource &source, const InputOptions &options);
} // namespace perpend::cli

#endif
