//===- ArrayFiles.h - arrays, strings and lists as files --------*- C++ -*-===//

#ifndef PERPEND_CLI_ARRAYFILES_H
#define PERPEND_CLI_ARRAYFILES_H

#include "arrays/Array.h"
#include "cli/Options.h"

namespace perpend::cli {
using arrays::Array;
using arrays::shortText;
using arrays::typeText;

/// Reads an array from a .npy file, or a sequence from a folder with 0.npy, 1.npy and so on (or folders of these
/// names). Errors: nullopt, printed.
std::optional<Array> readArray(StringRef path);
/// Completes what a file cannot express: types that numpy lacks, and that a folder is an optional value; also inside
/// lists. `name` is the input's. False, printed: it is a list where none is expected, or vice versa.
bool adaptTo(Array &array, const perpend_tensor_info &info, StringRef name);
/// Writes DIRECTORY/NAME.npy, or the folder DIRECTORY/NAME for a list. Replaces '/' in names, and dots that would name
/// another folder. Deletes what an earlier list has left there. False: printed.
bool writeArray(StringRef directory, StringRef name, const Array &array);
} // namespace perpend::cli

#endif
