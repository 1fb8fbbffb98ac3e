//===- Array.h - dense arrays, strings and lists ----------------*- C++ -*-===//

#ifndef PERPEND_ARRAYS_ARRAY_H
#define PERPEND_ARRAYS_ARRAY_H

#include "perpend.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <vector>

namespace perpend::arrays {

/// A dense row-major array, like perpend_tensor; copies share the bytes, whose owner also owns strings and lists.
struct Array {
  perpend_type type = PERPEND_F32;
  llvm::SmallVector<int64_t> shape;
  std::shared_ptr<std::byte> bytes;

  /// Allocates zeros. Null bytes: an invalid size, or out of memory.
  static Array allocate(perpend_type type, llvm::ArrayRef<int64_t> shape);
  static Array copyOf(const perpend_tensor &tensor);
  static Array ofTexts(llvm::ArrayRef<int64_t> shape, std::vector<std::string> texts);
  /// A list, or an optional value.
  static Array ofList(perpend_type type, std::vector<Array> elements);

  int64_t elementCount() const;
  int64_t sizeBytes() const { return elementCount() * perpend_type_size_bytes(type); }
  bool isFloat() const { return type <= PERPEND_BF16 || type >= PERPEND_F8E4M3FN; }
  /// Element i; large 64-bit integers are rounded.
  double at(int64_t i) const;
  perpend_tensor view() const;

  bool isTexts() const { return type == PERPEND_STRING; }
  bool isList() const { return type == PERPEND_SEQUENCE || type == PERPEND_OPTIONAL; }
  llvm::StringRef text(int64_t i) const;
  llvm::ArrayRef<perpend_tensor> elements() const;
};

/// For example "f32 [3, 10]".
std::string typeText(perpend_type type, llvm::ArrayRef<int64_t> shape);
/// The same; for a list with its number of elements.
std::string typeText(const Array &array);
/// Prints five digits.
std::string shortText(double value);
/// One line: type, shape, extremes, mean, NaNs and the first values.
std::string summarize(llvm::StringRef name, const Array &array);
} // namespace perpend::arrays

#endif
