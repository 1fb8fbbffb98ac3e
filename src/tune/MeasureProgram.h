//===- MeasureProgram.h - runs and times candidates -------------*- C++ -*-===//

#ifndef PERPEND_TUNE_MEASUREPROGRAM_H
#define PERPEND_TUNE_MEASUREPROGRAM_H

namespace perpend::tune {

/// Memory limit of a process that compiles or runs a candidate.
inline constexpr int mostGiB = 16;

/// PARENT INPUTS OUTPUTS THREADS PLACEMENT OTHERS CANDIDATE [BEST]: runs the library CANDIDATE on the tensors of the
/// file INPUTS, times it (against BEST, if given), and writes its outputs: those of the first run, followed by those of
/// the last run if they differ. Before each timed run it reads OTHERS bytes, like other kernels of the model, and then
/// the inputs, as if the previous kernel had just written them. Prints one line: "measured SECONDS SPREAD RATIO
/// BEST-SECONDS IS-FASTER", or "refused" with the reason. Exits with the process PARENT.
int measureMain(int argumentCount, char **arguments);

/// "models" PARENT INPUTS THREADS SECONDS PLAIN TUNED: runs two libraries of a model alternately, at least three times
/// each, and more while there is time. Prints "compared SECONDS SECONDS" with the times of a run, and a line "KERNEL
/// RATIO" for each kernel, its time in TUNED relative to PLAIN; or "refused" with the reason. Exits with the process
/// PARENT.
int compareMain(int argumentCount, char **arguments);
} // namespace perpend::tune

#endif
