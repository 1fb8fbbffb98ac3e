//===- PythonOperators.h - operators that are Python functions --*- C++ -*-===//
//
// A model calls them through host.call (runtime/library/HostCall.cpp), whose
// parameters name the process, a C function of this file, and the operator: its
// number in the table of perpend.operators, which holds it weakly.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_PYTHONOPERATORS_H
#define PERPEND_PYTHON_PYTHONOPERATORS_H

#include <nanobind/nanobind.h>

#include <optional>

namespace perpend::python {

/// What a kernel raises during the run that this thread makes while the object lives. Runs nest: a kernel may run a
/// model.
class KernelErrors {
public:
  KernelErrors();
  KernelErrors(const KernelErrors &) = delete;
  KernelErrors &operator=(const KernelErrors &) = delete;
  ~KernelErrors();

  /// Throws for a run that failed: what the kernel raised if that is no Exception (KeyboardInterrupt, SystemExit), else
  /// an exception of that kind, with what the kernel raised as its cause.
  [[noreturn]] void fail(nanobind::handle kind, const char *message);
  static void note(nanobind::python_error error);

private:
  KernelErrors *outer;
  std::optional<nanobind::python_error> raised;
};

/// The parameters of host.call that reach the operator of that number.
nanobind::dict hostParameters(int64_t number);
} // namespace perpend::python

#endif
