//===- Tuning.cpp - Python bindings of tuning -----------------------------===//
//
// A run releases the interpreter lock, and acquires it to check for signals, to report progress, and to call a search
// or a cost model written in Python. An exception that Python raises then ends the search, and reaches the caller once
// everything found has been saved.
//
//===----------------------------------------------------------------------===//

#include "python/Tuning.h"

#include "python/Arrays.h"
#include "python/ModelTuning.h"
#include "python/OptionValues.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>

namespace nb = nanobind;
using namespace nb::literals;

namespace perpend::python {
namespace {
/// Reports progress to Python, and keeps the first exception that it raises.
class Listener {
public:
  Listener(nb::object progress, nb::object search, nb::object costModel)
      : progress(std::move(progress)), search(std::move(search)), costModel(std::move(costModel)) {}

  TuningCalls calls() {
    TuningCalls calls{[this] { return isInterrupted(); }, [this](const TuningStep &step) { tell(step); },
                      [this](const std::string &text) { warn(text); }};
    if (!costModel.is_none()) {
      calls.predict = [this](const auto &kernel, const auto &trace) { return predict(kernel, trace); };
      calls.learn = [this](const auto &kernel, const auto &trace, double time) { return learn(kernel, trace, time); };
    }
    if (!search.is_none())
      calls.makeSearch = [this](const auto &kernel, const auto &choices, const auto &given) {
        return makeSearch(kernel, choices, given);
      };
    return calls;
  }
  /// Acquires the interpreter lock.
  void rethrow() const {
    if (thrown)
      std::rethrow_exception(thrown);
  }

private:
  bool isInterrupted() {
    listen([] {
      if (PyErr_CheckSignals() != 0)
        throw nb::python_error();
    });
    return thrown != nullptr;
  }
  void tell(const TuningStep &step) {
    listen([&] {
      if (!progress.is_none())
        progress(step.kernel, step.outcome, step.trials, step.defaultSeconds, step.seconds);
    });
  }
  void warn(const std::string &text) {
    constexpr int caller = 3; // stack level of perpend.tune's caller
    listen([&] {
      if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), caller) != 0)
        throw nb::python_error();
    });
  }
  double predict(const std::string &kernel, const std::string &trace) {
    double time = 0;
    listen([&] { time = nb::cast<double>(costModel.attr("predict")(kernel, trace)); });
    return time;
  }
  bool learn(const std::string &kernel, const std::string &trace, double time) {
    bool isChanged = false;
    listen([&] {
      int truth = PyObject_IsTrue(costModel.attr("learn")(kernel, trace, time).ptr());
      if (truth < 0)
        throw nb::python_error();
      isChanged = truth == 1;
    });
    return isChanged;
  }

  using Choices = std::vector<std::vector<std::string>>;
  using Point = std::vector<unsigned>;
  SearchCalls makeSearch(const std::string &kernel, const Choices &choices, const Point &given) {
    std::vector<size_t> counts;
    for (const std::vector<std::string> &of : choices)
      counts.push_back(of.size());
    size_t number = searches.size(); // destroyed with the listener, under the lock
    listen([&] { searches.push_back(search(kernel, choices, given)); });
    if (thrown)
      return {[] { return std::nullopt; }, [](const Point &, double) {}};
    return {[this, number, counts] { return propose(searches[number], counts); },
            [this, number](const Point &point, double time) {
              listen([&] { searches[number].attr("tell")(point, time); });
            }};
  }
  std::optional<Point> propose(const nb::object &own, const std::vector<size_t> &counts) {
    std::optional<Point> point;
    listen([&] {
      nb::object proposed = own.attr("propose")();
      if (proposed.is_none())
        return;
      auto numbers = nb::cast<Point>(proposed);
      bool isPoint = numbers.size() == counts.size();
      for (size_t i = 0; isPoint && i < counts.size(); ++i)
        isPoint = numbers[i] < counts[i];
      if (!isPoint)
        throw nb::value_error("search: expected, for each decision, the number of one of its choices");
      point = std::move(numbers);
    });
    return point;
  }
  template <typename Function> void listen(const Function &function) {
    if (thrown)
      return;
    nb::gil_scoped_acquire locked;
    try {
      function();
    } catch (...) {
      thrown = std::current_exception();
    }
  }

  nb::object progress, search, costModel;
  std::vector<nb::object> searches; ///< one per kernel
  std::exception_ptr thrown;
};
} // namespace

