//===- Session.cpp - runs of a model, wherever it runs --------------------===//

#include "cli/Session.h"
#include "cli/Runner.h"

#include "runner/Wire.h"
#include "runtime/Model.h"

#include "target/Program.h"

namespace perpend::cli {

void failRun(std::string message, StringRef advice) {
  if (!advice.empty())
    message += (StringRef(message).contains("; hint: ") ? "; " : "; hint: ") + advice.str();
  fail(message);
}

namespace {
class LocalSession : public Session {
public:
  LocalSession(perpend_model *model, SessionOwner session) : model(model), session(std::move(session)) {}

  std::optional<std::vector<Array>> run(ArrayRef<Array> inputs, StringRef advice) override {
    return runOnce(model, session.get(), inputs, advice);
  }
  std::optional<std::vector<Array>> states() override;
  std::optional<std::vector<llvm::SmallVector<int64_t>>> outputShapes(ArrayRef<perpend_tensor> inputs) override;
  perpend_session *local() override { return session.get(); }

private:
  perpend_model *model;
  SessionOwner session;
};

class ForeignSession : public Session {
public:
  ForeignSession(perpend_model *model, std::unique_ptr<Runner> runner) : model(model), runner(std::move(runner)) {}

  std::optional<std::vector<Array>> run(ArrayRef<Array> inputs, StringRef advice) override;
  std::optional<std::vector<Array>> states() override { return kept; }
  std::optional<std::vector<double>> times(ArrayRef<Array> inputs, double milliseconds, StringRef advice) override;
  std::optional<std::vector<llvm::SmallVector<int64_t>>> outputShapes(ArrayRef<perpend_tensor> inputs) override;

private:
  perpend_model *model;
  std::unique_ptr<Runner> runner;
  std::vector<Array> kept; ///< the states
};

/// Of a program of an accelerator, whose shapes are numbers.
class ProgramSession : public Session {
public:
  ProgramSession(perpend_model *model, std::shared_ptr<target::Program> program)
      : model(model), program(std::move(program)) {}

