//===- GraphBuilder.h - graph::Builder by names, for Python -----*- C++ -*-===//
//
// Values are handles into the builder. Extents are text: a number or an
// expression over symbols. Attributes have the types of Python.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_GRAPHBUILDER_H
#define PERPEND_PYTHON_GRAPHBUILDER_H

#include "python/Program.h"

#include <functional>
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

  /// What the body of a loop passes on; a condition of -1 is true.
  struct Iteration {
    Handle condition;
    std::vector<Handle> carried, elements;
  };
  /// Adds operators to a region; nothing after an error.
  using Region = std::function<std::optional<std::vector<Handle>>()>;
  using Body = std::function<std::optional<Iteration>(Handle number, const std::vector<Handle> &carried)>;

  explicit GraphBuilder(const std::string &name);
  ~GraphBuilder();

  static bool hasComposite(const std::string &name);
  std::optional<Handle> input(const std::string &name, const std::vector<std::string> &shape, const std::string &type,
                              std::string &error);
  /// Larger arrays are not copied: the program keeps their owner.
  std::optional<Handle> constant(const Array &array, std::string &error);
  std::optional<std::vector<Handle>> composite(const std::string &name, const std::vector<Handle> &inputs,
                                               const AttributeList &attributes, std::string &error);
  /// One of two regions, as the condition says at run time.
  std::optional<std::vector<Handle>> branch(Handle condition, const Region &thenBody, const Region &elseBody,
                                            std::string &error);
  /// A region repeated `limit` times at most (-1: no limit) while its condition holds (-1: always). Returns the last
  /// carried values, then the stacked elements.
  std::optional<std::vector<Handle>> loop(Handle limit, Handle condition, const std::vector<Handle> &initial,
                                          const Body &body, std::string &error);
  /// The value that an integer tensor of one element has at run time, as an expression.
  std::optional<std::string> measure(Handle value, std::string &error);
  /// A vector of i64, or a scalar, of expressions.
  std::optional<Handle> dims(const std::vector<std::string> &extents, bool isScalar, std::string &error);
  /// Inputs for which one of `expressions` is negative are refused at run time. Returns whether all are expressions.
  bool require(const std::vector<std::string> &expressions, std::string &error);
  /// The same where the program is now: of numbers that data decides, or in a region.
  bool requireHere(const std::vector<std::string> &expressions, const std::string &message, std::string &error);
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
