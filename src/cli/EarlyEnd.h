//===- EarlyEnd.h - cleans up when the tool is interrupted ------*- C++ -*-===//

#ifndef PERPEND_CLI_EARLYEND_H
#define PERPEND_CLI_EARLYEND_H

#include "cli/Options.h"

namespace perpend::cli {
/// From now on, an interruption or termination removes temporary folders and unfinished files.
void cleanUpOnSignals();

/// Resource limits for the rest of the program; 0: none. Exceeding one ends the program with an error.
struct Limits {
  int64_t seconds = 0;
  int64_t megabytes = 0; ///< allocated memory, without mapped model files

  void addTo(OptionList &list);
  /// False: printed.
  bool apply() const;
};

/// After a crash: ends the program with the error of Limits::megabytes if hardly any memory was left. MLIR does not
/// check every allocation, such as those of operations, so it crashes there where memory ends.
void endIfOutOfMemory();
} // namespace perpend::cli

#endif
