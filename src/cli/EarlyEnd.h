//===- EarlyEnd.h - ends of the tool that leave nothing behind ---*- C++ -*-===//

#ifndef PERPEND_CLI_EARLYEND_H
#define PERPEND_CLI_EARLYEND_H

#include "cli/Options.h"

namespace perpend::cli {
/// From now on, temporary folders and unfinished files are removed when the program is interrupted or terminated.
void cleanUpOnSignals();

/// Limits of what the rest of the program may use; 0 is none. Beyond them it ends with an error.
struct Limits {
  int64_t seconds = 0;
  int64_t megabytes = 0; ///< of memory that it allocates; mapped model files do not count

  void addTo(OptionList &list);
  /// False: printed.
  bool apply() const;
};
} // namespace perpend::cli

#endif
