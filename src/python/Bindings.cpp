//===- Bindings.cpp - the Python module perpend._perpend ------------------===//
//
// Converts between Python objects and the plain types of Program, GraphBuilder
// and Model, which do the work. _perpend.pyi has the Python signatures.
//
//===----------------------------------------------------------------------===//

#include "python/Accelerators.h"
#include "python/Attributes.h"
#include "python/ChatTemplates.h"
#include "python/Evaluation.h"
#include "python/FrozenTensors.h"
#include "python/GraphBuilder.h"
#include "python/LanguageModels.h"
#include "python/Model.h"
#include "python/OptionValues.h"
#include "python/OutputMemory.h"
#include "python/Program.h"
#include "python/PythonOperators.h"
#include "python/Sampling.h"
#include "python/Schedules.h"
#include "python/Tokenizer.h"
#include "python/Tuning.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;

namespace perpend::python {
namespace {
struct CompileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A tensor in a graph under construction.
struct Value {
  std::shared_ptr<GraphBuilder> builder;
  GraphBuilder::Handle handle;
};

struct BuilderHandle {
  std::shared_ptr<GraphBuilder> builder;
};
} // namespace

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

/// Deletes an object that holds Python objects, from any thread.
struct DeleteLocked {
  template <typename T> void operator()(T *held) const {
    if (!nb::is_alive())
      return; // the process is ending
    nb::gil_scoped_acquire locked;
    delete held;
  }
};

static std::shared_ptr<void> keep(nb::handle object) {
  return std::shared_ptr<nb::object>(new nb::object(nb::borrow(object)), DeleteLocked());
}

/// Keeps the Python array as long as `owner` lives, which may be released by any thread.
static Array arrayOf(nb::handle object, const char *what) {
  std::shared_ptr<InputArray> input(new InputArray, DeleteLocked());
  input->read(object, what);
  Array array;
  array.type = perpend_type_name(input->type);
  array.shape.assign(input->extents, input->extents + input->rank);
  array.data = input->data;
  array.sizeBytes = perpend_type_size_bytes(input->type);
  for (int64_t extent : array.shape)
    array.sizeBytes *= extent;
  array.owner = input;
  return array;
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

/// At the line of the user's that is `depth` functions of the package away.
static void warn(const std::vector<std::string> &texts, int depth) {
  for (const std::string &text : texts)
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), depth + 1))
      throw nb::python_error();
}

static std::unique_ptr<Program> orThrow(std::unique_ptr<Program> program, const std::string &error) {
  if (!program)
    throw CompileError(error);
  warn(program->warnings, /*depth=*/3); // import_source, import_model, compile
  return program;
}

static Program::Dims dimsOf(nb::dict dims) {
  Program::Dims list;
  for (auto [key, value] : dims) {
    std::string subject = nb::cast<std::string>(nb::str(key));
    int64_t number = 0;
    if (!nb::isinstance<nb::str>(value) && !nb::try_cast(value, number))
      throw CompileError("dims: '" + subject + "': expected a whole number or the name of a symbol, got " +
                         nb::cast<std::string>(nb::repr(value)));
    list.emplace_back(subject, extentText(value));
  }
  return list;
}

static std::unique_ptr<Program> fromFile(const std::string &path, nb::dict dims,
                                         const std::vector<std::string> &operators, int64_t cache,
                                         const std::string &cacheType, int64_t texts) {
  std::string error;
  return orThrow(Program::fromFile(path, dimsOf(dims), operators, {cache, cacheType, texts}, error), error);
}

static std::unique_ptr<Program> fromCheckpoint(const std::string &path, int64_t context, const std::string &cacheType,
                                               const std::string &entries) {
  std::string error;
  return orThrow(Program::fromCheckpoint(path, context, cacheType, entries, error), error);
}

