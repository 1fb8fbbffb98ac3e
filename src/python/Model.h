//===- Model.h - running compiled models from Python ------------*- C++ -*-===//

#ifndef PERPEND_PYTHON_MODEL_H
#define PERPEND_PYTHON_MODEL_H

#include "python/Values.h"

#include "perpend.h"

#include <memory>
#include <string>
#include <vector>

namespace perpend::python {

/// A session with what it computed last, so that calls with the same shapes need not ask for the outputs' shapes.
struct Session {
  Session(perpend_session *session, int threads) : session(session), threads(threads) {}
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;
  ~Session() { perpend_session_free(session); }

  perpend_session *session;
  int threads;
  std::vector<int64_t> inputExtents, outputExtents;
  std::vector<bool> isFromData; ///< outputs whose shapes depend on data
  bool isKnown = false;
};

/// Threads: calls from several Python threads run at the same time, each in a session of its own.
class Model {
public:
  /// threads: at most this many per call, 0: all cores. Errors: FileNotFoundError, RuntimeError with the runtime's
  /// text.
  Model(const std::string &path, int threads);
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;
  ~Model();

  /// The outputs for inputs by position and by name. Errors: TypeError, ValueError with the runtime's text.
  nanobind::object call(nanobind::args positional, nanobind::kwargs named);
  std::vector<const perpend_tensor_info *> inputs() const;
  std::vector<const perpend_tensor_info *> outputs() const;
  std::string name() const { return perpend_model_name(model); }
  std::string descriptor() const { return perpend_model_descriptor(model); }
  const std::string &path() const { return file; }
  int threads() const { return threadLimit; }

  /// From now on calls return that output, a matrix, as a list of dicts from labels to numbers, one for each row.
  void presentAsMaps(size_t output, nanobind::list labels);

  /// From now on calls take a dict for the map of that name: the inputs `keys` and `keys` + 1 are its keys and values.
  void takeMap(const std::string &name, size_t keys);

  /// From now on calls ask `count` how many threads they may use, where the model has no limit of its own.
  void allowThreads(nanobind::callable count);

  using KernelTimes = std::vector<std::tuple<std::string, int64_t, int64_t>>;
  /// Name, time in ns and calls of every kernel, for one run.
  KernelTimes profile(nanobind::args positional, nanobind::kwargs named);

private:
  struct Call;
  int threadsNow() const;
  std::unique_ptr<Session> acquire();
  void release(std::unique_ptr<Session> session);
  const std::pair<std::string, size_t> *findMap(size_t keys) const;
  void place(Call &call, size_t index, nanobind::handle value) const;
  void placeMap(Call &call, const std::pair<std::string, size_t> &map, nanobind::handle value) const;
  void placeNamed(Call &call, const std::string &input, nanobind::handle value) const;
  std::string hintOfInputs(const nanobind::args &positional) const;
  void order(Call &call, nanobind::args &positional, nanobind::kwargs &named) const;
  void readInputs(Call &call, nanobind::args &positional, nanobind::kwargs &named) const;
  void allocateOutputs(Call &call, const Session &session) const;
  nanobind::object run(Session &session, nanobind::args &positional, nanobind::kwargs &named);

  std::string file;
  int threadLimit;
  nanobind::object allowedThreads; ///< a function, or null
  int cores = 0;                   ///< of the machine, where there is one
  perpend_model *model = nullptr;
  std::vector<std::unique_ptr<Session>> idle;
  std::vector<std::pair<std::string, size_t>> maps; ///< names, and the numbers of the inputs that are their keys
  std::vector<nanobind::object> labels; ///< per output; those at the end may be left out, and null are plain arrays
};
} // namespace perpend::python

#endif
