//===- Model.cpp - running compiled models from Python --------------------===//
//
// A call reads the arrays, asks for the outputs' shapes if the inputs' shapes
// are new, allocates the outputs, and runs without the interpreter lock. Outputs
// whose shapes depend on data are copied from the session's memory afterwards.
//
//===----------------------------------------------------------------------===//

#include "python/Model.h"

#include <algorithm>

namespace nb = nanobind;

namespace perpend::python {

static void check(perpend_status status) {
  if (status == PERPEND_OK)
    return;
  PyObject *kind = status == PERPEND_NOT_FOUND        ? PyExc_FileNotFoundError
                   : status == PERPEND_TYPE_MISMATCH  ? PyExc_TypeError
                   : status == PERPEND_OUT_OF_MEMORY  ? PyExc_MemoryError
                   : status <= PERPEND_SHAPE_MISMATCH ? PyExc_ValueError
                   : status == PERPEND_INVALID_DATA   ? PyExc_ValueError
                                                      : PyExc_RuntimeError;
  PyErr_SetString(kind, perpend_error_message());
  throw nb::python_error();
}

Model::Model(const std::string &path, int threads) : file(path), threadLimit(threads) {
  perpend_status status;
  {
    nb::gil_scoped_release unlocked;
    status = perpend_model_load(path.c_str(), &model);
  }
  check(status);
  try {
    release(acquire()); // reports a wrong number of threads now
  } catch (...) {
    perpend_model_free(model);
    throw;
  }
}

Model::~Model() {
  idle.clear();
  perpend_model_free(model);
}

std::vector<const perpend_tensor_info *> Model::inputs() const {
  std::vector<const perpend_tensor_info *> list;
  for (int32_t i = 0; i < perpend_model_input_count(model); ++i)
    list.push_back(perpend_model_input(model, i));
  return list;
}

std::vector<const perpend_tensor_info *> Model::outputs() const {
  std::vector<const perpend_tensor_info *> list;
  for (int32_t i = 0; i < perpend_model_output_count(model); ++i)
    list.push_back(perpend_model_output(model, i));
  return list;
}

/// The interpreter lock guards the list.
std::unique_ptr<Session> Model::acquire() {
  if (!idle.empty()) {
    std::unique_ptr<Session> session = std::move(idle.back());
    idle.pop_back();
    return session;
  }
  perpend_session_options options = {threadLimit};
  perpend_session *created = nullptr;
  check(perpend_session_create(model, &options, &created));
  return std::make_unique<Session>(created);
}

void Model::release(std::unique_ptr<Session> session) { idle.push_back(std::move(session)); }

void Model::order(nb::args &positional, nb::kwargs &named, std::vector<nb::handle> &ordered) const {
  size_t count = perpend_model_input_count(model);
  std::string what = "model '" + name() + "': ";
  if (positional.size() > count)
    throw nb::type_error(
        (what + "expected " + std::to_string(count) + " inputs, got " + std::to_string(positional.size())).c_str());
  ordered.assign(count, nb::handle());
  std::copy(positional.begin(), positional.end(), ordered.begin());
  for (auto [key, value] : named) {
    int32_t index = 0;
    check(perpend_model_find_input(model, nb::cast<std::string>(key).c_str(), &index));
    if (ordered[index].is_valid())
      throw nb::type_error((what + "input '" + nb::cast<std::string>(key) + "' is given twice").c_str());
    ordered[index] = value;
  }
  for (size_t i = 0; i < count; ++i)
    if (!ordered[i].is_valid())
      throw nb::type_error((what + "input '" + perpend_model_input(model, i)->name + "' is missing").c_str());
}

/// Everything of one call that stays in place: at most this many inputs and outputs need no allocation.
struct Model::Call {
  static constexpr size_t fewTensors = 8;

  explicit Call(size_t inputCount) {
    if (inputCount > fewTensors)
      many = std::make_unique<InputArray[]>(inputCount);
  }
  InputArray &input(size_t i) { return many ? many[i] : few[i]; }
  void addInput(const perpend_tensor &tensor) {
    inputs.push_back(tensor);
    extents.push_back(tensor.rank);
    extents.push_back(tensor.type);
    extents.insert(extents.end(), tensor.shape, tensor.shape + tensor.rank);
  }

