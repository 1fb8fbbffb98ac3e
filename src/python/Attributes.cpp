//===- Attributes.cpp - converts extents and attributes -------------------===//

#include "python/Attributes.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>

namespace nb = nanobind;

namespace perpend::python {

std::string extentText(nb::handle extent) {
  if (nb::isinstance<nb::str>(extent))
    return nb::cast<std::string>(extent);
  return std::to_string(nb::cast<int64_t>(extent));
}

std::vector<std::string> extentTexts(nb::sequence extents) {
  std::vector<std::string> texts;
  for (nb::handle extent : extents)
    texts.push_back(extentText(extent));
  return texts;
}

nb::object extentObject(const std::string &text) {
  char *end = nullptr;
  long long number = std::strtoll(text.c_str(), &end, 10);
  return *end || text.empty() ? nb::object(nb::str(text.c_str())) : nb::object(nb::int_(number));
}

nb::list extentObjects(const std::vector<std::string> &texts) {
  nb::list extents;
  for (const std::string &text : texts)
    extents.append(extentObject(text));
  return extents;
}

static Attribute listAttribute(nb::sequence list) {
  bool hasText = false, hasFloat = false;
  for (nb::handle element : list) {
    hasText |= nb::isinstance<nb::str>(element);
    hasFloat |= nb::isinstance<nb::float_>(element);
  }
  if (hasText)
    return Dims{extentTexts(list)};
  if (hasFloat)
    return nb::cast<std::vector<double>>(list);
  return nb::cast<std::vector<int64_t>>(list);
}

static Attribute attributeOf(nb::handle value) {
  if (nb::isinstance<nb::bool_>(value))
    return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value))
    return nb::cast<int64_t>(value);
  if (nb::isinstance<nb::float_>(value))
    return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value))
    return nb::cast<std::string>(value);
  if (nb::isinstance<TypeName>(value))
    return nb::cast<TypeName>(value);
  return listAttribute(nb::cast<nb::sequence>(value));
}

AttributeList attributesOf(nb::dict attributes) {
  AttributeList list;
  for (auto [key, value] : attributes)
    list.emplace_back(nb::cast<std::string>(key), attributeOf(value));
  return list;
}
} // namespace perpend::python
