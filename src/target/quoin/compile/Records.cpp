//===- Records.cpp - what calls of scalar code are given ------------------===//
#include "target/quoin/compile/Records.h"

#include "llvm/Support/MathExtras.h"

#include <array>
#include <set>

using namespace llvm;

namespace perpend::quoin {

constexpr StringLiteral launchFunction = "perpend_scalar_launch", copyFunction = "perpend_scalar_copy",
                        beginFunction = "perpend_scalar_begin", callFunction = "perpend_scalar_call",
                        mainFunction = "perpend_scalar_main", runFunction = "perpend_run",
                        sizesFunction = "perpend_sizes";

static std::string entryOf(const Step &step) { return step.kernel + "_entry"; }

std::vector<std::string> scalarEntriesOf(const MainProgram &main) {
  std::set<std::string> names;
  if (main.dynamic) {
    names = {mainFunction.str(), runFunction.str(), sizesFunction.str()};
    names.insert(main.dynamic->functions.begin(), main.dynamic->functions.end());
  }
  for (const Step &step : main.steps)
    if (step.call)
      names.insert({beginFunction.str(), callFunction.str(), step.call->function});
    else if (step.kernel.empty())
      names.insert(copyFunction.str());
    else
      names.insert({launchFunction.str(), entryOf(step)});
  return {names.begin(), names.end()};
}

uint64_t Records::entryByte(StringRef name) const { return program.scalar.find(name)->byte; }

Range Records::takeRange(uint64_t bytes) {
  const Range range{alignTo(end, wordBytes), bytes};
  end = range.end();
  return range;
}

uint64_t Records::placeBytes(StringRef bytes) {
  Data data;
  data.byte = alignTo(end, wordBytes);
  data.bytes.assign(bytes.bytes_begin(), bytes.bytes_end());
  end = data.byte + data.bytes.size();
  program.data.push_back(std::move(data));
  return program.data.back().byte;
}

/// Functions of texts read whole words.
uint64_t Records::placeText(StringRef text) {
  std::string bytes = text.str();
  bytes.resize(alignTo(bytes.size() + 1, sizeof(uint64_t)));
  return scalarDdrBase + placeBytes(bytes);
}

uint64_t Records::tableAt(const Buffer &buffer) {
  auto [table, isNew] = tables.try_emplace(buffer.contents, 0);
  if (isNew)
    table->second = placeBytes(buffer.contents);
  return table->second;
}

ScalarCall Records::copyCall(const Step &step) {
  return callOf(copyFunction,
                {step.outputs[0].spot.scalarAddress(), step.inputs[0].spot.scalarAddress(), step.inputs[0].bytes()});
}

ScalarCall Records::kernelCall(const Step &step) {
  SmallVector<uint64_t> record = {scalarCodeBase + entryByte(entryOf(step)), static_cast<uint64_t>(step.units),
                                  step.scratch ? step.scratch->scalarAddress() : 0};
  for (const auto &values : {step.inputs, step.outputs})
    for (const Value &value : values)
      record.push_back(value.spot.scalarAddress());
  SmallVector<uint64_t> symbols(step.symbols.begin(), step.symbols.end());
  symbols.push_back(0); // there is an address of a list without elements, too
  record.push_back(scalarDdrBase + place(symbols));
  if (step.scratch)
    record.append({step.scratch->scalarAddress(), 1});
  return callOf(launchFunction, record);
}

void Records::placeRun() {
  if (!main.heapBytes)
    return;
  constexpr size_t tablesWord = 67, heapWord = 68, words = 71;
  const Range heap = reserve("heap", main.heapBytes);
  std::array<uint64_t, words> record = {};
  record[tablesWord] = main.tables.empty() ? 0 : scalarDdrBase + placeBytes(main.tables);
  record[heapWord] = scalarDdrBase + heap.byte;
  record[heapWord + 1] = heap.bytes;
  run = place(record);
  program.symbols.push_back({"run", Symbol::Kind::Scratch, Space::DDR, 0, *run, sizeof record});
}

ScalarCall Records::beginCall() { return {entryByte(beginFunction), *run}; }

/// The record of runtime/scalar/Call.c.
ScalarCall Records::libraryCall(const Step &step) {
  auto placed = [&](const auto &list) {
    return scalarDdrBase +
           placeBytes(StringRef(reinterpret_cast<const char *>(list.data()), list.size() * sizeof(list[0])));
  };
  std::vector<int64_t> extents = step.call->extents;
  extents.push_back(0); // there is an address of a list without elements, too
  SmallVector<uint64_t> record = {scalarDdrBase + *run,
                                  scalarCodeBase + entryByte(step.call->function),
                                  placeText(step.call->parameters),
                                  placeText(step.location),
                                  placed(step.call->signature),
                                  placed(extents)};
  for (const auto &values : {step.inputs, step.outputs})
    for (const Value &value : values)
      record.push_back(value.spot.scalarAddress());
  return callOf(callFunction, record);
}

/// Memory that programs may write.
Range Records::reserve(StringRef name, uint64_t bytes) {
  const Range range = takeRange(std::max<uint64_t>(bytes, sizeof(uint64_t)));
  program.symbols.push_back({name.str(), Symbol::Kind::Scratch, Space::DDR, 0, range.byte, range.bytes});
  return range;
}

/// The record of runtime/scalar/Main.c.
ScalarCall Records::mainCall(const DynamicMain &dynamic) {
  auto addressOf = [](const Range &range) { return scalarDdrBase + range.byte; };
  auto placed = [&](ArrayRef<uint64_t> words) { return scalarDdrBase + place(words); };
  SmallVector<uint64_t> inputs, outputs, offsets, zeros(dynamic.symbols + 1, 0);
  for (const Range &input : main.inputs)
    inputs.push_back(addressOf(input));
  for (const std::optional<Range> &output : dynamic.outputs)
    outputs.push_back(output ? addressOf(*output) : 0);
  const uint64_t arena = addressOf(main.arena);
  for (const Spot &buffer : dynamic.buffers)
    offsets.push_back(buffer.scalarAddress() - arena); // wherever it is, the core adds it
  zeros.back() = 1;                                    // the most threads of a kernel
  uint64_t dims = 0;
  for (unsigned rank : dynamic.ranks)
    dims += rank;
  for (SmallVector<uint64_t> *list : {&inputs, &outputs, &offsets})
    list->push_back(0);
  constexpr uint64_t word = sizeof(uint64_t);
  const Range sizes = reserve("sizes", dynamic.buffers.size() * word), extents = reserve("extents", dims * word),
              growing = reserve("growing", dynamic.growing * 2 * word);
  SmallVector<uint64_t> record = {scalarDdrBase + *run, scalarCodeBase + entryByte(runFunction),
                                  scalarCodeBase + entryByte(sizesFunction), addressOf(sizes), dynamic.growing};
  record.append({placed(inputs), placed(outputs), addressOf(main.weights), arena, placed(offsets), placed(zeros), 0,
                 addressOf(growing), 0, 0, addressOf(extents), 0});
  return callOf(mainFunction, record);
}

} // namespace perpend::quoin
