//===- ArrayFiles.h - arrays, texts and lists as files -----------*- C++ -*-===//

#ifndef PERPEND_CLI_ARRAYFILES_H
#define PERPEND_CLI_ARRAYFILES_H

#include "arrays/Array.h"
#include "cli/Options.h"

namespace perpend::cli {
using arrays::Array;
using arrays::shortText;
using arrays::typeText;

/// An array from a .npy file, or a sequence from a folder with 0.npy, 1.npy and so on (or folders of these names).
/// Errors: nullopt, printed.
std::optional<Array> readArray(StringRef path);
/// What a file cannot say: types that numpy lacks, and that a folder is an optional value; also in lists. `name` is the
/// input's. False: it is no list, or it is one and should not be; printed.
bool adaptTo(Array &array, const perpend_tensor_info &info, StringRef name);
/// DIRECTORY/NAME.npy, or the folder DIRECTORY/NAME for a list, with '/' in names replaced, and dots that would name
/// another folder. What an earlier list has left there is deleted. False: printed.
bool writeArray(StringRef directory, StringRef name, const Array &array);
} // namespace perpend::cli

#endif
