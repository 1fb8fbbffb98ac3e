//===- Accelerators.cpp - programs of accelerators in Python --------------===//

#include "python/Accelerators.h"
#include "target/Accelerator.h"
#include "target/Program.h"

#include "perpend_tables.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;

namespace perpend::python {
namespace {

/// Not thread-safe.
class AcceleratorProgram {
public:
  explicit AcceleratorProgram(const std::string &path) {
    llvm::Expected<std::unique_ptr<target::Program>> loaded = target::loadProgram(path);
    if (!loaded)
      throw std::runtime_error(llvm::toString(loaded.takeError()));
    program = std::move(*loaded);
  }

  /// JSON, see perpend_module.h.
  std::string descriptor() const {
    llvm::StringRef tables = program->tables();
    perpend_tables head;
    if (tables.size() < sizeof head)
      throw std::runtime_error("the program has no tables of a model");
    std::memcpy(&head, tables.data(), sizeof head);
    return tables.substr(head.descriptor).split('\0').first.str();
  }

  /// outputs: of each the bytes of an element and the shape, with any number where only a run knows. Returns pairs of
  /// bytes and shape.
  nb::list run(const std::vector<nb::bytes> &inputs,
               const std::vector<std::pair<unsigned, std::vector<int64_t>>> &outputs) {
    std::vector<llvm::ArrayRef<char>> values;
    for (const nb::bytes &input : inputs)
      values.emplace_back(input.c_str(), input.size());
    std::vector<target::ProgramOutput> results;
    for (const auto &[elementBytes, shape] : outputs)
      results.push_back({elementBytes, shape, {}});
    std::string problem;
    {
      nb::gil_scoped_release released;
      problem = llvm::toString(program->run(values, results));
    }
    if (!problem.empty())
      throw std::runtime_error(problem);
    nb::list list;
    for (const target::ProgramOutput &result : results)
      list.append(nb::make_tuple(nb::bytes(result.bytes.data(), result.bytes.size()), result.shape));
    return list;
  }

private:
  std::unique_ptr<target::Program> program;
};

/// ".so" for a processor.
std::string artifactEnding(const std::string &target) {
  auto targets = target::resolveTargets(target);
  if (!targets)
    return llvm::consumeError(targets.takeError()), ".so"; // the compiler says what is wrong
  const target::Accelerator *accelerator = target::acceleratorOf(targets->front().code);
  return accelerator ? accelerator->ending.str() : ".so";
}
} // namespace

void bindAccelerators(nb::module_ &m) {
  nb::class_<AcceleratorProgram>(m, "AcceleratorProgram")
      .def(nb::init<const std::string &>(), "path"_a)
      .def_prop_ro("descriptor", &AcceleratorProgram::descriptor)
      .def("run_bytes", &AcceleratorProgram::run, "inputs"_a, "outputs"_a);
  m.def("artifact_ending", &artifactEnding, "target"_a);
  m.def("is_program", [](const std::string &path) { return target::acceleratorOfFile(path) != nullptr; }, "path"_a);
}
} // namespace perpend::python
