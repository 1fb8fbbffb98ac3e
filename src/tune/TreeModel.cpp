//===- TreeModel.cpp - a cost model that learns during tuning -------------===//

#include "tune/TreeModel.h"

#include "graph/Attributes.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace perpend::tune {

/// Measurements needed before the trees are used.
static constexpr size_t leastRows = 16;
static constexpr double infinite = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// What was measured
//===----------------------------------------------------------------------===//

/// A version of the features: those of other versions have another meaning.
static const std::string &version() {
  static const std::string text = llvm::utohexstr(llvm::xxh3_64bits(llvm::join(featureNames(), ",")));
  return text;
}

static std::string lineOf(StringRef group, const MeasuredRow &row) {
  std::string time = std::isinf(row.time) ? "inf" : llvm::formatv("{0:e6}", row.time).str();
  std::string line = llvm::formatv("{0}\t{1}\t{2}\t", version(), group, time).str();
  llvm::raw_string_ostream out(line);
  llvm::interleave(row.features, out, [&](float feature) { out << llvm::format("%.6g", feature); }, " ");
  return line + "\n";
}

/// nullopt: not a row, or of another version.
static std::optional<std::pair<StringRef, MeasuredRow>> rowOf(StringRef line) {
  SmallVector<StringRef> parts, numbers;
  line.split(parts, '\t');
  MeasuredRow row;
  if (parts.size() != 4 || parts[0] != version() || parts[2].getAsDouble(row.time))
    return std::nullopt;
  parts[3].split(numbers, ' ');
  for (StringRef number : numbers) {
    double feature = 0;
    number.getAsDouble(feature);
    row.features.push_back(static_cast<float>(feature));
  }
  return row.features.size() == featureNames().size() ? std::optional(std::pair(parts[1], std::move(row)))
                                                      : std::nullopt;
}

llvm::Error Experience::keepIn(StringRef path) {
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text && text.getError() != std::errc::no_such_file_or_directory)
    return llvm::createStringError("cannot read '" + path + "', what was measured: " + text.getError().message());
  SmallVector<StringRef> lines;
  if (text)
    (*text)->getBuffer().split(lines, '\n');
  for (StringRef line : lines)
    if (auto row = rowOf(line))
      add(row->first, std::move(row->second));
  if (rows >= leastRows)
    train();
  std::error_code error;
  file = std::make_unique<llvm::raw_fd_ostream>(path, error, llvm::sys::fs::OF_Append);
  if (!error) {
    if (text && !(*text)->getBuffer().empty() && !(*text)->getBuffer().ends_with("\n"))
      *file << "\n"; // a writer was killed within a line
    return llvm::Error::success();
  }
  file->clear_error();
  file.reset();
  return llvm::createStringError("cannot write '" + path + "', what is measured: " + error.message());
}

void Experience::add(StringRef group, MeasuredRow row) {
  auto [number, isNew] = numbers.try_emplace(group, groups.size());
  if (isNew)
    groups.emplace_back();
  groups[number->second].push_back(std::move(row));
  ++rows;
}

bool Experience::train() {
  trainedRows = trees->train(groups) ? rows : 0;
  return trainedRows > 0;
}

bool Experience::learn(StringRef group, MeasuredRow row) {
  constexpr size_t growth = 8;
  if (file) {
    *file << lineOf(group, row);
    file->flush();
  }
  if (file && file->has_error()) { // for example a full disk; this run can still use what it learns
    llvm::errs() << "warning: what is measured is no longer kept for other runs: " << file->error().message() << "\n";
    file->clear_error();
    file.reset();
  }
  add(group, std::move(row));
  return rows >= std::max(leastRows, trainedRows + trainedRows / growth) && train();
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

namespace {
class TreeModel : public CostModel {
public:
  TreeModel(func::FuncOp kernel, const target::Machine &target, std::shared_ptr<Experience> experience)
      : kernel(kernel), target(target), machine(machineModel(kernel, target)), experience(std::move(experience)),
        group(target.name + " ") {
    if (auto structure = kernel->getAttrOfType<StringAttr>(graph::structureAttribute))
      group += structure.getValue();
  }

  double predict(const Trace &candidate) override {
    if (!experience->isTrained())
      return machine->predict(candidate);
    const Features &features = featuresAt(candidate);
    return features.empty() ? infinite : experience->predict(features);
  }

  bool learn(const Trace &candidate, double time) override {
    const Features &features = featuresAt(candidate);
    return !features.empty() && experience->learn(group, {features, time});
  }

  /// Records the trace to whose time the others are relative.
  void assume(const Trace &given) {
    if (const Features &features = featuresAt(given); !features.empty())
      experience->assume(group, {features, 1});
  }

private:
  /// Empty: the primitives refuse it.
  const Features &featuresAt(const Trace &candidate) {
    auto [found, isNew] = known.try_emplace(llvm::join(linesOf(candidate), "\n"));
    if (!isNew)
      return found->second;
    OwningOpRef<func::FuncOp> copy = kernel.clone();
    if (succeeded(tile::KernelSchedule(*copy, target).replay(candidate))) {
      tile::compactBuffers(*copy);
      found->second = featuresOf(*copy, target);
    }
    return found->second;
  }

  func::FuncOp kernel;
  const target::Machine target;
  std::unique_ptr<CostModel> machine;
  std::shared_ptr<Experience> experience;
  std::string group;
  llvm::StringMap<Features> known;
};
} // namespace

std::unique_ptr<CostModel> treeModel(func::FuncOp kernel, const target::Machine &target, const Trace &given,
                                     std::shared_ptr<Experience> experience) {
  auto model = std::make_unique<TreeModel>(kernel, target, std::move(experience));
  model->assume(given);
  return model;
}
} // namespace perpend::tune
