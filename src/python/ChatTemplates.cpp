//===- ChatTemplates.cpp - binds chat templates ---------------------------===//
//
// Python's values become the plain structs that a template reads, without
// copying texts.
//
//===----------------------------------------------------------------------===//

#include "python/ChatTemplates.h"

#include "templates/Template.h"

#include "perpend_template.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace perpend::python {
namespace {

/// An error of a template while it is rendered.
struct TemplateError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A tree of values that point into Python's objects, which must live as long.
class ValueTree {
public:
  perpend_value convert(nb::handle object, const std::string &path, unsigned depth);

private:
  perpend_value convertText(nb::handle object, const std::string &path);
  perpend_value convertSequence(nb::handle object, const std::string &path, unsigned depth);
  perpend_value convertDict(nb::handle object, const std::string &path, unsigned depth);
  perpend_value keep(uint32_t kind, std::vector<perpend_value> values, size_t size) {
    lists.push_back(std::move(values));
    perpend_value value = {kind, 0, {0}, size};
    value.as.items = lists.back().data();
    return value;
  }

  std::deque<std::vector<perpend_value>> lists;
};

perpend_value ValueTree::convertText(nb::handle object, const std::string &path) {
  Py_ssize_t size = 0;
  perpend_value value = {PERPEND_VALUE_TEXT, 0, {0}, 0};
  value.as.text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (!value.as.text) {
    PyErr_Clear();
    throw nb::value_error((path + ": the text has halves of surrogate pairs").c_str());
  }
  value.size = static_cast<size_t>(size);
  return value;
}

perpend_value ValueTree::convertSequence(nb::handle object, const std::string &path, unsigned depth) {
  std::vector<perpend_value> values;
  size_t index = 0;
  for (nb::handle item : object)
    values.push_back(convert(item, path + "[" + std::to_string(index++) + "]", depth + 1));
  const size_t size = values.size();
  return keep(nb::isinstance<nb::tuple>(object) ? PERPEND_VALUE_TUPLE : PERPEND_VALUE_LIST, std::move(values), size);
}

perpend_value ValueTree::convertDict(nb::handle object, const std::string &path, unsigned depth) {
  std::vector<perpend_value> values;
  for (auto [key, value] : nb::borrow<nb::dict>(object)) {
    values.push_back(convert(key, path + ", a key", depth + 1));
    if (values.back().kind > PERPEND_VALUE_TEXT)
      throw nb::type_error((path + ": a key is a tuple; expected a text or a number").c_str());
    values.push_back(convert(value, path + "[" + nb::repr(key).c_str() + "]", depth + 1));
  }
  const size_t size = values.size() / 2;
  return keep(PERPEND_VALUE_DICT, std::move(values), size);
}

perpend_value ValueTree::convert(nb::handle object, const std::string &path, unsigned depth) {
  if (depth > 500)
    throw nb::value_error("the values are nested deeper than 500");
  perpend_value value = {PERPEND_VALUE_NONE, 0, {0}, 0};
  if (object.is_none())
    return value;
  if (nb::isinstance<nb::bool_>(object)) {
    value.kind = PERPEND_VALUE_BOOL;
    value.as.integer = object.ptr() == Py_True;
    return value;
  }
  if (PyLong_Check(object.ptr())) {
    int overflow = 0;
    value.kind = PERPEND_VALUE_INTEGER;
    value.as.integer = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
    if (overflow)
      throw nb::value_error((path + ": an integer needs more than 64 bits").c_str());
    return value;
  }
  if (PyFloat_Check(object.ptr())) {
    value.kind = PERPEND_VALUE_FLOAT;
    value.as.number = PyFloat_AsDouble(object.ptr());
    return value;
  }
  if (PyUnicode_Check(object.ptr()))
    return convertText(object, path);
  if (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object))
    return convertSequence(object, path, depth);
  if (nb::isinstance<nb::dict>(object))
    return convertDict(object, path, depth);
  throw nb::type_error((path + ": expected None, a bool, a number, a text, a list, a tuple or a dict, got " +
                        nb::inst_name(object).c_str())
                           .c_str());
}

class ChatTemplate {
public:
  explicit ChatTemplate(std::string table) : table((table.size() + 7) / 8), size(table.size()) {
    std::memcpy(this->table.data(), table.data(), size);
  }
  nb::bytes bytes() const { return nb::bytes(table.data(), size); }
  nb::str render(const perpend_value &variables, const perpend_template_limits &limits) const;
  nb::str renderPython(nb::dict variables, uint64_t steps, uint64_t memoryBytes, uint64_t outputBytes,
                       uint32_t depth) const {
    ValueTree tree;
    std::vector<perpend_value> pairs;
    return render(tree.convert(variables, "variables", 0), {steps, memoryBytes, outputBytes, depth});
  }
  nb::str renderJson(const std::string &json) const;

private:
  std::vector<uint64_t> table; // aligned
  size_t size;
};

nb::str ChatTemplate::render(const perpend_value &variables, const perpend_template_limits &limits) const {
  perpend_rendering rendering;
  const perpend_status status = perpend_template_render(table.data(), size, &variables, &limits, &rendering);
  if (status != PERPEND_OK)
    throw TemplateError(rendering.message);
  PyObject *text = PyUnicode_DecodeUTF8(rendering.text, static_cast<Py_ssize_t>(rendering.bytes), "strict");
  perpend_rendering_free(&rendering);
  if (!text)
    throw nb::python_error();
  return nb::steal<nb::str>(text);
}

nb::str ChatTemplate::renderJson(const std::string &text) const {
  perpend_json json;
  if (perpend_json_read(text.data(), text.size(), nullptr, &json) != PERPEND_OK)
    throw TemplateError(json.message);
  struct Free {
    perpend_json &json;
    ~Free() { perpend_json_free(&json); }
  } free{json};
  return render(json.value, {0, 0, 0, 0});
}

} // namespace

void bindChatTemplates(nb::module_ &module) {
  nb::exception<TemplateError>(module, "TemplateError", PyExc_ValueError);
  nb::class_<ChatTemplate>(module, "ChatTemplate")
      .def(
          "__init__",
          [](ChatTemplate *self, const std::string &text) {
            std::string error;
            std::optional<std::string> table = templates::compileTemplate(text, error);
            if (!table)
              throw TemplateError(error);
            new (self) ChatTemplate(std::move(*table));
          },
          "text"_a)
      .def_static(
          "of_table", [](nb::bytes table) { return ChatTemplate(std::string(table.c_str(), table.size())); }, "table"_a)
      .def_prop_ro("table", &ChatTemplate::bytes)
      .def("render", &ChatTemplate::renderPython, "variables"_a, "steps"_a = 0, "memory_bytes"_a = 0,
           "output_bytes"_a = 0, "depth"_a = 0)
      .def("render_json", &ChatTemplate::renderJson, "variables"_a);
}

} // namespace perpend::python
