//===- Model.h - runs compiled models from Python ---------------*- C++ -*-===//

#ifndef PERPEND_PYTHON_MODEL_H
#define PERPEND_PYTHON_MODEL_H

#include "python/Values.h"

#include "perpend.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace perpend::python {

/// A session with its last shapes, so that calls with the same shapes need not query the outputs' shapes.
struct Session {
  Session(perpend_session *session, int threads) : session(session), threads(threads) {}
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;
  ~Session() { perpend_session_free(session); }

  perpend_session *session;
  int threads;
  std::vector<int64_t> inputExtents, outputExtents;
  std::vector<bool> isFromData; ///< per output: its shape depends on data
  bool isKnown = false;
};

/// Thread-safe: calls from several Python threads run concurrently, each in its own session. A model with states has
/// one session, which its calls continue one after the other, those of its other entries included.
class Model {
public:
  /// threads: the most per call; 0: all cores. Errors: FileNotFoundError, RuntimeError with the runtime's message.
  /// weights: the folder in which files of weights are looked for first; empty: none.
  Model(const std::string &path, int threads, const std::string &weights);
  /// An entry of a model, which shares its code, weights and states. Errors: ValueError, which lists the names.
  Model(const Model &other, const std::string &entry);
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;
  ~Model();

  /// Runs on inputs given by position and by name. Errors: TypeError, ValueError with the runtime's message.
  nanobind::object call(nanobind::args positional, nanobind::kwargs named);
  /// Runs with the states, all of them, in memory of the caller: address and extents of each. Errors: likewise.
  using Memory = std::pair<intptr_t, std::vector<int64_t>>;
  nanobind::object callWith(const std::vector<Memory> &states, nanobind::args positional);
  std::vector<const perpend_tensor_info *> inputs() const;
  std::vector<const perpend_tensor_info *> outputs() const;
  std::vector<std::string> entries() const;
  std::string name() const { return perpend_model_name(model); }
  std::string descriptor() const { return perpend_model_descriptor(model); }
  const std::string &path() const { return file; }
  int threads() const { return threadLimit; }

  /// Makes calls return that output, a matrix, as a list with one dict from labels to numbers per row.
  void presentAsMaps(size_t output, nanobind::list labels);

  /// Makes calls accept a dict for the map of this name, whose keys and values are the inputs `keys` and `keys` + 1.
  void takeMap(const std::string &name, size_t keys);

  /// From now on calls ask `count` how many threads they may use, where the model has no limit of its own.
  void allowThreads(nanobind::callable count);

  /// Gives a new model states of its own: copies, or their first values. Entries made from it share these.
  void separate(bool copiesStates);

  // What the functions perpend_session_… do with the states.
  void reset();
  void truncate(int64_t length);
  nanobind::bytes saveStates();
  void loadStates(nanobind::bytes data);
  /// Copies of the states, by name.
  nanobind::dict states();

  using KernelTimes = std::vector<std::tuple<std::string, int64_t, int64_t>>;
  /// Name, time in ns and number of calls of every kernel in one run.
  KernelTimes profile(nanobind::args positional, nanobind::kwargs named);

private:
  struct Call;
  void checkSession();
  /// The entries of a model with states run one at a time, each in a session of its own that shares the states.
  struct Stream {
    std::mutex turn; ///< of threads that call
    std::shared_ptr<Session> first;
  };
  /// The stream of a model with states, in use by one thread.
  class Turn;
  bool hasStates() const { return perpend_model_state_count(model) > 0; }
  int threadsNow() const;
  std::shared_ptr<Session> acquire();
  void release(std::shared_ptr<Session> session);
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
  std::vector<std::shared_ptr<Session>> idle;
  std::shared_ptr<Stream> stream = std::make_shared<Stream>();
  std::vector<std::pair<std::string, size_t>> maps; ///< names, and the indices of the inputs with their keys
  std::vector<nanobind::object> labels; ///< per output; null for plain arrays, may be shorter than the outputs
};
} // namespace perpend::python

#endif