static std::unique_ptr<Program> fromOnnx(nb::bytes bytes, nb::dict dims, const std::vector<std::string> &operators) {
  std::string error;
  std::string_view view(bytes.c_str(), bytes.size());
  return orThrow(Program::fromOnnxBytes(view, keep(bytes), dimsOf(dims), operators, error), error);
}

static std::unique_ptr<Program> fromText(const std::string &text) {
  std::string error;
  return orThrow(Program::fromText(text, error), error);
}

static std::unique_ptr<Program> fromBytes(nb::bytes bytes) {
  std::string error;
  return orThrow(Program::fromText({bytes.c_str(), bytes.size()}, error), error);
}

/// The dict stays alive, and with it the modules and their constants.
static std::unique_ptr<Program> join(nb::dict parts) {
  std::vector<std::pair<std::string, Program *>> list;
  for (auto [name, part] : parts)
    list.emplace_back(nb::cast<std::string>(name), nb::cast<Program *>(part));
  std::shared_ptr<void> owner = keep(nb::dict(parts));
  std::string error;
  std::unique_ptr<Program> program;
  {
    nb::gil_scoped_release unlocked;
    program = Program::join(list, owner, error);
  }
  return orThrow(std::move(program), error);
}

/// Releases the interpreter lock while it waits.
static std::unique_lock<std::recursive_mutex> lockOf(const Program &program) {
  nb::gil_scoped_release unlocked;
  return program.lock();
}

static std::string textOf(const Program &program) {
  auto lock = lockOf(program);
  return program.text();
}

static nb::bytes bytesOf(const Program &program) {
  auto lock = lockOf(program);
  std::string bytes = program.bytes();
  return nb::bytes(bytes.data(), bytes.size());
}

static std::vector<std::string> inputNamesOf(const Program &program) {
  auto lock = lockOf(program);
  return program.inputNames();
}

static nb::list evaluate(Program &program, nb::args arguments) {
  auto lock = lockOf(program);
  std::string error;
  std::unique_ptr<Evaluation> run = Evaluation::of(program, arguments.size(), error);
  if (!run)
    throw CompileError(error);
  std::vector<std::unique_ptr<InputValue>> inputs;
  std::vector<perpend_tensor> tensors;
  const ExchangeApi *api = nullptr;
  for (size_t i = 0; i < arguments.size(); ++i) {
    inputs.push_back(std::make_unique<InputValue>());
    inputs.back()->read(arguments[i], run->inputs()[i].name, run->inputs()[i]);
    tensors.push_back(inputs.back()->tensor());
    api = api ? api : inputs.back()->api();
  }
  bool isDone;
  KernelErrors errors;
  {
    nb::gil_scoped_release unlocked;
    isDone = run->run(tensors, error);
  }
  if (!isDone)
    errors.fail(nb::module_::import_("perpend._perpend").attr("CompileError"), error.c_str());
  nb::list results;
  for (const perpend_tensor &output : run->outputs())
    results.append(valueOf(api, output));
  return results;
}

static Report compileFor(bool isOfProcess, const Program &program, const std::string &path, nb::dict values,
                         bool wantsExecutable) {
  OptionValues options = optionValuesOf(values);
  Report report;
  std::string error;
  auto lock = lockOf(program);
  bool isDone;
  {
    nb::gil_scoped_release unlocked;
    isDone = program.compile(options, path, wantsExecutable, isOfProcess, report, error);
  }
  if (!isDone)
    throw CompileError(error);
  warn(report.warnings, /*depth=*/4); // compile and what it calls
  return report;
}

static Report compileTo(const Program &program, const std::string &path, nb::dict values, bool wantsExecutable) {
  return compileFor(/*isOfProcess=*/false, program, path, values, wantsExecutable);
}

/// Not a method, as users have modules: the report must outlive all that use the artifact.
static Report compileInProcess(const Program &program, const std::string &path, nb::dict values) {
  return compileFor(/*isOfProcess=*/true, program, path, values, /*wantsExecutable=*/false);
}

