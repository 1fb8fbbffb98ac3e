//===- ScalarRecords.cpp - what programs tell their scalar core -----------===//
#include "target/accelerator/ScalarRecords.h"
#include "target/accelerator/scalar/ScalarCode.h"

#include "llvm/Support/MathExtras.h"

#include <array>
#include <set>

using namespace llvm;

namespace perpend::accelerator {

constexpr StringLiteral launchFunction = "perpend_scalar_launch", copyFunction = "perpend_scalar_copy",
                        libraryFunction = "perpend_scalar_call";

static std::string entryOf(const Step &step) { return step.kernel + "_entry"; }

std::vector<std::string> scalarFunctionsOf(const MainProgram &main) {
  std::set<std::string> names;
  for (const Step &step : main.steps)
    if (step.call)
      names.insert({beginFunction.str(), libraryFunction.str(), step.call->function});
    else if (step.kernel.empty())
      names.insert(copyFunction.str());
    else
      names.insert({launchFunction.str(), entryOf(step)});
  return {names.begin(), names.end()};
}

template <typename List> static uint64_t placeList(ScalarMemory &memory, const List &list) {
  return memory.place(StringRef(reinterpret_cast<const char *>(list.data()), list.size() * sizeof(list[0])));
}

/// Functions of texts read whole words.
static uint64_t placeText(ScalarMemory &memory, StringRef text) {
  std::string bytes = text.str();
  bytes.resize(alignTo(bytes.size() + 1, sizeof(uint64_t)));
  return memory.place(bytes);
}

uint64_t placeRun(ScalarMemory &memory, const MainProgram &main) {
  constexpr size_t tablesWord = 67, heapWord = 68, words = 71;
  std::array<uint64_t, words> record = {};
  record[tablesWord] = main.tables.empty() ? 0 : memory.place(main.tables);
  record[heapWord] = memory.reserve("heap", main.heapBytes);
  record[heapWord + 1] = main.heapBytes;
  return placeList(memory, record);
}

static void addBuffers(ScalarMemory &memory, const Step &step, SmallVectorImpl<uint64_t> &record) {
  for (const auto &values : {step.inputs, step.outputs})
    for (const Value &value : values)
      record.push_back(memory.addressOf(value.spot));
}

static uint64_t launchRecord(ScalarMemory &memory, const Step &step) {
  SmallVector<uint64_t> record = {memory.addressOfFunction(entryOf(step)), static_cast<uint64_t>(step.units),
                                  step.scratch ? memory.addressOf(*step.scratch) : 0};
  addBuffers(memory, step, record);
  SmallVector<uint64_t> symbols(step.symbols.begin(), step.symbols.end());
  symbols.push_back(0); // there is an address of a list without elements, too
  record.push_back(placeList(memory, symbols));
  if (step.scratch)
    record.append({memory.addressOf(*step.scratch), 1});
  return placeList(memory, record);
}

static uint64_t libraryRecord(ScalarMemory &memory, const Step &step, uint64_t run) {
  std::vector<int64_t> extents = step.call->extents;
  extents.push_back(0);
  SmallVector<uint64_t> record = {run,
                                  memory.addressOfFunction(step.call->function),
                                  placeText(memory, step.call->parameters),
                                  placeText(memory, step.location),
                                  placeList(memory, step.call->signature),
                                  placeList(memory, extents)};
  addBuffers(memory, step, record);
  return placeList(memory, record);
}

ScalarCall callOf(ScalarMemory &memory, const Step &step, uint64_t run) {
  if (step.call)
    return {libraryFunction.str(), libraryRecord(memory, step, run)};
  if (!step.kernel.empty())
    return {launchFunction.str(), launchRecord(memory, step)};
  const std::array<uint64_t, 3> record = {memory.addressOf(step.outputs[0].spot), memory.addressOf(step.inputs[0].spot),
                                          step.inputs[0].bytes()};
  return {copyFunction.str(), placeList(memory, record)};
}

} // namespace perpend::accelerator
