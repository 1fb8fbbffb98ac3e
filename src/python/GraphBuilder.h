//===- GraphBuilder.h - graph::Builder by names, for Python -----*- C++ -*-===//
//
// Values are handles into the builder. Extents are text: a number or an
// expression over symbols. Attributes have the types of Python.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_GRAPHBUILDER_H
#define PERPEND_PYTHON_GRAPHBUILDER_H

#include "python/Program.h"

#include <optional>

namespace perpend::python {

/// An element type as an attribute.
struct TypeName {
  std::string name;
};
/// A list of extents with at least one expression.
struct Dims {
  std::vector<std::string> extents;
};
using Attribute =
    std::variant<bool, int64_t, double, std::string, TypeName, std::vector<int64_t>, std::vector<double>, Dims>;
using AttributeList = std::vector<std::pair<std::string, Attribute>>;

/// Every function that can fail fills `error` and returns nothing.
class GraphBuilder {
public:
  /// An index into the builder's values; -1: an absent optional input.
  using Handle = int64_t;

  explicit GraphBuilder(const std::string &name);
  ~GraphBuilder();

  static bool hasComposite(const std::string &name);
  std::optional<Handle> input(const std::string &name, const std::vector<std::string> &shape, const std::string &type,
                              std::string &error);
  /// Larger arrays are not copied: the program keeps their owner.
  std::optional<Handle> constant(const Array &array, std::string &error);
  std::optional<std::vector<Handle>> composite(const std::string &name, const std::vector<Handle> &inputs,
                                               const AttributeList &attributes, std::string &error);
  /// A vector of i64, or a scalar, of expressions.
  std::optional<Handle> dims(const std::vector<std::string> &extents, bool isScalar, std::string &error);
  /// Inputs for which one of `expressions` is negative are refused at run time. Returns whether all are expressions.
  bool require(const std::vector<std::string> &expressions, std::string &error);
  std::vector<std::string> shape(Handle value) const;
  std::string type(Handle value) const;
  /// The elements of a small integer tensor that only depends on shapes.
  std::optional<std::vector<std::string>> contents(Handle value);
  /// Names the model's node that the following operations come from; `kind` is its operator.
  void setLocation(const std::string &name, const std::string &kind);
  /// Returns the program; the builder is empty afterwards.
  std::unique_ptr<Program> finish(const std::vector<std::pair<std::string, Handle>> &outputs, std::string &error);
  bool isFinished() const { return !state; }

private:
  struct State;
  std::unique_ptr<State> state;
};
} // namespace perpend::python

#endif
