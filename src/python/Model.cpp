//===- Model.cpp - runs compiled models from Python -----------------------===//
//
// A call reads the arrays, queries the outputs' shapes if the inputs' shapes are new, allocates the outputs, and runs
// without the interpreter lock. Outputs with data-dependent shapes, strings and lists are copied from the session's
// memory afterwards.
//
//===----------------------------------------------------------------------===//

#include "python/Model.h"

#include "perpend_module.h"
#include "python/PythonOperators.h"
#include "runtime/Cores.h"
#include "support/ReadableText.h"

#include <algorithm>

namespace nb = nanobind;

namespace perpend::python {

static PyObject *kindOf(perpend_status status) {
  return status == PERPEND_NOT_FOUND        ? PyExc_FileNotFoundError
         : status == PERPEND_TYPE_MISMATCH  ? PyExc_TypeError
         : status == PERPEND_OUT_OF_MEMORY  ? PyExc_MemoryError
         : status <= PERPEND_SHAPE_MISMATCH ? PyExc_ValueError
         : status == PERPEND_INVALID_DATA   ? PyExc_ValueError
                                            : PyExc_RuntimeError;
}

/// This thread's last error, whose text may have been cut inside a character.
static std::string errorMessage() { return support::readable(perpend_error_message(), "\n\t"); }

static void check(perpend_status status) {
  if (status == PERPEND_OK)
    return;
  PyErr_SetString(kindOf(status), errorMessage().c_str());
  throw nb::python_error();
}

Model::Model(const std::string &path, int threads, const std::string &weights) : file(path), threadLimit(threads) {
  perpend_status status;
  {
    nb::gil_scoped_release unlocked;
    status = perpend_model_load_with_weights(path.c_str(), weights.empty() ? nullptr : weights.c_str(), &model);
  }
  check(status);
  checkSession();
}

Model::Model(const Model &other, const std::string &entry)
    : file(other.file), threadLimit(other.threadLimit), stream(other.stream) {
  check(perpend_model_entry(other.model, entry.c_str(), &model));
  checkSession();
}

Model::~Model() {
  idle.clear();
  perpend_model_free(model);
}

std::vector<std::string> Model::entries() const {
  std::vector<std::string> names;
  for (int32_t i = 0; i < perpend_model_entry_count(model); ++i)
    names.emplace_back(perpend_model_entry_name(model, i));
  return names;
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

void Model::allowThreads(nb::callable count) {
  cores = runtime::usableCores(); // reads files
  allowedThreads = count;
}

int Model::threadsNow() const {
  if (threadLimit || !allowedThreads.is_valid())
    return threadLimit;
  return std::clamp(nb::cast<int>(allowedThreads()), 1, cores);
}

/// The interpreter lock guards the list. A session for another number of threads makes room for a new one.
std::shared_ptr<Session> Model::acquire() {
  int threads = threadsNow();
  if (!idle.empty()) {
    std::shared_ptr<Session> session = std::move(idle.back());
    idle.pop_back();
    if (session->threads == threads || hasStates())
      return session;
  }
  perpend_session_options options = {threads};
  perpend_session *created = nullptr;
  check(hasStates() && stream->first ? perpend_session_create_shared(model, stream->first->session, &created)
                                     : perpend_session_create(model, &options, &created));
  auto session = std::make_shared<Session>(created, threads);
  if (hasStates() && !stream->first)
    stream->first = session;
  return session;
}

void Model::release(std::shared_ptr<Session> session) { idle.push_back(std::move(session)); }

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

class Model::Turn {
public:
  explicit Turn(Model &model) : model(model) {
    if (model.hasStates()) {
      nb::gil_scoped_release unlocked; // who has the turn may need it to end
      lock = std::unique_lock(model.stream->turn);
    }
    session = model.acquire();
  }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;
  ~Turn() { model.release(std::move(session)); }

  Model &model;
  std::unique_lock<std::mutex> lock;
  std::shared_ptr<Session> session;
};

/// Frees the model if it has no session.
void Model::checkSession() {
  try {
    Turn turn(*this); // reports an invalid number of threads early
  } catch (...) {
    perpend_model_free(model);
    throw;
  }
}

void Model::separate(bool copiesStates) {
  if (!hasStates())
    return;
  auto own = std::make_shared<Stream>();
  {
    Turn turn(*this);
    perpend_session_options options = {turn.session->threads};
    perpend_session *created = nullptr;
    check(copiesStates ? perpend_session_fork(turn.session->session, &created)
                       : perpend_session_create(model, &options, &created));
    own->first = std::make_shared<Session>(created, options.threads);
  }
  idle = {own->first};
  stream = std::move(own);
}

void Model::reset() {
  Turn turn(*this);
  check(perpend_session_reset(turn.session->session));
  turn.session->isKnown = false;
}

void Model::truncate(int64_t length) {
  Turn turn(*this);
  check(perpend_session_truncate(turn.session->session, length));
  turn.session->isKnown = false;
}

nb::bytes Model::saveStates() {
  Turn turn(*this);
  int64_t bytes = 0;
  check(perpend_session_save(turn.session->session, nullptr, 0, &bytes));
  nb::bytes data(nullptr, static_cast<size_t>(bytes));
  check(perpend_session_save(turn.session->session, PyBytes_AS_STRING(data.ptr()), bytes, &bytes));
  return data;
}

void Model::loadStates(nb::bytes data) {
  Turn turn(*this);
  check(perpend_session_load(turn.session->session, data.c_str(), static_cast<int64_t>(data.size())));
  turn.session->isKnown = false;
}

nb::dict Model::states() {
  Turn turn(*this);
  nb::dict values;
  for (int32_t i = 0; i < perpend_model_state_count(model); ++i) {
    perpend_tensor view{};
    check(perpend_session_state(turn.session->session, i, &view));
    values[perpend_model_state(model, i)->name] = valueOf(nullptr, view);
  }
  return values;
}

/// The reusable state of a call: up to this many inputs and outputs need no allocation.
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
  std::vector<std::unique_ptr<InputValue>> values; ///< strings and lists
  std::vector<int64_t> extents;
  const ExchangeApi *api = nullptr;
  std::vector<nb::handle> arguments; ///< per input
  std::vector<nb::object> made;      ///< arguments that the call made from dicts
};

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

void Model::takeMap(const std::string &name, size_t keys) { maps.emplace_back(name, keys); }

const std::pair<std::string, size_t> *Model::findMap(size_t keys) const {
  auto found = std::find_if(maps.begin(), maps.end(), [&](const auto &map) { return map.second == keys; });
  return found == maps.end() ? nullptr : &*found;
}

void Model::place(Call &call, size_t index, nb::handle value) const {
  const char *input = perpend_model_input(model, static_cast<int32_t>(index))->name;
  if (call.arguments[index].is_valid())
    throw nb::type_error(("model '" + name() + "': input '" + input + "' is given twice").c_str());
  call.arguments[index] = value;
}

/// The keys or values of a dict as an array of the input's type, which cannot be inferred from an empty dict.
static nb::object vectorOf(nb::list elements, const perpend_tensor_info &info) {
  nb::module_ numpy = nb::module_::import_("numpy");
  const char *type = info.type == PERPEND_STRING ? "object"
                     : info.type == PERPEND_I64  ? "int64"
                     : info.type == PERPEND_F32  ? "float32"
                                                 : "float64";
  nb::object given = numpy.attr("asarray")(elements).attr("dtype");
  if (nb::len(elements) && !nb::cast<bool>(numpy.attr("can_cast")(given, type, "same_kind")))
    throw nb::type_error((std::string(info.name) + ": expected elements of type " + perpend_type_name(info.type) +
                          ", got " + nb::cast<std::string>(nb::str(given)))
                             .c_str());
  return numpy.attr("array")(elements, type);
}

void Model::placeMap(Call &call, const std::pair<std::string, size_t> &map, nb::handle value) const {
  if (!nb::isinstance<nb::dict>(value))
    throw nb::type_error(("model '" + name() + "': input '" + map.first + "': expected a dict, got " +
                          nb::cast<std::string>(nb::str(value.type().attr("__name__"))))
                             .c_str());
  for (size_t part = 0; part < 2; ++part) {
    const perpend_tensor_info &info = *perpend_model_input(model, static_cast<int32_t>(map.second + part));
    nb::object elements = value.attr(part == 0 ? "keys" : "values")();
    call.made.push_back(vectorOf(nb::list(elements), info));
    place(call, map.second + part, call.made.back());
  }
}

void Model::placeNamed(Call &call, const std::string &input, nb::handle value) const {
  for (const auto &map : maps)
    if (map.first == input)
      return placeMap(call, map, value);
  int32_t index = 0;
  check(perpend_model_find_input(model, input.c_str(), &index));
  place(call, index, value);
}

std::string Model::hintOfInputs(const nb::args &positional) const {
  if (positional.size() == 1 && nb::isinstance<nb::dict>(positional[0]))
    return "\nhint: give a dict of inputs as model(**inputs)";
  std::string names;
  for (const perpend_tensor_info *info : inputs())
    names += (names.empty() ? "" : ", ") + std::string(info->name);
  return "\nhint: the inputs are " + (names.empty() ? "none" : names);
}

void Model::order(Call &call, nb::args &positional, nb::kwargs &named) const {
  size_t count = perpend_model_input_count(model), next = 0;
  std::string what = "model '" + name() + "': ";
  call.arguments.assign(count, nb::handle());
  for (nb::handle value : positional) {
    if (next == count)
      throw nb::type_error((what + "expected " + support::counted(count, "input") + ", got " +
                            std::to_string(positional.size()) + hintOfInputs(positional))
                               .c_str());
    const auto *map = maps.empty() || !nb::isinstance<nb::dict>(value) ? nullptr : findMap(next);
    if (map)
      placeMap(call, *map, value);
    else
      place(call, next, value);
    next += map ? 2 : 1;
  }
  for (auto [key, value] : named)
    placeNamed(call, nb::cast<std::string>(key), value);
  for (size_t i = 0; i < count; ++i)
    if (!call.arguments[i].is_valid())
      throw nb::type_error((what + "input '" + perpend_model_input(model, static_cast<int32_t>(i))->name +
                            "' is missing" + hintOfInputs(positional))
                               .c_str());
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Caches the shapes of the outputs for these inputs.
static void findOutputShapes(Session &session, perpend_model *model, const std::vector<perpend_tensor> &inputs,
                             const std::vector<int64_t> &extents) {
  session.isKnown = false;
  session.outputExtents.clear();
  session.isFromData.clear();
  for (int32_t i = 0; i < perpend_model_output_count(model); ++i) {
    size_t first = session.outputExtents.size();
    session.outputExtents.resize(first + perpend_model_output(model, i)->rank + 1); // so that the range is never empty
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
  order(call, positional, named);
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const perpend_tensor_info &info = *perpend_model_input(model, static_cast<int32_t>(i));
    if (isHandle(info.type)) {
      call.values.push_back(std::make_unique<InputValue>());
      call.values.back()->read(call.arguments[i], info.name, info);
      call.addInput(call.values.back()->tensor());
      continue;
    }
    InputArray &array = call.input(i);
    array.read(call.arguments[i], info.name, info.type);
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
      call.outputs.push_back({nullptr, nullptr, info.rank, info.type}); // in the session's memory
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
  KernelErrors errors;
  {
    nb::gil_scoped_release unlocked;
    status = perpend_session_run(session.session, call.inputs.data(), static_cast<int32_t>(call.inputs.size()),
                                 call.outputs.data(), static_cast<int32_t>(call.outputs.size()));
  }
  session.isKnown &= !hasStates(); // the next run may find other lengths
  if (status != PERPEND_OK)
    errors.fail(kindOf(status), errorMessage().c_str());
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
  Turn turn(*this);
  return run(*turn.session, positional, named);
}

/// Has a session use the caller's memory for its states, as long as this lives.
class Borrowed {
public:
  Borrowed(Session &session, const std::vector<Model::Memory> &memories) : session(session), count(memories.size()) {
    session.isKnown = false;
    for (size_t i = 0; i < count; ++i)
      set(i, reinterpret_cast<void *>(memories[i].first), memories[i].second.data());
  }
  Borrowed(const Borrowed &) = delete;
  Borrowed &operator=(const Borrowed &) = delete;
  ~Borrowed() {
    for (size_t i = 0; i < count; ++i)
      set(i, nullptr, nullptr);
    session.isKnown = false;
  }

  perpend_status status = PERPEND_OK; ///< the first error

private:
  void set(size_t index, void *data, const int64_t *dims) {
    perpend_session_loan loan{};
    perpend_status given = perpend_session_lend(session.session, &loan);
    if (given == PERPEND_OK) {
      given = static_cast<perpend_status>(loan.functions->borrow(loan.states, static_cast<int32_t>(index), data, dims));
      perpend_session_give_back(session.session);
    }
    status = status == PERPEND_OK ? given : status;
  }
  Session &session;
  size_t count;
};

nb::object Model::callWith(const std::vector<Memory> &states, nb::args positional) {
  bool fits = states.size() == static_cast<size_t>(perpend_model_state_count(model)) && !states.empty();
  for (size_t i = 0; fits && i < states.size(); ++i)
    fits = states[i].second.size() == static_cast<size_t>(perpend_model_state(model, static_cast<int32_t>(i))->rank);
  if (!fits)
    throw nb::value_error("call_with: expected an address and extents for each state");
  Turn turn(*this);
  Borrowed borrowed(*turn.session, states);
  check(borrowed.status);
  nb::kwargs named = nb::borrow<nb::kwargs>(nb::dict());
  return run(*turn.session, positional, named);
}

Model::KernelTimes Model::profile(nb::args positional, nb::kwargs named) {
  perpend_session_options options = {threadsNow()};
  perpend_session *created = nullptr; // of its own, because it keeps measuring
  const bool hasStates = perpend_model_state_count(model) > 0;
  if (hasStates)
    check(perpend_session_fork(Turn(*this).session->session, &created));
  else
    check(perpend_session_create(model, &options, &created));
  auto session = std::make_unique<Session>(created, options.threads);
  if (!hasStates) // otherwise the second run would be another than the first
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
