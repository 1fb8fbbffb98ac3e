//===- Program.h - a model under compilation, for Python --------*- C++ -*-===//
//
// A module with its context and a graph builder, behind plain C++ types: the
// binding code, which needs exceptions and type information, never includes an
// MLIR header.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_PROGRAM_H
#define PERPEND_PYTHON_PROGRAM_H

#include "frontend/checkpoint/CacheOptions.h"

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

/// A dense row-major array. `type` is one of the runtime's names: f32, bf16, i64, u8, bool ... Ownership: by `owner`.
struct Array {
  std::string type;
  std::vector<int64_t> shape;
  const void *data = nullptr;
  uint64_t sizeBytes = 0;
  std::shared_ptr<void> owner;
};

/// The options of Options.def under their Python names: opt_level for optLevel.
using OptionValue = std::variant<bool, int64_t, std::string>;
using OptionValues = std::vector<std::pair<std::string, OptionValue>>;

struct OptionInfo {
  std::string name, type, help;
};
const std::vector<OptionInfo> &compileOptions();

/// What is wrong with a user's description (JSON) of an operator; empty if nothing.
std::string errorOfOperator(const std::string &description);

/// Whether folders of this model_type are imported without PyTorch.
bool isKnownModelType(const std::string &modelType);

/// The symbol of an input's dimension: its own name, or x_dim0.
std::string symbolOfDimension(const std::string &input, size_t axis, const std::string &dimension);

/// What a compilation reports; times in seconds by phase, in order.
struct Report {
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, double>> times;
  std::string descriptor;
  std::vector<std::string> units; ///< of an accelerator's program: what its units compute, and what they do not
  uint64_t artifactBytes = 0, weightsBytes = 0;
  int64_t arenaBytes = -1;
  std::vector<std::shared_ptr<const char>> weights; ///< of an artifact that has none of its own: its user keeps them
};

/// Functions that can fail fill `error` and return null, nothing or false.
class Program {
public:
  Program();
  ~Program();

  /// dims: a symbol or `input:dimension`, and a number or another symbol.
  using Dims = std::vector<std::pair<std::string, std::string>>;
  using Paths = std::vector<std::string>;
  /// operators: paths of the descriptions of the user's operators. cache: of a checkpoint.
  static std::unique_ptr<Program> fromFile(const std::string &path, const Dims &dims, const Paths &operators,
                                           const checkpoint::CacheOptions &cache, std::string &error);
  /// Of a checkpoint, with what generates text (llm/Module.h). context: in tokens; 0: that of the model. cacheType: as
  /// CacheOptions has it. entries: as in llm::ModuleOptions.
  static std::unique_ptr<Program> fromCheckpoint(const std::string &path, int64_t context, const std::string &cacheType,
                                                 const std::string &entries, std::string &error);
  /// Makes a program that generates text of one that continues tokens (llm::completeModule).
  bool makeLanguageModel(const std::string &settings, const std::string &tokenizer, int64_t context,
                         std::string &error);
  /// The program keeps `owner` alive, which holds the bytes.
  static std::unique_ptr<Program> fromOnnxBytes(std::string_view bytes, std::shared_ptr<void> owner, const Dims &dims,
                                                const Paths &operators, std::string &error);
  /// From a module's text or bytecode.
  static std::unique_ptr<Program> fromText(std::string_view text, std::string &error);
  /// A program whose entries are the functions of others, each of which has one. Constants stay where they are: it
  /// keeps `owner` alive, which keeps the others.
  static std::unique_ptr<Program> join(const std::vector<std::pair<std::string, Program *>> &parts,
                                       std::shared_ptr<void> owner, std::string &error);

  /// Every use of a finished program holds this lock. A thread that waits for it must not hold the interpreter lock,
  /// which a kernel in Python acquires while its program is locked.
  std::unique_lock<std::recursive_mutex> lock() const;
  /// Makes states of inputs and outputs (graph/MakeStates.h): "past_*=present_*:4096".
  bool makeStates(const std::vector<std::string> &states, std::string &error);
  std::string text() const;
  /// Serialises the program with its weights, for another process.
  std::string bytes() const;
  /// Warnings of the import.
  std::vector<std::string> warnings;
  std::vector<std::string> inputNames() const;
  /// Sets the nesting of the outputs in Python, as JSON; becomes `results` in the artifact's descriptor.
  void setResults(const std::string &json);
  /// Runs the phases up to this one, which may be `plan`, so that evaluate() runs what they make of the program.
  bool lower(const std::string &phase, OptionValues options, std::string &error);
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
