//===- Values.h - converts strings, lists and optional values ---*- C++ -*-===//
//
// Strings are str, in arrays of objects or of numpy's str type; a list is a
// Python list of arrays; an optional value is None or the value.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_VALUES_H
#define PERPEND_PYTHON_VALUES_H

#include "python/Arrays.h"
#include "runtime/Types.h"

#include <memory>

namespace perpend::python {

using runtime::isHandle;

/// An input for the duration of a call, in the form of perpend.h.
class InputValue {
public:
  InputValue() = default;
  InputValue(const InputValue &) = delete;
  InputValue &operator=(const InputValue &) = delete;

  /// Errors: nb::type_error naming `what`.
  void read(nanobind::handle object, const char *what, const perpend_tensor_info &info);
  const perpend_tensor &tensor() const { return view; }
  /// The class of an array of numbers; null for numpy, strings and lists.
  const ExchangeApi *api() const { return array.api; }

private:
  void readTexts(nanobind::handle object, const char *what);
  void readList(nanobind::handle object, const char *what, const perpend_tensor_info &info);
  void readElement(nanobind::handle object, const char *what, const perpend_tensor_info &info);

  perpend_tensor view = {};
  InputArray array;
  std::vector<int64_t> shape;
  std::vector<perpend_string> texts;
  std::vector<std::unique_ptr<InputValue>> elements;
  std::vector<perpend_tensor> elementViews;
  perpend_sequence sequence = {};
  nanobind::object keeper;
};

/// Converts an output to a new Python object.
nanobind::object valueOf(const ExchangeApi *api, const perpend_tensor &output);
} // namespace perpend::python

#endif
