//===- PythonOperators.cpp - operators that are Python functions ----------===//
//
// A call acquires the interpreter lock, which the run of a model has released, and copies arrays in both directions,
// because a call's memory is freed at its end.
//
//===----------------------------------------------------------------------===//

#include "python/PythonOperators.h"

#include "python/Values.h"

#include "perpend_operator.h"
#include "perpend_process.h"

#include <cstring>
#include <stdexcept>

namespace nb = nanobind;

namespace perpend::python {

static nb::object operatorOf(perpend_call *call) {
  nb::object table = nb::module_::import_("perpend.operators").attr("table");
  nb::object found = table.attr("get")(perpend_call_integer(call, "perpend.operator", -1));
  if (found.is_none())
    throw std::runtime_error("the perpend.Operator is gone; hint: keep it for as long as models call it");
  return found;
}

static void refuseLists(perpend_type type, const std::string &what) {
  if (type == PERPEND_SEQUENCE || type == PERPEND_OPTIONAL)
    throw std::runtime_error(what + ": lists are not supported by operators in Python; hint: write the kernel in C");
}

static nb::object inputOf(perpend_call *call, perpend_tensor tensor) {
  refuseLists(tensor.type, "input");
  std::vector<perpend_string> texts;
  if (tensor.type == PERPEND_STRING) {
    for (int64_t i = 0, count = countOf(tensor); i < count; ++i)
      texts.push_back(perpend_call_text(call, static_cast<const int64_t *>(tensor.data)[i]));
    tensor.data = texts.data();
  }
  return valueOf(nullptr, tensor);
}

static void giveOutput(perpend_call *call, int32_t index, nb::handle object) {
  std::string what = "result " + std::to_string(index);
  refuseLists(call->outputTypes[index], what);
  perpend_tensor_info info{what.c_str(), call->outputTypes[index], -1, nullptr, nullptr, nullptr};
  InputValue value;
  value.read(object, what.c_str(), info);
  const perpend_tensor &tensor = value.tensor();
  if (tensor.type != info.type)
    throw std::runtime_error(what + ": expected an array of " + perpend_type_name(info.type) + ", got " +
                             perpend_type_name(tensor.type) + "; hint: use astype()");
  void *data = perpend_call_allocate(call, index, tensor.shape, tensor.rank);
  if (!data)
    throw std::bad_alloc(); // the error has been recorded
  int64_t count = countOf(tensor);
  if (info.type != PERPEND_STRING && count)
    std::memcpy(data, tensor.data, static_cast<size_t>(count * perpend_type_size_bytes(info.type)));
  for (int64_t i = 0; info.type == PERPEND_STRING && i < count; ++i) {
    const perpend_string &text = static_cast<const perpend_string *>(tensor.data)[i];
    int64_t identity = perpend_call_identity(call, text.data, text.sizeBytes);
    if (identity < 0)
      throw std::bad_alloc();
    static_cast<int64_t *>(data)[i] = identity;
  }
}

static void callPython(perpend_call *call) {
  nb::object owner = operatorOf(call);
  nb::list inputs;
  for (int32_t i = 0; i < call->inputCount; ++i)
    inputs.append(inputOf(call, call->inputs[i]));
  nb::list results = nb::cast<nb::list>(owner.attr("call")(inputs, nb::str(call->parameters)));
  if (nb::len(results) != static_cast<size_t>(call->outputCount))
    throw std::runtime_error("expected " + std::to_string(call->outputCount) +
                             (call->outputCount == 1 ? " result, got " : " results, got ") +
                             std::to_string(nb::len(results)) +
                             "; hint: return an array, or a tuple with one array for each output");
  for (int32_t i = 0; i < call->outputCount; ++i)
    giveOutput(call, i, results[i]);
}

/// "ValueError: its text", as ASCII if the text is not valid UTF-8. Getting an exception's text may raise another one.
static std::string summaryOf(const nb::python_error &error) {
  std::string kind = "an exception";
  try {
    kind = nb::cast<std::string>(error.type().attr("__name__"));
    nb::object bytes = nb::str(error.value()).attr("encode")("utf-8", "backslashreplace");
    return kind + ": " + nb::cast<nb::bytes>(bytes).c_str();
  } catch (const std::exception &) {
    return kind + ": (it has no text)";
  }
}

//===----------------------------------------------------------------------===//
// Exceptions
//===----------------------------------------------------------------------===//

/// The innermost run of this thread; a run calls its kernels on its own thread.
static thread_local KernelErrors *current = nullptr;

KernelErrors::KernelErrors() : outer(current) { current = this; }

KernelErrors::~KernelErrors() { current = outer; }

void KernelErrors::note(nb::python_error error) {
  if (current)
    current->raised.emplace(std::move(error));
}

void KernelErrors::fail(nb::handle kind, const char *message) {
  if (raised && !raised->matches(PyExc_Exception))
    throw std::move(*raised);
  if (raised)
    nb::raise_from(*raised, kind, "%s", message);
  PyErr_SetString(kind.ptr(), message);
  throw nb::python_error();
}

extern "C" perpend_status perpend_call_python(perpend_call *call) {
  nb::gil_scoped_acquire locked;
  try {
    callPython(call);
    return PERPEND_OK;
  } catch (const std::bad_alloc &) {
    return PERPEND_OUT_OF_MEMORY;
  } catch (nb::python_error &error) {
    std::string summary = summaryOf(error);
    KernelErrors::note(std::move(error));
    return perpend_call_fail(call, "%s", summary.c_str());
  } catch (const std::exception &error) {
    return perpend_call_fail(call, "%s", error.what());
  }
}

nb::dict hostParameters(int64_t number) {
  nb::dict parameters;
  parameters["perpend.process"] = perpend_process_number();
  parameters["perpend.function"] = static_cast<int64_t>(reinterpret_cast<intptr_t>(&perpend_call_python));
  parameters["perpend.operator"] = number;
  return parameters;
}
} // namespace perpend::python
