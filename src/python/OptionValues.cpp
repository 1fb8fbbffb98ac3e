//===- OptionValues.cpp - the compiler's options from Python --------------===//

#include "python/OptionValues.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

namespace nb = nanobind;

namespace perpend::python {

void throwCompileError(const std::string &error) {
  nb::object type = nb::module_::import_("perpend._perpend").attr("CompileError");
  PyErr_SetString(type.ptr(), error.c_str());
  throw nb::python_error();
}

static OptionValue optionValue(nb::handle key, nb::handle value) {
  OptionValue result;
  if (nb::try_cast(value, result))
    return result;
  std::string expected = "bool, int or str", hint;
  for (const OptionInfo &option : compileOptions())
    if (option.name == nb::cast<std::string>(key)) {
      expected = option.type;
      hint = "\nhint: " + option.name + ": " + option.help;
    }
  bool isLong = PyLong_Check(value.ptr()); // of more bits than an option has
  throwCompileError("option '" + nb::cast<std::string>(key) + "': expected " + expected + ", got " +
                    nb::cast<std::string>(isLong ? nb::repr(value) : nb::type_name(value.type())) + hint);
}

OptionValues optionValuesOf(nb::dict values) {
  OptionValues options;
  for (auto [key, value] : values)
    options.emplace_back(nb::cast<std::string>(key), optionValue(key, value));
  return options;
}
} // namespace perpend::python