static void makeStates(Program &program, const std::vector<std::string> &states) {
  std::string error;
  if (!program.makeStates(states, error))
    throw CompileError(error);
}

static void makeLanguageModel(Program &program, const std::string &settings, const std::string &tokenizer,
                              int64_t context) {
  auto lock = lockOf(program);
  std::string error;
  bool isMade;
  {
    nb::gil_scoped_release unlocked;
    isMade = program.makeLanguageModel(settings, tokenizer, context, error);
  }
  if (!isMade)
    throw CompileError(error);
  warn(program.warnings, /*depth=*/3); // language_model, compile
}

static void lower(Program &program, const std::string &phase, nb::dict values) {
  OptionValues options = optionValuesOf(values);
  std::string error;
  auto lock = lockOf(program);
  if (!program.lower(phase, options, error))
    throw CompileError(error);
}

static void setResults(Program &program, const std::string &json) {
  nb::gil_scoped_release unlocked;
  auto lock = program.lock();
  program.setResults(json);
}

static void bindProgram(nb::module_ &module) {
  nb::class_<Report>(module, "Report", "What a compilation reports.")
      .def_ro("times", &Report::times)
      .def_ro("descriptor", &Report::descriptor)
      .def_ro("units", &Report::units)
      .def_ro("artifact_bytes", &Report::artifactBytes)
      .def_ro("weights_bytes", &Report::weightsBytes)
      .def_ro("arena_bytes", &Report::arenaBytes)
      .def_prop_ro("is_of_process", [](const Report &report) { return !report.weights.empty(); });
  nb::class_<Program>(module, "Module",
                      "A model as a module at graph level. Threads: calls from several Python threads take turns.",
                      nb::dynamic_attr())
      .def_static("from_file", &fromFile, "path"_a, "dims"_a = nb::dict(), "operators"_a = std::vector<std::string>(),
                  "cache"_a = 0, "cache_type"_a = "f32", "texts"_a = 1)
      .def_static("from_checkpoint", &fromCheckpoint, "path"_a, "context"_a = 0, "cache_type"_a = "f32",
                  "entries"_a = "")
      .def_static("from_onnx", &fromOnnx, "bytes"_a, "dims"_a = nb::dict(), "operators"_a = std::vector<std::string>())
      .def_static("from_text", &fromText, "text"_a)
      .def_static("from_bytes", &fromBytes, "bytes"_a)
      .def_static("join", &join, "parts"_a)
      .def("to_bytes", &bytesOf)
      .def("__str__", &textOf)
      .def_prop_ro("input_names", &inputNamesOf)
      .def("set_results", &setResults, "json"_a)
      .def("make_states", &makeStates, "states"_a)
      .def("make_language_model", &makeLanguageModel, "settings"_a, "tokenizer"_a = "", "context"_a = 0)
      .def("evaluate", &evaluate, "inputs"_a)
      .def("lower", &lower, "phase"_a, "options"_a = nb::dict())
      .def("compile", &compileTo, "path"_a, "options"_a = nb::dict(), "executable"_a = false);
  module.def("is_known_model_type", &isKnownModelType, "model_type"_a);
  module.def("compile_in_process", &compileInProcess, "module"_a, "path"_a, "options"_a);
  nb::class_<OptionInfo>(module, "OptionInfo", "An option of the compiler.")
      .def_ro("name", &OptionInfo::name)
      .def_ro("type", &OptionInfo::type)
      .def_ro("help", &OptionInfo::help);
  module.def("compile_options", &compileOptions);
  module.def("host_parameters", &hostParameters, "number"_a);
  module.def("error_of_operator", &errorOfOperator, "description"_a);
  module.def("symbol_of_dimension", &symbolOfDimension, "input"_a, "axis"_a, "dimension"_a = "");
}

//===----------------------------------------------------------------------===//
// GraphBuilder
//===----------------------------------------------------------------------===//

