//===- CompareProgram.cpp - compares a model with two schedules -----------===//
//
// A kernel measured alone finds other data in the caches, other alignment and other neighbours than in its model. So
// both libraries of the model run alternately on the same inputs, and the time of each kernel is recorded.
//
//===----------------------------------------------------------------------===//

#include "tune/MeasureProgram.h"

#include "tune/Duel.h"
#include "tune/MeasuredLibrary.h"
#include "tune/TensorFile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace perpend::tune {
namespace {
using Clock = std::chrono::steady_clock;

class Comparison {
public:
  Comparison(int threads, double seconds) : threads(threads), seconds(seconds) {}
  /// Returns the text to print.
  std::string run(const char *inputPath, const char *plainPath, const char *tunedPath);

private:
  struct Side {
    Library library;
    std::vector<perpend_tensor> outputs;
    std::vector<double> times;                          ///< time of a run, per round
    std::map<std::string, std::vector<double>> kernels; ///< time of each kernel, per round
  };
  bool load(Side &side, const char *path) const;
  bool runOnce(Side &side) const;
  bool addRound(Side &side, int64_t runs) const;
  std::string text() const;

  int threads;
  double seconds; ///< time left
  Clock::time_point start = Clock::now();
  std::vector<perpend_tensor> inputs;
  Side plain, tuned;
};
} // namespace

bool Comparison::load(Side &side, const char *path) const {
  if (!side.library.load(path, threads))
    return false;
  side.outputs.resize(static_cast<size_t>(side.library.outputCount()));
  return runOnce(side);
}

/// Runs once; the outputs stay in the session.
bool Comparison::runOnce(Side &side) const {
  for (perpend_tensor &output : side.outputs)
    output = {};
  return side.library.run(inputs, side.outputs);
}

bool Comparison::addRound(Side &side, int64_t runs) const {
  if (!side.library.startProfile())
    return false;
  Clock::time_point start = Clock::now();
  for (int64_t i = 0; i < runs; ++i)
    if (!runOnce(side))
      return false;
  auto count = static_cast<double>(runs);
  side.times.push_back(std::chrono::duration<double>(Clock::now() - start).count() / count);
  std::map<std::string, double> seconds; // a kernel may have calls of several names
  for (int32_t kernel = 0; kernel < side.library.kernelCount(); ++kernel)
    seconds[side.library.kernelName(kernel)] += side.library.secondsOf(kernel) / count;
  for (const auto &[name, time] : seconds)
    side.kernels[name].push_back(time);
  return true;
}

std::string Comparison::text() const {
  char line[400];
  std::snprintf(line, sizeof line, "compared %.12e %.12e\n", medianOf(plain.times), medianOf(tuned.times));
  std::string text = line;
  for (const auto &[name, times] : tuned.kernels) {
    auto before = plain.kernels.find(name);
    if (before == plain.kernels.end() || before->second.size() != times.size())
      continue;
    std::vector<double> ratios;
    for (size_t i = 0; i < times.size(); ++i)
      if (before->second[i] > 0)
        ratios.push_back(times[i] / before->second[i]);
    if (ratios.empty())
      continue;
    std::snprintf(line, sizeof line, "%.200s %.6f\n", name.c_str(), medianOf(ratios));
    text += line;
  }
  return text;
}

std::string Comparison::run(const char *inputPath, const char *plainPath, const char *tunedPath) {
  constexpr double sliceSeconds = 5e-3, enoughSeconds = 2;
  constexpr size_t leastRounds = 3, enoughRounds = 9, mostRounds = 41;
  std::vector<StoredTensor> stored;
  if (!readTensors(inputPath, stored))
    return "refused its inputs cannot be read";
  for (StoredTensor &tensor : stored)
    inputs.push_back(
        {tensor.bytes.data(), tensor.shape.data(), static_cast<int32_t>(tensor.shape.size()), tensor.type});
  if (!load(plain, plainPath) || !load(tuned, tunedPath))
    return std::string("refused it does not run: ") + perpend_error_message();
  Clock::time_point loaded = Clock::now();
  auto since = [](Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); };
  if (!runOnce(plain))
    return std::string("refused it does not run again: ") + perpend_error_message();
  auto runs = std::max<int64_t>(1, static_cast<int64_t>(sliceSeconds / std::max(since(loaded), 1e-7)));
  auto goesOn = [&](size_t round) {
    if (round < leastRounds)
      return true;
    double ofNext = since(loaded) / static_cast<double>(round);
    return round < mostRounds && since(start) + ofNext < seconds &&
           (round < enoughRounds || since(loaded) < enoughSeconds);
  };
  for (size_t round = 0; goesOn(round); ++round) {
    Side &first = round % 2 ? tuned : plain, &second = round % 2 ? plain : tuned;
    if (!addRound(first, runs) || !addRound(second, runs))
      return std::string("refused it does not run again: ") + perpend_error_message();
  }
  return text();
}

int compareMain(int argumentCount, char **arguments) {
  if (argumentCount != 7 || !isolateFrom(static_cast<pid_t>(std::atol(arguments[1]))))
    return 1;
  std::string text =
      Comparison(std::atoi(arguments[3]), std::atof(arguments[4])).run(arguments[2], arguments[5], arguments[6]);
  std::puts(text.c_str());
  return std::fflush(stdout) == 0 ? 0 : 1;
}
} // namespace perpend::tune
