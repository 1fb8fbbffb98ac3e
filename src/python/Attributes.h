//===- Attributes.h - converts extents and attributes -----------*- C++ -*-===//

#ifndef PERPEND_PYTHON_ATTRIBUTES_H
#define PERPEND_PYTHON_ATTRIBUTES_H

#include "python/GraphBuilder.h"

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace perpend::python {

/// Numbers are int in Python, expressions str.
std::string extentText(nanobind::handle extent);
std::vector<std::string> extentTexts(nanobind::sequence extents);
nanobind::object extentObject(const std::string &text);
nanobind::list extentObjects(const std::vector<std::string> &texts);

AttributeList attributesOf(nanobind::dict attributes);
} // namespace perpend::python

#endif
