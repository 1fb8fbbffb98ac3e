//===- Values.cpp - converts strings, lists and optional values -----------===//

#include "python/Values.h"

#include <cstring>

namespace nb = nanobind;

namespace perpend::python {

[[noreturn]] static void refuse(const char *what, const char *expected, nb::handle got, const char *hint = nullptr) {
  std::string kind = nb::cast<std::string>(nb::str(got.type().attr("__name__")));
  std::string cure = hint ? std::string("\nhint: ") + hint : "";
  throw nb::type_error((std::string(what) + ": expected " + expected + ", got " + kind + cure).c_str());
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// The bytes belong to the Python object.
static perpend_string textIn(nb::handle object, const char *what) {
  Py_ssize_t size = 0;
  const char *data = nullptr;
  if (PyUnicode_Check(object.ptr())) {
    data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  } else if (PyBytes_Check(object.ptr())) {
    data = PyBytes_AS_STRING(object.ptr());
    size = PyBytes_GET_SIZE(object.ptr());
  } else {
    refuse(what, "elements of type str", object);
  }
  if (!data)
    throw nb::python_error();
  return {data, size};
}

void InputValue::readTexts(nb::handle object, const char *what) {
  nb::module_ numpy = nb::module_::import_("numpy");
  nb::object given = numpy.attr("asarray")(object);
  std::string kind = nb::cast<std::string>(given.attr("dtype").attr("kind"));
  bool isEmpty = nb::cast<int64_t>(given.attr("size")) == 0;
  if (!isEmpty && kind != "U" && kind != "S" && kind != "O" && kind != "T")
    refuse(what, "an array of str", given.attr("dtype"));
  for (nb::handle extent : nb::tuple(given.attr("shape")))
    shape.push_back(nb::cast<int64_t>(extent));
  keeper = given.attr("astype")(nb::str("object")).attr("ravel")().attr("tolist")();
  for (nb::handle text : nb::list(keeper))
    texts.push_back(textIn(text, what));
  view = {texts.data(), shape.data(), static_cast<int32_t>(shape.size()), PERPEND_STRING};
}

/// Reads an element whose type the model may leave open.
void InputValue::readElement(nb::handle object, const char *what, const perpend_tensor_info &info) {
  if (info.element)
    return read(object, what, *info.element);
  array.read(object, what);
  view = array.tensor();
}

void InputValue::readList(nb::handle object, const char *what, const perpend_tensor_info &info) {
  bool isOptional = info.type == PERPEND_OPTIONAL;
  if (!isOptional && !nb::isinstance<nb::list>(object) && !nb::isinstance<nb::tuple>(object))
    refuse(what, "a list", object, "give a sequence as a list of arrays");
  nb::list values;
  if (isOptional && !object.is_none())
    values.append(object);
  else if (!isOptional)
    values = nb::list(object);
  for (nb::handle value : values) {
    elements.push_back(std::make_unique<InputValue>());
    elements.back()->readElement(value, what, info);
    elementViews.push_back(elements.back()->tensor());
  }
  sequence = {elementViews.data(), static_cast<int64_t>(elementViews.size())};
  view = {&sequence, nullptr, 0, info.type};
}

void InputValue::read(nb::handle object, const char *what, const perpend_tensor_info &info) {
  if (info.type == PERPEND_STRING)
    return readTexts(object, what);
  if (isHandle(info.type))
    return readList(object, what, info);
  array.read(object, what, info.type);
  view = array.tensor();
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

static nb::object textsOf(const perpend_tensor &output) {
  nb::list texts;
  for (int64_t i = 0, count = countOf(output); i < count; ++i) {
    const perpend_string &text = static_cast<const perpend_string *>(output.data)[i];
    PyObject *decoded = PyUnicode_DecodeUTF8(text.sizeBytes ? text.data : "", text.sizeBytes, "surrogateescape");
    if (!decoded)
      throw nb::python_error();
    texts.append(nb::steal(decoded));
  }
  nb::object shape = nb::steal(PyTuple_New(output.rank));
  for (int32_t i = 0; i < output.rank; ++i)
    PyTuple_SET_ITEM(shape.ptr(), i, PyLong_FromLongLong(output.shape[i]));
  nb::object array = nb::module_::import_("numpy").attr("empty")(shape, nb::str("object"));
  array.attr("reshape")(-1).attr("__setitem__")(nb::slice(nb::none(), nb::none(), nb::none()), texts);
  return array;
}

nb::object valueOf(const ExchangeApi *api, const perpend_tensor &output) {
  if (output.type == PERPEND_STRING)
    return textsOf(output);
  if (!isHandle(output.type)) {
    OutputArray array(api, output.type, output.shape, output.rank);
    if (size_t bytes = static_cast<size_t>(countOf(output) * perpend_type_size_bytes(output.type)))
      std::memcpy(array.data, output.data, bytes);
    return array.take();
  }
  const auto &list = *static_cast<const perpend_sequence *>(output.data);
  nb::list values;
  for (int64_t i = 0; i < list.count; ++i)
    values.append(valueOf(api, list.elements[i]));
  if (output.type == PERPEND_OPTIONAL)
    return list.count ? nb::object(values[0]) : nb::none();
  return values;
}
} // namespace perpend::python
