//===- MeasureProgram.cpp - runs and times candidates ---------------------===//
//
// Inputs and outputs are in one allocation, like tensors in the memory of a model, so that a kernel finds them as in a
// program that uses the model. Both libraries use the same tensors, so neither is faster because of their position.
//
//===----------------------------------------------------------------------===//

#include "tune/MeasureProgram.h"

#include "tune/Duel.h"
#include "tune/MeasuredLibrary.h"
#include "tune/TensorFile.h"

#include "runtime/Allocate.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace perpend::tune {
namespace {
/// Places tensors one after another in one allocation.
class Placement {
public:
  /// Different numbers give different distances between tensors.
  explicit Placement(int64_t number) : gap(line * (2 * number + 1)), begin(line * 6 * number) {}
  Placement(const Placement &) = delete;
  ~Placement() { std::free(memory); }

  /// To be called before allocate().
  size_t add(int64_t bytes) {
    offsets.push_back(begin);
    begin += (bytes + line - 1) / line * line + gap;
    return offsets.size() - 1;
  }
  bool allocate() {
    memory = static_cast<std::byte *>(runtime::allocateTensor(begin + line));
    if (memory)
      std::memset(memory, 0, static_cast<size_t>(begin));
    return memory;
  }
  std::byte *at(size_t number) const { return memory + offsets[number]; }

  static constexpr int64_t line = 64;

private:
  int64_t gap, begin;
  std::vector<int64_t> offsets;
  std::byte *memory = nullptr;
};

class Measurement {
public:
  Measurement(int threads, int64_t placement, int64_t others)
      : threads(threads), placement(placement), others(static_cast<size_t>(others)) {}
  /// Returns the line to print.
  std::string run(const char *inputPath, const char *outputPath, const char *candidatePath, const char *bestPath);

private:
  bool place();
  void fillCaches() const;
  TimedRuns runsOf(Library &library);

  int threads;
  Placement placement;
  std::vector<std::byte> others;
  std::vector<StoredTensor> stored;
  std::vector<std::vector<int64_t>> shapes;  ///< shapes of outputs
  std::vector<perpend_tensor> inputs, given; ///< `given`: outputs; null if their extents depend on data
  Library candidate, best;
};
} // namespace

bool Measurement::place() {
  for (const StoredTensor &tensor : stored) {
    placement.add(static_cast<int64_t>(tensor.bytes.size()));
    inputs.push_back({nullptr, tensor.shape.data(), static_cast<int32_t>(tensor.shape.size()), tensor.type});
  }
  shapes.resize(static_cast<size_t>(candidate.outputCount()));
  std::vector<size_t> places(shapes.size(), ~size_t{0});
  for (int32_t i = 0; i < candidate.outputCount(); ++i) {
    std::vector<int64_t> &shape = shapes[static_cast<size_t>(i)];
    perpend_tensor &output = given.emplace_back();
    if (!candidate.shapeOf(inputs, i, shape))
      continue;
    output = {nullptr, shape.data(), static_cast<int32_t>(shape.size()) - 1, candidate.typeOf(i)};
    int64_t bytes = perpend_type_size_bytes(output.type);
    for (int32_t dim = 0; dim < output.rank; ++dim)
      bytes *= shape[static_cast<size_t>(dim)];
    places[static_cast<size_t>(i)] = placement.add(bytes);
  }
  if (!placement.allocate())
    return false;
  for (size_t i = 0; i < stored.size(); ++i) {
    inputs[i].data = placement.at(i);
    std::memcpy(inputs[i].data, stored[i].bytes.data(), stored[i].bytes.size());
  }
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] != ~size_t{0})
      given[i].data = placement.at(places[i]);
  return true;
}

static void readLines(const std::byte *bytes, size_t count) {
  for (size_t i = 0; i < count; i += Placement::line)
    (void)*static_cast<const volatile std::byte *>(bytes + i);
}

/// Fills caches with what they contain when a model reaches this kernel.
void Measurement::fillCaches() const {
  if (others.empty())
    return;
  readLines(others.data(), others.size());
  for (size_t i = 0; i < stored.size(); ++i)
    readLines(static_cast<const std::byte *>(inputs[i].data), stored[i].bytes.size());
}

