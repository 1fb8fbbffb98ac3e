//===- Program.h - a model while it is compiled, for Python -----*- C++ -*-===//
//
// A module with its context, and the graph builder by names, behind plain C++
// types: the binding code, which needs exceptions and type information, never
// sees an MLIR header.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_PROGRAM_H
#define PERPEND_PYTHON_PROGRAM_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace perpend::python {

/// A dense row-major array. `type` is a name of the runtime: f32, bf16, i64, u8, bool ... Ownership: of `owner`.
struct Array {
  std::string type;
  std::vector<int64_t> shape;
  const void *data = nullptr;
  uint64_t sizeBytes = 0;
  std::shared_ptr<void> owner;
};

/// The options of Options.def, by their names in Python: opt_level for optLevel.
using OptionValue = std::variant<bool, int64_t, std::string>;
using OptionValues = std::vector<std::pair<std::string, OptionValue>>;

struct OptionInfo {
  std::string name, type, help;
};
const std::vector<OptionInfo> &compileOptions();

/// What is wrong with the description (JSON) of an operator that a user brings; empty: nothing.
std::string errorOfOperator(const std::string &description);

/// What a dimension of an input is called: by its own name, or x_dim0.
std::string symbolOfDimension(const std::string &input, size_t axis, const std::string &dimension);

/// What a compilation reports; times in seconds by phase, in order.
struct Report {
  std::vector<std::pair<std::string, double>> times;
  std::string descriptor;
  uint64_t artifactBytes = 0, weightsBytes = 0;
  int64_t arenaBytes = -1;
  std::vector<std::shared_ptr<const char>> weights; ///< of an artifact that has none of its own: its user keeps them
};

/// Every function that can fail fills `error` and returns null, nothing or false.
class Program {
public:
  Program();
  ~Program();

  /// dims: a symbol or `input:dimension`, and a number or another symbol.
  using Dims = std::vector<std::pair<std::string, std::string>>;
  using Paths = std::vector<std::string>;
  /// operators: paths of descriptions of operators that the user brings.
  static std::unique_ptr<Program> fromOnnxFile(const std::string &path, const Dims &dims, const Paths &operators,
                                               std::string &error);
  /// The program keeps `owner`, which holds the bytes.
  static std::unique_ptr<Program> fromOnnxBytes(std::string_view bytes, std::shared_ptr<void> owner, const Dims &dims,
                                                const Paths &operators, std::string &error);
  /// A module's text, or its bytes.
  static std::unique_ptr<Program> fromText(std::string_view text, std::string &error);

  /// Every use of a finished program holds it. Who waits for it must not hold the interpreter lock: a kernel in Python
  /// takes that one while its program is locked.
  std::unique_lock<std::recursive_mutex> lock() const;
  std::string text() const;
  /// With its weights, for another process.
  std::string bytes() const;
  /// What the import says of a model that it takes.
  std::vector<std::string> warnings;
  std::vector<std::string> inputNames() const;
  /// How the outputs are nested in Python, in JSON: the artifact's descriptor says it as `results`.
  void setResults(const std::string &json);
  /// Writes the artifact to `path`; the program stays as it is. isOfProcess: a shared library without weights, which
  /// lie in this process, once for all artifacts that have the same.
  bool compile(const OptionValues &options, const std::string &path, bool wantsExecutable, bool isOfProcess,
               Report &report, std::string &error) const;

  struct State;
  State &internals() { return *state; }

private:
  std::unique_ptr<State> state;
};
} // namespace perpend::python

#endif