static GraphBuilder &builderOf(const BuilderHandle &handle) {
  if (handle.builder->isFinished())
    throw CompileError("the graph is finished already");
  return *handle.builder;
}

static Value valueOf(const BuilderHandle &handle, std::optional<GraphBuilder::Handle> value, const std::string &error) {
  if (!value)
    throw CompileError(error);
  return {handle.builder, *value};
}

static Value addInput(BuilderHandle &handle, const std::string &name, nb::sequence shape, const std::string &type) {
  std::string error;
  return valueOf(handle, builderOf(handle).input(name, extentTexts(shape), type, error), error);
}

static Value addConstant(BuilderHandle &handle, nb::handle array) {
  std::string error;
  return valueOf(handle, builderOf(handle).constant(arrayOf(array, "constant"), error), error);
}

static Value addDims(BuilderHandle &handle, nb::sequence extents, bool isScalar) {
  std::string error;
  return valueOf(handle, builderOf(handle).dims(extentTexts(extents), isScalar, error), error);
}

static void require(BuilderHandle &handle, nb::sequence expressions) {
  std::string error;
  if (!builderOf(handle).require(extentTexts(expressions), error))
    throw CompileError(error);
}

static void requireHere(BuilderHandle &handle, nb::sequence expressions, const std::string &message) {
  std::string error;
  if (!builderOf(handle).requireHere(extentTexts(expressions), message, error))
    throw CompileError(error);
}

static GraphBuilder::Handle handleOf(const BuilderHandle &handle, nb::handle object) {
  if (object.is_none())
    return -1;
  const Value &value = nb::cast<const Value &>(object);
  if (value.builder != handle.builder)
    throw CompileError("a value of another graph");
  return value.handle;
}

static std::vector<Value> addComposite(BuilderHandle &handle, const std::string &name, nb::sequence inputs,
                                       nb::dict attributes) {
  std::vector<GraphBuilder::Handle> operands;
  for (nb::handle input : inputs)
    operands.push_back(handleOf(handle, input));
  std::string error;
  auto results = builderOf(handle).composite(name, operands, attributesOf(attributes), error);
  if (!results)
    throw CompileError(error);
  std::vector<Value> values;
  for (GraphBuilder::Handle result : *results)
    values.push_back({handle.builder, result});
  return values;
}

/// Calls back into Python for the contents of regions. An exception must not unwind through the compiler, so it is kept
/// here.
class RegionCalls {
public:
  explicit RegionCalls(BuilderHandle &handle) : handle(handle) {}

  std::vector<Value> valuesOf(const std::vector<GraphBuilder::Handle> &handles) const {
    std::vector<Value> values;
    for (GraphBuilder::Handle value : handles)
      values.push_back({handle.builder, value});
    return values;
  }
  std::vector<GraphBuilder::Handle> handlesOf(nb::handle values) const {
    std::vector<GraphBuilder::Handle> handles;
    for (nb::handle value : values)
      handles.push_back(handleOf(handle, value));
    return handles;
  }
  GraphBuilder::Region region(nb::callable function) {
    return
        [this, function] { return guarded<std::vector<GraphBuilder::Handle>>([&] { return handlesOf(function()); }); };
  }
  GraphBuilder::Body body(nb::callable function) {
    return [this, function](GraphBuilder::Handle number, const std::vector<GraphBuilder::Handle> &carried) {
      return guarded<GraphBuilder::Iteration>([&] {
        nb::tuple next = nb::cast<nb::tuple>(function(Value{handle.builder, number}, valuesOf(carried)));
        return GraphBuilder::Iteration{handleOf(handle, next[0]), handlesOf(next[1]), handlesOf(next[2])};
      });
    };
  }
  std::vector<Value> finish(const std::optional<std::vector<GraphBuilder::Handle>> &results, const std::string &error) {
    if (thrown)
      std::rethrow_exception(thrown);
    if (!results)
      throw CompileError(error);
    return valuesOf(*results);
  }

private:
  template <typename Result, typename Function> std::optional<Result> guarded(const Function &function) {
    try {
      return function();
    } catch (...) {
      if (!thrown) // later ones are about the same failure
        thrown = std::current_exception();
      return std::nullopt;
    }
  }