static TuningResult tune(Program &program, const std::string &output, const std::string &budget, nb::dict settings,
                         nb::dict options, const std::vector<std::string> &symbols, nb::dict inputs,
                         const std::vector<std::string> &kernels, nb::object progress, bool isMeasured,
                         nb::object search, nb::object costModel) {
  TuningRequest request{output,  budget,    optionValuesOf(settings), optionValuesOf(options), symbols, {},
                        kernels, isMeasured};
  std::vector<std::unique_ptr<InputArray>> arrays;
  for (auto [key, value] : inputs) {
    std::string name = nb::cast<std::string>(key);
    arrays.push_back(std::make_unique<InputArray>());
    arrays.back()->read(value, name.c_str());
    request.inputs.emplace_back(name, arrays.back()->tensor());
  }
  Listener listener(progress, search, costModel);
  TuningResult result;
  std::string error;
  bool isDone;
  {
    nb::gil_scoped_release unlocked;
    auto lock = program.lock();
    isDone = tuneProgram(program, request, listener.calls(), result, error);
  }
  listener.rethrow();
  if (!isDone)
    throwCompileError(error);
  return result;
}

template <typename T> static T orThrow(const std::optional<T> &text, const std::string &error) {
  if (!text)
    throwCompileError(error);
  return *text;
}

static std::string exportText(const std::string &database, const std::string &structure, const std::string &target) {
  std::string error;
  return orThrow(exportRecords(database, structure, target, error), error);
}

static std::string nameOfTarget(const std::string &target) {
  std::string error;
  return orThrow(targetName(target, error), error);
}

static double numberOfSeconds(const std::string &budget) {
  std::string error;
  return orThrow(secondsOf(budget, error), error);
}

static void addText(const std::string &database, const std::string &found, const std::string &known) {
  std::string error;
  if (!addRecords(database, found, known, error))
    throwCompileError(error);
}

void bindTuning(nb::module_ &module) {
  nb::class_<TunedKernel>(module, "TunedKernel", "A kernel of a model that was tuned.")
      .def_ro("name", &TunedKernel::name)
      .def_ro("structure", &TunedKernel::structure)
      .def_ro("symbols", &TunedKernel::symbols)
      .def_ro("trace", &TunedKernel::trace)
      .def_ro("calls", &TunedKernel::calls)
      .def_ro("trials", &TunedKernel::trials)
      .def_ro("refused", &TunedKernel::refused)
      .def_ro("wrong", &TunedKernel::wrong)
      .def_ro("crashed", &TunedKernel::crashed)
      .def_ro("timed_out", &TunedKernel::timedOut)
      .def_ro("weight", &TunedKernel::weight)
      .def_ro("roof_seconds", &TunedKernel::roofSeconds)
      .def_ro("default_seconds", &TunedKernel::defaultSeconds)
      .def_ro("seconds", &TunedKernel::seconds);
  nb::class_<ModelGain>(module, "ModelGain", "The model's times with and without what was found.")
      .def_ro("entry", &ModelGain::entry)
      .def_ro("symbols", &ModelGain::symbols)
      .def_ro("refusal", &ModelGain::refusal)
      .def_ro("default_seconds", &ModelGain::defaultSeconds)
      .def_ro("seconds", &ModelGain::seconds);
  nb::class_<TuningResult>(module, "TuningResult", "What a run of tuning found.")
      .def_ro("kernels", &TuningResult::kernels)
      .def_ro("model", &TuningResult::model)
      .def_ro("target", &TuningResult::target)
      .def_ro("default_seconds", &TuningResult::defaultSeconds)
      .def_ro("seconds", &TuningResult::seconds);
  module.def("tune", &tune, "program"_a, "output"_a, "budget"_a, "settings"_a, "options"_a, "symbols"_a, "inputs"_a,
             "kernels"_a, "progress"_a.none(), "measured"_a, "search"_a.none() = nb::none(),
             "cost_model"_a.none() = nb::none());
  module.def("export_records", &exportText, "database"_a, "structure"_a = "", "target"_a = "");
  module.def("target_name", &nameOfTarget, "target"_a);
  module.def("seconds_of", &numberOfSeconds, "budget"_a);
  module.def("add_records", &addText, "database"_a, "found"_a, "known"_a);
}
} // namespace perpend::python
