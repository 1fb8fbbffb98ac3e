//===- Arrays.h - the inputs and outputs of commands -------------*- C++ -*-===//

#ifndef PERPEND_CLI_ARRAYS_H
#define PERPEND_CLI_ARRAYS_H

#include "cli/Options.h"

#include "perpend.h"

#include <memory>

namespace perpend::cli {

/// A dense row-major array, as perpend_tensor; copies share the bytes. Texts and lists are owned by the bytes' owner.
struct Array {
  perpend_type type = PERPEND_F32;
  llvm::SmallVector<int64_t> shape;
  std::shared_ptr<std::byte> bytes;

  /// Zeros. Null bytes: the size makes no sense or there is no memory.
  static Array allocate(perpend_type type, ArrayRef<int64_t> shape);
  static Array copyOf(const perpend_tensor &tensor);
  static Array ofTexts(ArrayRef<int64_t> shape, std::vector<std::string> texts);
  /// A sequence, or an optional value.
  static Array ofList(perpend_type type, std::vector<Array> elements);

  int64_t elementCount() const;
  int64_t sizeBytes() const { return elementCount() * perpend_type_size_bytes(type); }
  bool isFloat() const { return type <= PERPEND_BF16 || type >= PERPEND_F8E4M3FN; }
  /// Element i; large 64-bit integers are rounded.
  double at(int64_t i) const;
  perpend_tensor view() const;

  bool isTexts() const { return type == PERPEND_STRING; }
  bool isList() const { return type == PERPEND_SEQUENCE || type == PERPEND_OPTIONAL; }
  StringRef text(int64_t i) const;
  ArrayRef<perpend_tensor> elements() const;
};

/// "f32 [3, 10]"
std::string typeText(perpend_type type, ArrayRef<int64_t> shape);
/// The same, with the number of elements of a list.
std::string typeText(const Array &array);
/// Five digits.
std::string shortText(double value);
/// One line: type, shape, extremes, mean, NaNs and the first values.
std::string summarize(StringRef name, const Array &array);

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