  std::optional<std::vector<Array>> run(ArrayRef<Array> inputs, StringRef advice) override;
  std::optional<std::vector<Array>> states() override { return std::vector<Array>(); }
  std::optional<std::vector<llvm::SmallVector<int64_t>>> outputShapes(ArrayRef<perpend_tensor> inputs) override;

private:
  perpend_model *model;
  std::shared_ptr<target::Program> program;
};
} // namespace

std::unique_ptr<Session> Session::create(perpend_model *model, int64_t threads) {
  if (const ForeignLibrary *library = foreignLibraryOf(model)) {
    if (library->program)
      return std::make_unique<ProgramSession>(model, library->program);
    if (library->isRefused)
      return nullptr;
    std::unique_ptr<Runner> runner = Runner::start(*library, model->tables.entry.name, threads);
    library->isRefused = !runner;
    return runner ? std::make_unique<ForeignSession>(model, std::move(runner)) : nullptr;
  }
  SessionOwner session = createSession(model, threads);
  return session ? std::make_unique<LocalSession>(model, std::move(session)) : nullptr;
}

std::optional<std::vector<Array>> LocalSession::states() {
  std::vector<Array> states;
  for (int32_t state = 0; state < perpend_model_state_count(model); ++state) {
    perpend_tensor view{};
    if (perpend_session_state(session.get(), state, &view) != PERPEND_OK)
      return fail(perpend_error_message()), std::nullopt;
    states.push_back(Array::copyOf(view));
  }
  return states;
}

std::optional<std::vector<llvm::SmallVector<int64_t>>> LocalSession::outputShapes(ArrayRef<perpend_tensor> inputs) {
  std::vector<llvm::SmallVector<int64_t>> shapes;
  for (int32_t i = 0; i < perpend_model_output_count(model); ++i) {
    const auto rank = static_cast<size_t>(perpend_model_output(model, i)->rank);
    llvm::SmallVector<int64_t> &shape = shapes.emplace_back(std::max<size_t>(rank, 1), 1);
    perpend_status status = perpend_session_output_shape(session.get(), inputs.data(),
                                                         static_cast<int32_t>(inputs.size()), i, shape.data());
    if (status != PERPEND_OK && status != PERPEND_SHAPE_UNKNOWN)
      return std::nullopt;
    shape.resize(rank);
  }
  return shapes;
}

std::optional<std::vector<Array>> ForeignSession::run(ArrayRef<Array> inputs, StringRef advice) {
  std::vector<perpend_tensor> views;
  for (const Array &input : inputs)
    views.push_back(input.view());
  std::string message;
  std::optional<std::vector<Array>> all = runner->ask(runtime::RequestRun, views, message);
  if (!all)
    return failRun(message, advice), std::nullopt;
  const auto outputs = all->begin() + perpend_model_output_count(model);
  kept.assign(outputs, all->end());
  all->erase(outputs, all->end());
  return all;
}

std::optional<std::vector<double>> Session::times(ArrayRef<Array>, double, StringRef) {
  return fail("the times of this session are measured in the process"), std::nullopt;
}

std::optional<std::vector<double>> ForeignSession::times(ArrayRef<Array> inputs, double milliseconds,
                                                         StringRef advice) {
  std::vector<perpend_tensor> views;
  for (const Array &input : inputs)
    views.push_back(input.view());
  const int64_t one = 1;
  views.push_back({&milliseconds, &one, 1, PERPEND_F64});
  std::string message;
  std::optional<std::vector<Array>> reply = runner->ask(runtime::RequestTimes, views, message);
  if (!reply)
    return failRun(message, advice), std::nullopt;
  const perpend_tensor times = reply->front().view();
  const auto *first = static_cast<const double *>(times.data);
  return std::vector<double>(first, first + times.shape[0]);
}

std::optional<std::vector<llvm::SmallVector<int64_t>>> ForeignSession::outputShapes(ArrayRef<perpend_tensor> inputs) {
  std::string message;
  std::optional<std::vector<Array>> all = runner->ask(runtime::RequestShapes, inputs, message);
  if (!all)
    return std::nullopt;
  std::vector<llvm::SmallVector<int64_t>> shapes;
  for (const Array &output : *all)
    shapes.push_back(output.shape);
  return shapes;
}

static llvm::SmallVector<int64_t> shapeOf(const perpend_tensor_info &info) {
  return llvm::SmallVector<int64_t>(ArrayRef(info.dims, static_cast<size_t>(info.rank)));
}

std::optional<std::vector<llvm::SmallVector<int64_t>>> ProgramSession::outputShapes(ArrayRef<perpend_tensor> inputs) {
  std::vector<llvm::SmallVector<int64_t>> shapes;
  for (int32_t i = 0; i < perpend_model_output_count(model); ++i)
    shapes.push_back(shapeOf(*perpend_model_output(model, i)));
  return shapes;
}

static ArrayRef<char> bytesOf(const Array &array) {
  return {reinterpret_cast<const char *>(array.bytes.get()), static_cast<size_t>(array.sizeBytes())};
}

/// Empty: the input fits.
static std::string misfitOf(const Array &input, const perpend_tensor_info &info) {
  if (input.type == info.type && ArrayRef(input.shape) == ArrayRef(shapeOf(info)))
    return "";
  return "input '" + std::string(info.name) + "': expected " + arrays::typeText(info.type, shapeOf(info)) + ", got " +
         arrays::typeText(input);
}

std::optional<std::vector<Array>> ProgramSession::run(ArrayRef<Array> inputs, StringRef advice) {
  std::vector<ArrayRef<char>> values;
  for (auto [number, input] : llvm::enumerate(inputs)) {
    if (std::string misfit = misfitOf(input, *perpend_model_input(model, static_cast<int32_t>(number)));
        !misfit.empty())
      return failRun(misfit, advice), std::nullopt;
    values.push_back(bytesOf(input));
  }
  std::vector<target::ProgramOutput> results;
  for (int32_t i = 0; i < perpend_model_output_count(model); ++i) {
    const perpend_tensor_info &info = *perpend_model_output(model, i);
    llvm::SmallVector<int64_t> shape = shapeOf(info);
    results.push_back({static_cast<unsigned>(perpend_type_size_bytes(info.type)), {shape.begin(), shape.end()}, {}});
  }
  if (llvm::Error error = program->run(values, results))
    return failRun(llvm::toString(std::move(error)), advice), std::nullopt;
  std::vector<Array> outputs;
  for (auto [number, result] : llvm::enumerate(results)) {
    const perpend_tensor_info &info = *perpend_model_output(model, static_cast<int32_t>(number));
    outputs.push_back(Array::allocate(info.type, result.shape));
    std::memcpy(outputs.back().bytes.get(), result.bytes.data(), result.bytes.size());
  }
  return outputs;
}
} // namespace perpend::cli
