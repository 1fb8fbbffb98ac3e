//===- TuningNames.cpp - checks names in the tuner's options --------------===//

#include "tuning/TuningNames.h"

#include "support/Nearest.h"
#include "tune/CostModel.h"
#include "tune/sketches/Sketches.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace perpend {

/// For example "did you mean 'x'? kernels: x, y, z and 3 more".
static std::string hintOf(StringRef word, StringRef what, ArrayRef<std::string> names) {
  constexpr size_t most = 12;
  std::string guess = support::nearest(word, names);
  std::string text = guess.empty() ? "" : "did you mean '" + guess + "'? ";
  text += (what + ": " + llvm::join(names.take_front(most), ", ")).str();
  return text + (names.size() > most ? " and " + std::to_string(names.size() - most) + " more" : "");
}

template <typename Info>
static std::optional<UnknownName> find(StringRef option, ArrayRef<Info> table, StringRef plural, StringRef name) {
  std::vector<std::string> names;
  for (const Info &info : table)
    names.push_back(info.name.str());
  if (llvm::is_contained(names, name))
    return std::nullopt;
  std::string what = llvm::join(llvm::split(option, '-'), " ");
  return UnknownName{option.str(), "no " + what + " is named '" + name.str() + "'", hintOf(name, plural, names)};
}

std::optional<UnknownName> unknownNameIn(const TuningOptions &options) {
  auto unknown = find("scheduler", tune::schedulers(), "schedulers", options.scheduler);
  if (!unknown)
    unknown = find("search", tune::searches(), "searches", options.search);
  if (!unknown)
    unknown = find("space", tune::spaces(), "spaces", options.space);
  return unknown ? unknown : find("cost-model", tune::costModels(), "cost models", options.costModel);
}

LogicalResult keepKernels(std::vector<TuningTask> &tasks, ArrayRef<std::string> names, Location location) {
  if (names.empty())
    return success();
  std::vector<std::string> known;
  for (const TuningTask &task : tasks)
    if (!llvm::is_contained(known, task.facts.name))
      known.push_back(task.facts.name);
  for (const std::string &name : names)
    if (!llvm::is_contained(known, name))
      return emitError(location) << "no kernel of the model is named '" << name
                                 << "'\nhint: " << (known.empty() ? "it has none" : hintOf(name, "its kernels", known));
  llvm::erase_if(tasks, [&](const TuningTask &task) { return !llvm::is_contained(names, task.facts.name); });
  return success();
}
} // namespace perpend
