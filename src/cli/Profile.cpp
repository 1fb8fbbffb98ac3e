//===- Profile.cpp - times of a model's kernels ---------------------------===//

#include "cli/Profile.h"

#include "support/ReadableText.h"

#include "llvm/Support/Format.h"

#include <chrono>

namespace perpend::cli {

struct Profiler::Kernel {
  StringRef name;
  int64_t calls;             ///< over all runs
  std::vector<double> times; ///< sum over the calls of a run, in us

  double median() const { return times[times.size() / 2]; }
  double callsOfRun() const { return static_cast<double>(calls) / static_cast<double>(times.size()); }
};

static double nowMs() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The machine for which the artifact was compiled, as it runs here.
static std::optional<target::TargetInfo> targetOf(const perpend_model *model) {
  auto target = target::resolveTarget(descriptionOf(model).getString("target").value_or("host"));
  if (!target)
    return llvm::consumeError(target.takeError()), std::nullopt;
  return *target;
}

Profiler::Profiler(perpend_model *model, ArrayRef<Array> inputs, const CompileReport &report)
    : model(model), target(targetOf(model)) {
  for (const KernelFacts &kernel : report.kernels)
    facts[kernel.name] = &kernel;
  for (const MachineReport &machine : report.machines)
    if (target && machine.target == target->name)
      for (const KernelFacts &kernel : machine.kernels)
        facts[kernel.name] = &kernel;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    const perpend_tensor_info *info = perpend_model_input(model, static_cast<int32_t>(i));
    for (int32_t dim = 0; dim < std::min<int32_t>(info->rank, static_cast<int32_t>(input.shape.size())); ++dim)
      symbols[info->dimTexts[dim]] = input.shape[dim];
  }
}

/// Takes each kernel's time in several runs; medians are robust against interruptions.
bool Profiler::measure(std::vector<Kernel> &kernels, perpend_session *session, Execution &execution) const {
  constexpr size_t leastRuns = 20;
  constexpr double leastMs = 100;
  for (int32_t i = 0; i < perpend_model_kernel_count(model); ++i)
    kernels.push_back({perpend_model_kernel_name(model, i), 0, {}});
  execution.run(); // caches may hold another lane's data
  size_t runs = 0;
  for (double start = nowMs(); runs < leastRuns || nowMs() - start < leastMs; ++runs) {
    perpend_session_profile(session, 1); // resets the times
    if (!execution.run())
      return false;
    for (auto [i, kernel] : llvm::enumerate(kernels)) {
      int64_t timeNs = 0, calls = 0;
      perpend_session_kernel_profile(session, static_cast<int32_t>(i), &timeNs, &calls);
      kernel.times.push_back(static_cast<double>(timeNs) / 1e3);
      kernel.calls += calls;
    }
  }
  perpend_session_profile(session, 0);
  for (Kernel &kernel : kernels)
    llvm::sort(kernel.times);
  llvm::sort(kernels, [](const Kernel &a, const Kernel &b) {
    return std::make_tuple(b.median(), a.name) < std::make_tuple(a.median(), b.name);
  });
  return true;
}

/// Prints GFLOP/s, GB/s and the fraction of the roof, or blanks.
void Profiler::printRates(const Kernel &kernel, int64_t threads, llvm::raw_ostream &out) const {
  const KernelFacts *known = facts.lookup(kernel.name);
  std::optional<int64_t> operations, operationBytes, bytes;
  if (known && known->work && known->calls && target) {
    operations = known->work->operations.evaluate(symbols);
    operationBytes = known->work->operationBytes.evaluate(symbols);
    bytes = known->work->bytes.evaluate(symbols);
  }
  if (!operations || !operationBytes || !bytes || kernel.median() <= 0) {
    out << "         -        -      -";
    return;
  }
  constexpr double floatBytes = 4;
  const double calls = kernel.callsOfRun(), once = 1.0 / static_cast<double>(known->calls);
  const double seconds = kernel.median() * 1e-6, lanes = static_cast<double>(threads);
  const double bytesOfCall = static_cast<double>(*bytes) * once;
  const double arithmetic = static_cast<double>(*operationBytes) * once / floatBytes / target->flopsPerSecond();
  // Each thread has caches of its own; what is behind them is shared, and holds the bytes of all threads.
  const target::Memory &own = target->innermostHolding(bytesOfCall / lanes, target->levels.back().name);
  const bool isShared = !target->isOwn(own);
  const target::Memory &memory = isShared ? target->innermostHolding(bytesOfCall, /*level=*/"") : own;
  const double moving = bytesOfCall / memory.bytesPerSecond * (isShared ? lanes : 1);
  out << llvm::format(" %9.1f %8.1f %5.0f%%", static_cast<double>(*operations) * once * calls / seconds / 1e9,
                      bytesOfCall * calls / seconds / 1e9,
                      100 * std::max(arithmetic, moving) * calls / lanes / seconds);
}

static std::string nodesText(const KernelFacts *known) {
  constexpr size_t most = 3;
  std::string text;
  if (!known)
    return text;
  for (size_t i = 0; i < std::min(most, known->nodes.size()); ++i)
    text += (i ? ", " : "  ") + support::readable(known->nodes[i]);
  if (known->nodes.size() > most)
    text += " and " + std::to_string(known->nodes.size() - most) + " more";
  return text;
}

bool Profiler::print(int64_t threads, perpend_session *session, Execution &execution, llvm::raw_ostream &out) const {
  std::vector<Kernel> kernels;
  if (!measure(kernels, session, execution))
    return false;
  double total = 0;
  for (const Kernel &kernel : kernels)
    total += kernel.median();
  out << "\nkernels, " << threads << " threads: in one run, the median of "
      << (kernels.empty() ? 0 : kernels[0].times.size()) << "\n   calls  median us      %"
      << (facts.empty() ? "  name" : "   GFLOP/s     GB/s   roof  name  nodes") << "\n";
  for (const Kernel &kernel : kernels) {
    out << llvm::format("%8lld %10.2f %6.1f", static_cast<long long>(kernel.callsOfRun()), kernel.median(),
                        total > 0 ? 100 * kernel.median() / total : 0);
    if (!facts.empty())
      printRates(kernel, threads, out);
    out << "  " << kernel.name << nodesText(facts.lookup(kernel.name)) << "\n";
  }
  return true;
}
} // namespace perpend::cli
