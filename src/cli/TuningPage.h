//===- TuningPage.h - a tuning run as a page --------------------*- C++ -*-===//

#ifndef PERPEND_CLI_TUNINGPAGE_H
#define PERPEND_CLI_TUNINGPAGE_H

#include "cli/Options.h"
#include "tune/Log.h"

namespace perpend::cli {

/// Prints a self-contained page: the model's time so far, and for each kernel the candidates, the best so far, the
/// changes that made it so, and why others were rejected. `facts` are paragraphs.
void printTuningPage(StringRef title, ArrayRef<std::string> facts, ArrayRef<tune::Job> kernels, const tune::Log &log,
                     llvm::raw_ostream &out);
} // namespace perpend::cli

#endif
