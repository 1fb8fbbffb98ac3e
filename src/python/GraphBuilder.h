//===- GraphBuilder.h - graph::Builder for Python ---------------*- C++ -*-===//
//
// Values are handles into the builder. Extents are text: a number or an
// expression over symbols. Attributes have Python's types.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_GRAPHBUILDER_H
#define PERPEND_PYTHON_GRAPHBUILDER_H

#include "python/Program.h"

#include <functional>
#include <optional>

namespace perpend::python {

/// An element type, as an attribute.
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

/// Functions that can fail fill `error` and return nothing.
class GraphBuilder {
public:
  /// An index into the builder's values; -1: an absent optional input.
  using Handle = int64_t;

  /// What the body of a loop yields; a condition of -1 means true.
  struct Iteration {
    Handle condition;
    std::vector<Handle> carried, elements;
  };
  /// Adds operators to a region; returns nothing after an error.
  using Region = std::function<std::optional<std::vector<Handle>>()>;
  using Body = std::function<std::optional<Iteration>(Handle number, const std::vector<Handle> &carried)>;

  explicit GraphBuilder(const std::string &name);
  ~GraphBuilder();

  static bool hasComposite(const std::string &name);
  std::optional<Handle> input(const std::string &name, const std::vector<std::string> &shape, const std::string &type,
                              std::string &error);
  /// Larger arrays are not copied: the program keeps their owner alive.
  std::optional<Handle> constant(const Array &array, std::string &error);
  std::optional<std::vector<Handle>> composite(const std::string &name, const std::vector<Handle> &inputs,
                                               const AttributeList &attributes, std::string &error);
  /// `input` with `block` written along `axis` from `offset` on.
  std::optional<Handle> update(Handle input, Handle block, const std::string &offset, int64_t axis, std::string &error);
  /// Runs one of two regions, depending on the condition at run time.
  std::optional<std::vector<Handle>> branch(Handle condition, const Region &thenBody, const Region &elseBody,
                                            std::string &error);
  /// Repeats a region at most `limit` times (-1: no limit) while its condition holds (-1: always). Returns the last
  /// carried values, then the stacked elements.
  std::optional<std::vector<Handle>> loop(Handle limit, Handle condition, const std::vector<Handle> &initial,
                                          const Body &body, std::string &error);
  /// The run-time value of an integer tensor with one element, as an expression.
  std::optional<std::string> measure(Handle value, std::string &error);
  /// A vector of i64, or a scalar, from expressions.
  std::optional<Handle> dims(const std::vector<std::string> &extents, bool isScalar, std::string &error);
  /// Refuses inputs at run time for which one of `expressions` is negative. Returns whether all of them are
  /// expressions.
  bool require(const std::vector<std::string> &expressions, std::string &error);
  /// The same at the current point of the program: for numbers that depend on data, or inside a region.
  bool requireHere(const std::vector<std::string> &expressions, const std::string &message, std::string &error);
  std::vector<std::string> shape(Handle value) const;
  std::string type(Handle value) const;
  /// The elements of a small integer tensor that depends on shapes only.
  std::optional<std::vector<std::string>> contents(Handle value);
  /// Names the model's node for the operations that follow; `kind` is its operator.
  void setLocation(const std::string &name, const std::string &kind);
  /// An input and an output that are a state, and its first value.
  struct StateNames {
    std::string input, output, name;
    Array initial;
  };
  /// Returns the program; the builder is empty afterwards.
  std::unique_ptr<Program> finish(const std::vector<std::pair<std::string, Handle>> &outputs,
                                  const std::vector<StateNames> &states, std::string &error);
  bool isFinished() const { return !state; }

private:
  struct State;
  std::unique_ptr<State> state;
};
} // namespace perpend::python

#endif