  BuilderHandle &handle;
  std::exception_ptr thrown;
};

static std::vector<Value> addBranch(BuilderHandle &handle, const Value &condition, nb::callable thenBody,
                                    nb::callable elseBody) {
  RegionCalls calls(handle);
  std::string error;
  auto results = builderOf(handle).branch(condition.handle, calls.region(thenBody), calls.region(elseBody), error);
  return calls.finish(results, error);
}

static std::vector<Value> addLoop(BuilderHandle &handle, nb::object limit, nb::object condition, nb::sequence initial,
                                  nb::callable body) {
  RegionCalls calls(handle);
  std::string error;
  auto results = builderOf(handle).loop(handleOf(handle, limit), handleOf(handle, condition), calls.handlesOf(initial),
                                        calls.body(body), error);
  return calls.finish(results, error);
}

static nb::object measure(BuilderHandle &handle, const Value &value) {
  std::string error;
  std::optional<std::string> number = builderOf(handle).measure(value.handle, error);
  if (!number)
    throw CompileError(error);
  return extentObject(*number);
}

static std::unique_ptr<Program>
finish(BuilderHandle &handle, nb::sequence names, nb::sequence values,
       const std::vector<std::tuple<std::string, std::string, std::string, nb::object>> &states) {
  if (nb::len(names) != nb::len(values))
    throw CompileError("expected as many names as outputs");
  std::vector<std::pair<std::string, GraphBuilder::Handle>> outputs;
  for (size_t i = 0; i < nb::len(names); ++i) {
    if (nb::object(values[i]).is_none())
      throw CompileError("output '" + nb::cast<std::string>(names[i]) + "': expected a value, got None");
    outputs.emplace_back(nb::cast<std::string>(names[i]), handleOf(handle, values[i]));
  }
  std::vector<GraphBuilder::StateNames> made;
  for (const auto &[input, output, name, initial] : states)
    made.push_back({input, output, name, arrayOf(initial, "state")});
  std::string error;
  return orThrow(builderOf(handle).finish(outputs, made, error), error);
}

static nb::object contentsOf(const Value &value) {
  auto contents = builderOf({value.builder}).contents(value.handle);
  return contents ? nb::object(extentObjects(*contents)) : nb::none();
}

static void bindBuilder(nb::module_ &module) {
  nb::class_<TypeName>(module, "Type", "An element type as an attribute.").def(nb::init<std::string>(), "name"_a);
  nb::class_<Value>(module, "Value", "A tensor in a graph.")
      .def_prop_ro("shape", [](const Value &v) { return extentObjects(builderOf({v.builder}).shape(v.handle)); })
      .def_prop_ro("dtype", [](const Value &v) { return builderOf({v.builder}).type(v.handle); })
      .def_prop_ro("contents", &contentsOf);
  nb::class_<BuilderHandle>(module, "GraphBuilder", "Builds a module with one function.")
      .def(
          "__init__",
          [](BuilderHandle *self, const std::string &name) {
            new (self) BuilderHandle{std::make_shared<GraphBuilder>(name)};
          },
          "name"_a)
      .def_static("has_composite", &GraphBuilder::hasComposite, "name"_a)
      .def("input", &addInput, "name"_a, "shape"_a, "dtype"_a)
      .def("constant", &addConstant, "array"_a)
      .def("dims", &addDims, "extents"_a, "scalar"_a = false)
      .def("require", &require, "expressions"_a)
      .def("require_here", &requireHere, "expressions"_a, "message"_a)
      .def("composite", &addComposite, "name"_a, "inputs"_a, "attributes"_a = nb::dict())
      .def("branch", &addBranch, "condition"_a, "then"_a, "otherwise"_a)
      .def("loop", &addLoop, "limit"_a.none(), "condition"_a.none(), "initial"_a, "body"_a)
      .def("measure", &measure, "value"_a)
      .def(
          "set_location",
          [](BuilderHandle &self, const std::string &name, const std::string &kind) {
            builderOf(self).setLocation(name, kind);
          },
          "name"_a, "kind"_a = "")
      .def(
          "update",
          [](BuilderHandle &self, const Value &input, const Value &block, nb::object offset, int64_t axis) {
            std::string error;
            return valueOf(self, builderOf(self).update(input.handle, block.handle, extentText(offset), axis, error),
                           error);
          },
          "input"_a, "block"_a, "offset"_a, "axis"_a)
      .def("finish", &finish, "names"_a, "values"_a,
           "states"_a = std::vector<std::tuple<std::string, std::string, std::string, nb::object>>());
}

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

