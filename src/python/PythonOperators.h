//===- PythonOperators.h - operators that are Python functions --*- C++ -*-===//
//
// Models call these operators by the library function host.call (runtime/library/HostCall.cpp). Its parameters
// identify the process, a C function of this file, and the operator, by its index in the table of perpend.operators.
// That table holds weak references.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_PYTHONOPERATORS_H
#define PERPEND_PYTHON_PYTHONOPERATORS_H

#include <nanobind/nanobind.h>

#include <optional>

namespace perpend::python {

/// Records what a kernel raises during the run that this thread makes while the object lives. Runs can nest, because a
/// kernel may run a model.
class KernelErrors {
public:
  KernelErrors();
  KernelErrors(const KernelErrors &) = delete;
  KernelErrors &operator=(const KernelErrors &) = delete;
  ~KernelErrors();

  /// Throws for a failed run: the kernel's own exception if it is no Exception (KeyboardInterrupt, SystemExit),
  /// otherwise an exception of that kind with the kernel's as its cause.
  [[noreturn]] void fail(nanobind::handle kind, const char *message);
  static void note(nanobind::python_error error);

private:
  KernelErrors *outer;
  std::optional<nanobind::python_error> raised;
};

/// The parameters of host.call for the operator with this number.
nanobind::dict hostParameters(int64_t number);
} // namespace perpend::python

#endif
