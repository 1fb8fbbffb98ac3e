//===- Schedules.cpp - Python bindings of schedules -----------------------===//
//
// The table of primitives and Scheduler as Python objects.
// python/perpend/schedule.py adds a method for each primitive.
//
//===----------------------------------------------------------------------===//

#include "python/Schedules.h"
#include "python/OptionValues.h"
#include "python/Scheduler.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;

namespace perpend::python {
namespace {
struct ScheduleError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
} // namespace

/// Releases the interpreter lock while it waits.
static std::unique_lock<std::recursive_mutex> lockOf(const Scheduler &scheduler) {
  nb::gil_scoped_release unlocked;
  return scheduler.of().lock();
}

static std::unique_ptr<Scheduler> openKernel(Program &program, const std::string &kernel, const std::string &target,
                                             bool isPacked, const std::string &intrinsics) {
  std::string error;
  std::unique_ptr<Scheduler> scheduler;
  {
    nb::gil_scoped_release unlocked;
    auto lock = program.lock();
    scheduler = Scheduler::open(program, kernel, target, isPacked, intrinsics, error);
  }
  if (!scheduler)
    throwCompileError(error);
  return scheduler;
}

static Scheduler::Results apply(Scheduler &scheduler, const std::string &primitive,
                                const std::vector<std::string> &operands) {
  auto lock = lockOf(scheduler);
  std::string error;
  std::optional<Scheduler::Results> results = scheduler.apply(primitive, operands, error);
  if (!results)
    throw ScheduleError(error);
  return *results;
}

static void replay(Scheduler &scheduler, const std::string &trace) {
  auto lock = lockOf(scheduler);
  std::string error;
  if (!scheduler.replay(trace, error))
    throw ScheduleError(error);
}

static Report compile(const Scheduler &scheduler, const std::string &path, nb::dict values) {
  OptionValues options = optionValuesOf(values);
  Report report;
  std::string error;
  auto lock = lockOf(scheduler);
  bool isDone;
  {
    nb::gil_scoped_release unlocked;
    isDone = scheduler.compile(options, path, report, error);
  }
  if (!isDone)
    throwCompileError(error);
  return report;
}

template <std::string (Scheduler::*text)() const> static std::string textOf(const Scheduler &scheduler) {
  auto lock = lockOf(scheduler);
  return (scheduler.*text)();
}

void bindSchedules(nb::module_ &module) {
  nb::exception<ScheduleError>(module, "ScheduleError", PyExc_ValueError);
  nb::class_<OperandDescription>(module, "OperandDescription", "An operand of a primitive.")
      .def_ro("name", &OperandDescription::name)
      .def_ro("kind", &OperandDescription::kind)
      .def_ro("is_optional", &OperandDescription::isOptional)
      .def_ro("is_list", &OperandDescription::isList);
  nb::class_<PrimitiveDescription>(module, "PrimitiveDescription", "A primitive of schedules.")
      .def_ro("name", &PrimitiveDescription::name)
      .def_ro("results", &PrimitiveDescription::results)
      .def_ro("operands", &PrimitiveDescription::operands)
      .def_ro("sentence", &PrimitiveDescription::sentence);
  module.def("primitives", &describePrimitives);
  module.def("quoted", &quoted, "text"_a);
  nb::class_<Scheduler>(module, "Scheduler", "A kernel while it is scheduled.")
      .def_static("open", &openKernel, "program"_a, "kernel"_a, "target"_a, "packed"_a, "intrinsics"_a,
                  nb::keep_alive<0, 1>())
      .def("apply", &apply, "primitive"_a, "operands"_a)
      .def("replay", &replay, "trace"_a)
      .def("compile", &compile, "path"_a, "options"_a)
      .def_prop_ro("kernel", &textOf<&Scheduler::kernelName>)
      .def_prop_ro("mod", &textOf<&Scheduler::text>)
      .def_prop_ro("trace", &textOf<&Scheduler::trace>)
      .def_prop_ro("schedule", &textOf<&Scheduler::schedule>);
}
} // namespace perpend::python