static nb::list shapeOf(const perpend_tensor_info &info) {
  nb::list shape;
  for (int32_t i = 0; i < info.rank; ++i)
    shape.append(info.dims[i] >= 0 ? nb::object(nb::int_(info.dims[i])) : nb::object(nb::str(info.dimTexts[i])));
  return shape;
}

static nb::list describe(const std::vector<const perpend_tensor_info *> &tensors) {
  nb::list list;
  for (const perpend_tensor_info *info : tensors)
    list.append(nb::make_tuple(info->name, perpend_type_name(info->type), shapeOf(*info)));
  return list;
}

static void bindModel(nb::module_ &module) {
  nb::class_<Model>(module, "Model", "A compiled model.")
      .def(nb::init<const std::string &, int, const std::string &>(), "path"_a, "threads"_a = 0, "weights"_a = "")
      .def(nb::init<const Model &, const std::string &>(), "other"_a, "entry"_a)
      .def("__call__", &Model::call)
      .def("call_with", &Model::callWith, "states"_a, "inputs"_a)
      .def("profile", &Model::profile)
      .def("take_map", &Model::takeMap, "name"_a, "keys"_a)
      .def("present_as_maps", &Model::presentAsMaps, "output"_a, "labels"_a)
      .def("allow_threads", &Model::allowThreads, "count"_a)
      .def("separate", &Model::separate, "copies_states"_a)
      .def("reset", &Model::reset)
      .def("truncate", &Model::truncate, "length"_a)
      .def("save_states", &Model::saveStates)
      .def("load_states", &Model::loadStates, "data"_a)
      .def_prop_ro("states", &Model::states)
      .def_prop_ro("input_list", [](const Model &model) { return describe(model.inputs()); })
      .def_prop_ro("output_list", [](const Model &model) { return describe(model.outputs()); })
      .def_prop_ro("entries", &Model::entries)
      .def_prop_ro("name", &Model::name)
      .def_prop_ro("path", &Model::path)
      .def_prop_ro("threads", &Model::threads)
      .def_prop_ro("descriptor", &Model::descriptor);
}
} // namespace perpend::python

NB_MODULE(_perpend, module) {
  module.doc() = "The compiler and the runtime of Perpend.";
  nb::set_leak_warnings(false); // PyTorch's caches of compiled functions hold models until the process ends
  nb::exception<perpend::python::CompileError>(module, "CompileError", PyExc_ValueError);
  module.def("version", [] { return PERPEND_VERSION; });
  perpend::python::bindProgram(module);
  perpend::python::bindBuilder(module);
  perpend::python::OutputMemory::bind(module);
  perpend::python::bindModel(module);
  perpend::python::bindSchedules(module);
  perpend::python::bindFrozenTensors(module);
  perpend::python::bindTokenizer(module);
  perpend::python::bindAccelerators(module);
  perpend::python::bindTuning(module);
  perpend::python::bindSampling(module);
  perpend::python::bindChatTemplates(module);
  perpend::python::bindLanguageModels(module);
}
