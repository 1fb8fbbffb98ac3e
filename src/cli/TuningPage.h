//===- TuningPage.h - a run of tuning as a page ------------------*- C++ -*-===//

#ifndef PERPEND_CLI_TUNINGPAGE_H
#define PERPEND_CLI_TUNINGPAGE_H

#include "cli/Options.h"
#include "tune/Log.h"

namespace perpend::cli {

/// A page that needs no other file: the model's time so far, and of each kernel the candidates, the best so far, what
/// made it so and why others were none. `facts` are paragraphs.
void printTuningPage(StringRef title, ArrayRef<std::string> facts, ArrayRef<tune::Job> kernels, const tune::Log &log,
                     llvm::raw_ostream &out);
} // namespace perpend::cli

#endif
