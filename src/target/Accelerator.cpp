//===- Accelerator.cpp - the list of accelerators -------------------------===//
#include "target/Accelerator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace perpend::target {

#define PERPEND_ACCELERATOR(description, maker) const Accelerator &description();
#include "target/Accelerators.def"

static std::vector<const Accelerator *> &list() {
  static std::vector<const Accelerator *> list = {
#define PERPEND_ACCELERATOR(description, maker) &description(),
#include "target/Accelerators.def"
  };
  return list;
}

ArrayRef<const Accelerator *> accelerators() { return list(); }

void listAccelerator(const Accelerator &accelerator) { list().push_back(&accelerator); }

static const Accelerator *find(function_ref<bool(const Accelerator &)> isWanted) {
  const auto *found = find_if(accelerators(), [&](const Accelerator *each) { return isWanted(*each); });
  return found == accelerators().end() ? nullptr : *found;
}

Rates ratesOf(const Machine &machine) {
  auto [name, configuration] = StringRef(machine.name).split(',').first.split(':');
  const Accelerator *accelerator = find([&](const Accelerator &each) { return each.name == name; });
  return accelerator && accelerator->rates ? accelerator->rates(configuration) : Rates();
}

const Accelerator *acceleratorOf(const CodeGenerator &code) {
  return find([&](const Accelerator &each) { return each.name == code.accelerator; });
}

const Accelerator *acceleratorOfFile(StringRef path) {
  return find([&](const Accelerator &each) { return path.ends_with(each.ending); });
}

static std::string targetName(const Accelerator &accelerator, StringRef configuration) {
  return (accelerator.name + ":" + configuration).str();
}

std::vector<std::string> acceleratorTargets() {
  std::vector<std::string> names;
  for (const Accelerator *each : accelerators())
    for (StringRef configuration : each->configurations)
      names.push_back(targetName(*each, configuration));
  return names;
}

std::optional<Expected<TargetInfo>> resolveAccelerator(StringRef text) {
  auto [machine, changes] = text.split(',');
  auto [name, configuration] = machine.trim().split(':');
  const Accelerator *accelerator = find([&](const Accelerator &each) { return each.name == name; });
  if (!accelerator)
    return std::nullopt;
  if (!is_contained(accelerator->configurations, configuration))
    return createStringError(formatv("target '{0}': {1} has no configuration '{2}'\n"
                                     "hint: configurations: {3}",
                                     text, name, configuration, join(accelerator->configurations, ", ")));
  TargetInfo target = accelerator->describe(configuration);
  for (StringRef change : split(changes, ',')) {
    change = change.trim();
    if (change.empty() && changes.empty())
      break;
    if (!change.starts_with("-") || !is_contained(accelerator->decisions, change.drop_front()))
      return createStringError(formatv("target '{0}': expected '-' and a decision to leave out, got '{1}'\n"
                                       "hint: decisions: {2}",
                                       text, change, join(accelerator->decisions, ", ")));
    if (target.takes(change.drop_front()))
      target.leftOut.push_back(change.drop_front().str());
  }
  sort(target.leftOut);
  target.name = targetName(*accelerator, configuration);
  for (StringRef decision : target.leftOut)
    target.name += ",-" + decision.str();
  target.code.accelerator = name.str();
  return target;
}

} // namespace perpend::target
