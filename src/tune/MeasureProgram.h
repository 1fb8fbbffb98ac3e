//===- MeasureProgram.h - a program that runs and times candidates -*- C++ -*-===//

#ifndef PERPEND_TUNE_MEASUREPROGRAM_H
#define PERPEND_TUNE_MEASUREPROGRAM_H

namespace perpend::tune {

/// Of memory, for a process that compiles or runs a candidate.
inline constexpr int mostGiB = 16;

/// PARENT INPUTS OUTPUTS THREADS PLACEMENT OTHERS CANDIDATE [BEST]: runs the library CANDIDATE on the tensors of the
/// file INPUTS, times it, against BEST if it is given, and writes its outputs: those of the first run, and behind them
/// those of the last one if they are others. Before each run that is timed it reads OTHERS bytes, as other kernels of
/// the model do, and then the inputs, which the kernel before has just written. Prints one line: "measured SECONDS
/// SPREAD RATIO BEST-SECONDS IS-FASTER", or "refused" with the reason. Ends with the process PARENT.
int measureMain(int argumentCount, char **arguments);

/// "models" PARENT INPUTS THREADS SECONDS PLAIN TUNED: runs two libraries of a model in turns, three each at least, and
/// more while there is time. Prints "compared SECONDS
/// SECONDS" with the times of a run, and a line "KERNEL RATIO" for each kernel, its time in TUNED as a part of that in
/// PLAIN; or "refused" with the reason. Ends with the process PARENT.
int compareMain(int argumentCount, char **arguments);
} // namespace perpend::tune

#endif
