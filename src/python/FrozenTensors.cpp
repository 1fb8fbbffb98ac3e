//===- FrozenTensors.cpp - detects changes of frozen weights --------------===//

#include "python/FrozenTensors.h"

#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace perpend::python {

/// An integer attribute, or a method's result. None if it raises an error, as for counters that a tensor does not have.
template <typename Get> static std::optional<int64_t> integerOf(const Get &get) {
  nb::object value = nb::steal(get());
  int64_t number = value.is_valid() ? PyLong_AsLongLong(value.ptr()) : -1;
  if (!PyErr_Occurred())
    return number;
  PyErr_Clear();
  return std::nullopt;
}

static std::optional<int64_t> callOf(nb::handle object, PyObject *method) {
  PyObject *arguments[] = {nullptr, object.ptr()};
  return integerOf(
      [&] { return PyObject_VectorcallMethod(method, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr); });
}

static std::optional<int64_t> versionOf(nb::handle tensor) {
  static PyObject *const name = PyUnicode_InternFromString("_version");
  return integerOf([&] { return PyObject_GetAttr(tensor.ptr(), name); });
}

std::optional<FrozenTensors::State> FrozenTensors::stateOf(nb::handle tensor, nb::handle storage, bool isCounted) {
  static PyObject *const dataPointer = PyUnicode_InternFromString("data_ptr");
  static PyObject *const sizeBytes = PyUnicode_InternFromString("nbytes");
  std::optional<int64_t> version = isCounted ? versionOf(tensor) : -1;
  std::optional<int64_t> address = callOf(tensor, dataPointer), bytes = callOf(storage, sizeBytes);
  if (!version || !address || !bytes)
    return std::nullopt;
  return State{*address, *version, *bytes};
}

/// Calls that reuse a sample: one that the previous call read is still cached.
static constexpr uint64_t callsOfSample = 16;

/// Bytes from the first element to the last.
static int64_t spanBytes(nb::handle tensor) {
  int64_t span = 1;
  nb::object shape = tensor.attr("shape"), strides = tensor.attr("stride")();
  for (size_t i = 0; i < nb::len(shape); ++i) {
    int64_t extent = nb::cast<int64_t>(shape[i]);
    if (extent == 0)
      return 0;
    span += (extent - 1) * nb::cast<int64_t>(strides[i]);
  }
  return span * nb::cast<int64_t>(tensor.attr("element_size")());
}

FrozenTensors::FrozenTensors(nb::sequence objects, std::vector<size_t> positions) {
  std::vector<MemoryRange> ranges;
  for (size_t i = 0; i < positions.size(); ++i) {
    nb::object object = objects[i], storage = object.attr("untyped_storage")();
    std::optional<State> state = stateOf(object, storage, versionOf(object).has_value());
    if (!state)
      throw nb::type_error("expected dense tensors on the CPU");
    MemoryRange memory = {static_cast<intptr_t>(state->address), spanBytes(object)};
    tensors.push_back({object, storage, positions[i], *state, memory, {}, 0});
    ranges.push_back(memory);
  }
  std::vector<uint64_t> hashes;
  {
    nb::gil_scoped_release unlocked;
    for (Tensor &tensor : tensors)
      for (int64_t number = 0; number < sampleCount(tensor.memory); ++number)
        tensor.samples.push_back(sampleHash(tensor.memory, number));
    hashes = contentHashes(ranges);
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i].hash = hashes[i];
}

std::vector<size_t> FrozenTensors::changes(nb::tuple inputs, bool isThorough) const {
  std::vector<size_t> changed;
  std::vector<const Tensor *> read;
  std::vector<MemoryRange> ranges;
  uint64_t turn = calls++ / callsOfSample;
  for (const Tensor &tensor : tensors) {
    uint64_t number = turn % tensor.samples.size();
    bool isCounted = tensor.state.version >= 0;
    if (tensor.position >= inputs.size() || !inputs[tensor.position].is(tensor.object) ||
        stateOf(tensor.object, tensor.storage, isCounted) != tensor.state) {
      changed.push_back(tensor.position);
    } else if (isThorough || !isCounted) {
      read.push_back(&tensor);
      ranges.push_back(tensor.memory);
    } else if (sampleHash(tensor.memory, number) != tensor.samples[number]) {
      changed.push_back(tensor.position);
    }
  }
  if (read.empty())
    return changed;
  std::vector<uint64_t> hashes;
  {
    nb::gil_scoped_release unlocked;
    hashes = contentHashes(ranges);
  }
  for (size_t i = 0; i < read.size(); ++i)
    if (hashes[i] != read[i]->hash)
      changed.push_back(read[i]->position);
  return changed;
}

nb::tuple FrozenTensors::states() const {
  nb::list list;
  for (const Tensor &tensor : tensors)
    list.append(nb::make_tuple(reinterpret_cast<intptr_t>(tensor.object.ptr()), tensor.state.address,
                               tensor.state.version, tensor.hash));
  return nb::tuple(list);
}

//===----------------------------------------------------------------------===//
// Python's garbage collection: a tensor may refer to the model that keeps it
//===----------------------------------------------------------------------===//

int FrozenTensors::traverse(visitproc visit, void *arg) const {
  for (const Tensor &tensor : tensors) {
    Py_VISIT(tensor.object.ptr());
    Py_VISIT(tensor.storage.ptr());
  }
  return 0;
}

static int traverseFrozen(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<FrozenTensors>(self)->traverse(visit, arg) : 0;
}

static int clearFrozen(PyObject *self) {
  nb::inst_ptr<FrozenTensors>(self)->clear();
  return 0;
}

void bindFrozenTensors(nb::module_ &module) {
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverseFrozen)},
                                {Py_tp_clear, reinterpret_cast<void *>(clearFrozen)},
                                {0, nullptr}};
  nb::class_<FrozenTensors>(module, "FrozenTensors", "Whether the weights of a model are what they were.",
                            nb::type_slots(slots))
      .def(nb::init<nb::sequence, std::vector<size_t>>(), "tensors"_a, "positions"_a)
      .def("changes", &FrozenTensors::changes, "inputs"_a, "thorough"_a)
      .def_prop_ro("states", &FrozenTensors::states);
}
} // namespace perpend::python