  InputArray few[fewTensors];
  std::unique_ptr<InputArray[]> many;
  std::vector<perpend_tensor> inputs, outputs;
  std::vector<OutputArray> arrays;
  std::vector<std::unique_ptr<InputValue>> values; ///< texts and lists
  std::vector<int64_t> extents;
  const ExchangeApi *api = nullptr;
};

/// Remembers the shapes of the outputs for these inputs.
static void findOutputShapes(Session &session, perpend_model *model, const std::vector<perpend_tensor> &inputs,
                             const std::vector<int64_t> &extents) {
  session.isKnown = false;
  session.outputExtents.clear();
  session.isFromData.clear();
  for (int32_t i = 0; i < perpend_model_output_count(model); ++i) {
    size_t first = session.outputExtents.size();
    session.outputExtents.resize(first + perpend_model_output(model, i)->rank + 1); // never an empty range
    perpend_status status = perpend_session_output_shape(
        session.session, inputs.data(), static_cast<int32_t>(inputs.size()), i, session.outputExtents.data() + first);
    session.isFromData.push_back(status == PERPEND_SHAPE_UNKNOWN);
    if (status != PERPEND_SHAPE_UNKNOWN)
      check(status);
    session.outputExtents.pop_back();
  }
  session.inputExtents = extents;
  session.isKnown = true;
}

void Model::readInputs(Call &call, nb::args &positional, nb::kwargs &named) const {
  std::vector<nb::handle> ordered;
  order(positional, named, ordered);
  for (size_t i = 0; i < ordered.size(); ++i) {
    const perpend_tensor_info &info = *perpend_model_input(model, static_cast<int32_t>(i));
    if (isHandle(info.type)) {
      call.values.push_back(std::make_unique<InputValue>());
      call.values.back()->read(ordered[i], info.name, info);
      call.addInput(call.values.back()->tensor());
      continue;
    }
    InputArray &array = call.input(i);
    array.read(ordered[i], info.name, info.type);
    if ((info.type == PERPEND_I4 && array.type == PERPEND_I8) || (info.type == PERPEND_U4 && array.type == PERPEND_U8))
      array.type = info.type;
    call.api = call.api ? call.api : array.api;
    call.addInput(array.tensor());
  }
}

void Model::allocateOutputs(Call &call, const Session &session) const {
  const int64_t *shape = session.outputExtents.data();
  for (int32_t i = 0, count = perpend_model_output_count(model); i < count; ++i) {
    const perpend_tensor_info &info = *perpend_model_output(model, i);
    if (session.isFromData[i] || isHandle(info.type)) {
      call.outputs.push_back({nullptr, nullptr, info.rank, info.type}); // the session's memory
    } else {
      call.arrays.emplace_back(call.api, info.type, shape, info.rank);
      call.outputs.push_back({call.arrays.back().data, shape, info.rank, info.type});
    }
    shape += info.rank;
  }
}

void Model::presentAsMaps(size_t output, nb::list names) {
  if (labels.size() <= output)
    labels.resize(output + 1);
  labels[output] = names;
}

static nb::object mapsOf(nb::handle matrix, nb::handle labels) {
  nb::module_ builtins = nb::module_::import_("builtins");
  nb::list maps;
  for (nb::handle row : matrix.attr("tolist")())
    maps.append(builtins.attr("dict")(builtins.attr("zip")(labels, row)));
  return maps;
}

nb::object Model::run(Session &session, nb::args &positional, nb::kwargs &named) {
  Call call(perpend_model_input_count(model));
  readInputs(call, positional, named);
  if (!session.isKnown || session.inputExtents != call.extents)
    findOutputShapes(session, model, call.inputs, call.extents);
  allocateOutputs(call, session);
  perpend_status status;
  {
    nb::gil_scoped_release unlocked;
    status = perpend_session_run(session.session, call.inputs.data(), static_cast<int32_t>(call.inputs.size()),
                                 call.outputs.data(), static_cast<int32_t>(call.outputs.size()));
  }
  check(status);
  size_t count = call.outputs.size(), next = 0;
  auto take = [&](size_t i) {
    bool isSessions = session.isFromData[i] || isHandle(call.outputs[i].type);
    nb::object value = isSessions ? valueOf(call.api, call.outputs[i]) : call.arrays[next++].take();
    return i < labels.size() && labels[i].is_valid() ? mapsOf(value, labels[i]) : value;
  };
  if (count == 1)
    return take(0);
  nb::object results = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(results.ptr(), i, take(i).release().ptr());
  return results;
}

nb::object Model::call(nb::args positional, nb::kwargs named) {
  std::unique_ptr<Session> session = acquire();
  nb::object results;
  try {
    results = run(*session, positional, named);
  } catch (...) {
    release(std::move(session));
    throw;
  }
  release(std::move(session));
  return results;
}

Model::KernelTimes Model::profile(nb::args positional, nb::kwargs named) {
  std::unique_ptr<Session> session = acquire(); // not put back: it goes on measuring
  run(*session, positional, named);
  check(perpend_session_profile(session->session, 1));
  run(*session, positional, named);
  KernelTimes times;
  for (int32_t i = 0; i < perpend_model_kernel_count(model); ++i) {
    int64_t timeNs = 0, calls = 0;
    check(perpend_session_kernel_profile(session->session, i, &timeNs, &calls));
    times.emplace_back(perpend_model_kernel_name(model, i), timeNs, calls);
  }
  return times;
}
} // namespace perpend::python