TimedRuns Measurement::runsOf(Library &library) {
  return [this, &library](int64_t runs) {
    using Clock = std::chrono::steady_clock;
    std::vector<perpend_tensor> outputs(given);
    Clock::duration spent = {};
    for (int64_t i = 0; i < runs; ++i) {
      for (size_t output = 0; output < given.size(); ++output)
        outputs[output] = given[output];
      fillCaches();
      Clock::time_point start = Clock::now();
      if (!library.run(inputs, outputs))
        return -1.0;
      spent += Clock::now() - start;
    }
    return std::chrono::duration<double>(spent).count();
  };
}

static bool areEqual(const std::vector<StoredTensor> &a, const std::vector<StoredTensor> &b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].shape != b[i].shape || a[i].bytes != b[i].bytes)
      return false;
  return true;
}

static std::vector<StoredTensor> copiesOf(const std::vector<perpend_tensor> &tensors) {
  std::vector<StoredTensor> copies;
  for (const perpend_tensor &tensor : tensors) {
    int64_t bytes = perpend_type_size_bytes(tensor.type);
    for (int32_t i = 0; i < tensor.rank; ++i)
      bytes *= tensor.shape[i];
    const auto *data = static_cast<const std::byte *>(tensor.data);
    copies.push_back({tensor.type, {tensor.shape, tensor.shape + tensor.rank}, {data, data + bytes}});
  }
  return copies;
}

static void addViews(std::vector<StoredTensor> &tensors, std::vector<perpend_tensor> &views) {
  for (StoredTensor &tensor : tensors)
    views.push_back({tensor.bytes.data(), tensor.shape.data(), static_cast<int32_t>(tensor.shape.size()), tensor.type});
}

std::string Measurement::run(const char *inputPath, const char *outputPath, const char *candidatePath,
                             const char *bestPath) {
  auto refused = [](const char *what) { return std::string("refused ") + what + ": " + perpend_error_message(); };
  auto ofFile = [](const char *what, const char *path) {
    return std::string("refused its ") + what + " '" + path + "': " + std::strerror(errno) +
           "\nhint: TMPDIR=FOLDER with room for them";
  };
  if (!readTensors(inputPath, stored))
    return ofFile("inputs cannot be read from", inputPath);
  if (!candidate.load(candidatePath, threads))
    return refused("it cannot be loaded");
  if (bestPath && !best.load(bestPath, threads))
    return refused("the best so far cannot be loaded");
  if (!place())
    return "refused there is no memory for its inputs and outputs: it may have " + std::to_string(mostGiB) + " GiB";
  std::vector<perpend_tensor> outputs(given), views;
  if (!candidate.run(inputs, outputs))
    return refused("it does not run");
  std::vector<StoredTensor> first = copiesOf(outputs);
  DuelResult result = bestPath ? duel(runsOf(best), runsOf(candidate)) : timeAlone(runsOf(candidate));
  outputs = given;
  if (!result.isDone || !candidate.run(inputs, outputs))
    return refused("it does not run again");
  std::vector<StoredTensor> last = copiesOf(outputs);
  addViews(first, views);
  if (!areEqual(first, last))
    addViews(last, views);
  if (!writeTensors(outputPath, views))
    return ofFile("outputs cannot be written to", outputPath);
  char text[200];
  std::snprintf(text, sizeof text, "measured %.12e %.12e %.12e %.12e %d", result.seconds, result.spreadSeconds,
                result.ratio, result.bestSeconds, result.isFaster ? 1 : 0);
  return text;
}

int measureMain(int argumentCount, char **arguments) {
  if (argumentCount > 1 && std::strcmp(arguments[1], "models") == 0)
    return compareMain(argumentCount - 1, arguments + 1);
  if (argumentCount < 8 || argumentCount > 9) {
    std::fprintf(stderr,
                 "usage: %s PARENT INPUTS OUTPUTS THREADS PLACEMENT OTHERS CANDIDATE [BEST]\n"
                 "       %s models PARENT INPUTS THREADS SECONDS PLAIN TUNED\n",
                 arguments[0], arguments[0]);
    return 2;
  }
  if (!isolateFrom(static_cast<pid_t>(std::atol(arguments[1]))))
    return 1;
  std::string line = Measurement(std::atoi(arguments[4]), std::atol(arguments[5]), std::atol(arguments[6]))
                         .run(arguments[2], arguments[3], arguments[7], argumentCount == 9 ? arguments[8] : nullptr);
  std::puts(line.c_str());
  return std::fflush(stdout) == 0 ? 0 : 1;
}
} // namespace perpend::tune
