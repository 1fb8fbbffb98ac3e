//===- Prologues.cpp - what is computed of a left factor ------------------===//
//
// Addresses at which the product reads the value are those at which one iteration of the other nest stores it. So each
// stride of the product's load is some iterations of one loop of that nest, the one with the longest stride that
// divides it, and the nest's loads go on by as many.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Prologues.h"
#include "target/quoin/compile/Choices.h"
#include "target/quoin/compile/Cores.h"
#include "target/quoin/compile/Cost.h"
#include "target/quoin/compile/Matrix.h"
#include "target/quoin/compile/NearArenas.h"
#include "target/quoin/compile/Overwrites.h"
#include "target/quoin/compile/Pieces.h"
#include "target/quoin/compile/Vector.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <numeric>

namespace perpend::quoin {
namespace {

using llvm::ArrayRef;
using llvm::SmallVector;

class Prologues {
public:
  Prologues(MainProgram &main, const Config &config, const Decisions &decisions)
      : main(main), config(config), decisions(decisions), estimated(programFor(config)), stream(estimated, none) {}
  void join();

private:
  static Program programFor(const Config &config) {
    Program program;
    program.config = config;
    return program;
  }
  void findUses();
  bool isWhole(const Value &value) const {
    return value.arena && value.spot.byte == main.arenas[*value.arena].spot.byte &&
           value.bytes() == main.arenas[*value.arena].bytes;
  }
  std::optional<size_t> readerOf(size_t number) const;
  bool keepsOperands(size_t number, size_t reader) const;
  std::optional<Step> joined(const Step &map, const Step &product) const;
  bool isProduct(const Step &step);
  uint64_t cyclesOf(const Step &step);
  uint64_t cyclesOf(const Nest &nest, ArrayRef<Spot> places);
  bool extendArenas(const Step &map, const Step &product);

  MainProgram &main;
  const Config &config;
  const Decisions &decisions;
  std::map<unsigned, SmallVector<size_t, 4>> users; ///< steps, by arena
  Choices choices;
  std::map<std::string, uint64_t> known; ///< cycles of nests
  Program estimated;
  std::vector<Instruction> none;
  Stream stream;
};

} // namespace

/// The nest of a step that only computes each element of its result once. Null: the step does something else. Copies
/// are made of rows that had better lie in another way.
static const Nest *mapOf(const Step &step) {
  if (!step.nests || !step.refusal.empty() || step.outputs.size() != 1 || step.nests->nests.size() != 1 ||
      !step.nests->bordered.empty() || step.nests->buffers.size() != step.inputs.size() + 1)
    return nullptr;
  const Nest &nest = step.nests->nests.front();
  const bool isPlain = !nest.combine && !nest.sum && !nest.rows && nest.borders.empty() && !nest.continues &&
                       nest.store.base == 0 && nest.nodes[nest.value].kind == Node::Apply &&
                       nest.nodes[nest.value].type == nest.type && storesEachOnce(nest);
  int64_t elements = 1;
  for (const NestLoop &loop : nest.loops)
    elements *= loop.extent;
  return isPlain && elements == step.nests->buffers.back().elements ? &nest : nullptr;
}

/// The only load of a buffer.
static std::optional<std::pair<size_t, unsigned>> onlyLoad(const Kernel &kernel, unsigned buffer) {
  std::optional<std::pair<size_t, unsigned>> only;
  for (auto [index, nest] : llvm::enumerate(kernel.nests)) {
    if (nest.rows && nest.rows->table == buffer)
      return std::nullopt;
    for (auto [number, node] : llvm::enumerate(nest.nodes)) {
      if (node.kind != Node::Load || node.access.buffer != buffer)
        continue;
      if (only)
        return std::nullopt;
      only = {index, static_cast<unsigned>(number)};
    }
  }
  return only;
}

/// The step that alone reads a step's only result, in full.
std::optional<size_t> Prologues::readerOf(size_t number) const {
  const Value &result = main.steps[number].outputs.front();
  if (!isWhole(result))
    return std::nullopt;
  const auto &uses = users.at(*result.arena);
  if (uses.size() != 2 || uses[0] != number || uses[1] <= number)
    return std::nullopt;
  const Step &reader = main.steps[uses[1]];
  const auto isIt = [&](const Value &value) { return value.arena == result.arena; };
  const bool isRead = llvm::count_if(reader.inputs, isIt) == 1 && llvm::none_of(reader.outputs, isIt) &&
                      reader.scratchArena != result.arena;
  return isRead && isWhole(*llvm::find_if(reader.inputs, isIt)) ? std::optional(uses[1]) : std::nullopt;
}

/// Whether what a step reads is the same when another one runs: no step until then writes to its memory.
bool Prologues::keepsOperands(size_t number, size_t reader) const {
  auto isWritten = [&](const Value &input, const Step &step) {
    return (input.arena && step.scratchArena == input.arena) || llvm::any_of(step.outputs, [&](const Value &output) {
             const bool overlaps = output.spot.space == input.spot.space &&
                                   output.spot.byte < input.spot.byte + input.bytes() &&
                                   input.spot.byte < output.spot.byte + output.bytes();
             return output.arena == input.arena && (input.arena || overlaps);
           });
  };
  const ArrayRef<Step> steps = ArrayRef(main.steps).slice(number + 1, reader - number);
  return llvm::none_of(steps, [&](const Step &step) {
    return llvm::any_of(main.steps[number].inputs, [&](const Value &input) { return isWritten(input, step); });
  });
}

/// For each loop of the product the loop of the map, and how many of its iterations; and where in the map's loops the
/// product begins. nullopt: the product reads what the map does not store.
static std::optional<std::pair<SmallVector<std::pair<unsigned, int64_t>, 8>, SmallVector<int64_t, 8>>>
iterationsOf(const Nest &map, const ElementAccess &read, ArrayRef<NestLoop> loops) {
  std::vector<unsigned> order(map.loops.size()); // from the longest stride on
  std::iota(order.begin(), order.end(), 0u);
  llvm::sort(order, [&](unsigned one, unsigned other) { return map.store.strides[one] > map.store.strides[other]; });
  SmallVector<int64_t, 8> first(map.loops.size()), last;
  int64_t rest = read.base;
  for (unsigned loop : order) {
    first[loop] = rest / map.store.strides[loop];
    rest %= map.store.strides[loop];
  }
  last = first;
  SmallVector<std::pair<unsigned, int64_t>, 8> steps;
  for (auto [loop, stride] : llvm::zip_equal(loops, read.strides)) {
    auto along = llvm::find_if(order, [&, stride = stride](unsigned each) {
      return map.store.strides[each] <= stride && stride % map.store.strides[each] == 0;
    });
    if (stride == 0 || along == order.end()) {
      if (stride != 0)
        return std::nullopt;
      steps.emplace_back(0, 0);
      continue;
    }
    const int64_t count = stride / map.store.strides[*along];
    steps.emplace_back(*along, count);
    last[*along] += count * (loop.extent - 1);
  }
  for (auto [loop, extent] : llvm::enumerate(map.loops))
    if (first[loop] < 0 || last[loop] >= extent.extent)
      return std::nullopt;
  return rest == 0 ? std::optional(std::pair(steps, first)) : std::nullopt;
}

/// The nest with what the map computes in place of a load. `buffers`: of the map's, their numbers in the nest.
static std::optional<Nest> withMap(const Nest &nest, unsigned load, const Nest &map, ArrayRef<unsigned> buffers) {
  const auto iterations = iterationsOf(map, nest.nodes[load].access, nest.loops);
  if (!iterations || nest.nodes[load].type != map.type || nest.isAfterSum(load))
    return std::nullopt;
  Nest result = nest;
  result.name = map.name + "+" + nest.name;
  result.nodes.clear();
  for (const Node &node : map.nodes) {
    Node &copy = result.nodes.emplace_back(node);
    if (node.kind != Node::Load)
      continue;
    copy.access = {buffers[node.access.buffer], node.access.base, {}, node.access.row};
    for (auto [loop, first] : llvm::enumerate(iterations->second))
      copy.access.base += first * node.access.strides[loop];
    for (auto [loop, count] : iterations->first)
      copy.access.strides.push_back(map.loops.empty() ? 0 : count * node.access.strides[loop]);
  }
  const auto shift = static_cast<unsigned>(map.nodes.size());
  auto placeOf = [&](unsigned node) { return node == load ? map.value : node + shift; };
  for (const Node &node : nest.nodes) {
    Node &copy = result.nodes.emplace_back(node);
    for (unsigned &operand : copy.operands)
      operand = placeOf(operand);
  }
  result.nodes[load + shift] = Node(); // to which nobody refers
  result.value = placeOf(nest.value);
  if (nest.sum) {
    result.sum = placeOf(*nest.sum);
    result.result = placeOf(nest.result);
  }
  return result;
}

/// The product's step, whose inputs are those of the map besides its own others.
std::optional<Step> Prologues::joined(const Step &map, const Step &product) const {
  const std::optional<unsigned> arena = map.outputs.front().arena;
  const auto replaced = static_cast<unsigned>(
      llvm::find_if(product.inputs, [&](const Value &value) { return value.arena == arena; }) - product.inputs.begin());
  const auto load = onlyLoad(*product.nests, replaced);
  if (!load || map.inputs.empty() || product.nests->nests[load->first].combine != Opcode::add)
    return std::nullopt;
  Step result = product;
  Kernel &kernel = *result.nests;
  const auto before = static_cast<unsigned>(product.inputs.size()), added = static_cast<unsigned>(map.inputs.size());
  auto move = [&](unsigned &buffer) { buffer += buffer >= before ? added : 0; };
  for (Nest &nest : kernel.nests) {
    move(nest.store.buffer);
    if (nest.rows)
      move(nest.rows->table);
    for (Node &node : nest.nodes)
      if (node.kind == Node::Load)
        move(node.access.buffer);
  }
  SmallVector<unsigned> buffers;
  for (unsigned each = 0; each < added; ++each)
    buffers.push_back(before + each);
  std::optional<Nest> nest = withMap(kernel.nests[load->first], load->second, map.nests->nests.front(), buffers);
  if (!nest)
    return std::nullopt;
  kernel.nests[load->first] = std::move(*nest);
  kernel.buffers.insert(kernel.buffers.begin() + before, map.nests->buffers.begin(),
                        map.nests->buffers.begin() + added);
  kernel.arguments += added;
  result.inputs.insert(result.inputs.end(), map.inputs.begin(), map.inputs.end());
  result.hasPrologue = true;
  return result;
}

/// Where a step's buffers lie when it runs: constants have come to LLB.
static SmallVector<Spot> placesOf(const Step &step) {
  SmallVector<Spot> places;
  for (const Value &input : step.inputs)
    places.push_back(input.contents ? Spot{Space::LLB, 0} : input.spot);
  for (const Value &output : step.outputs)
    places.push_back(output.spot);
  places.resize(step.nests->buffers.size(), Spot{Space::LLB, 0});
  return places;
}

uint64_t Prologues::cyclesOf(const Nest &nest, ArrayRef<Spot> places) {
  const unsigned cores = decisions.cores ? config.coresPerCluster : 1;
  auto [cycles, isNew] = known.try_emplace(shapeOf(nest, places, cores), std::numeric_limits<uint64_t>::max());
  if (!isNew)
    return cycles->second;
  for (const std::vector<Nest> &parts : divisionsOf(nest, places, cores)) {
    const auto sharers = static_cast<unsigned>(parts.size());
    if (emitMatrixNest(parts.front(), places, config, stream, sharers, choices).empty() ||
        emitVectorNest(parts.front(), places, config, stream, sharers, choices).empty())
      cycles->second = std::min(cycles->second, estimatedCycles(stream.current(), config, sharers));
  }
  return cycles->second;
}

/// Of all its nests, one after the other.
uint64_t Prologues::cyclesOf(const Step &step) {
  const SmallVector<Spot> places = placesOf(step);
  constexpr uint64_t meeting = 100;
  const std::vector<Nest> nests = waysOf(step, decisions).front();
  uint64_t cycles = 0;
  for (const Nest &nest : nests) {
    const uint64_t each = cyclesOf(simplified(nest), places);
    if (each == std::numeric_limits<uint64_t>::max())
      return each;
    cycles += each + meeting;
  }
  return cycles;
}

/// Whether the matrix unit computes a nest of the step.
bool Prologues::isProduct(const Step &step) {
  const SmallVector<Spot> places = placesOf(step);
  const std::vector<Nest> nests = waysOf(step, decisions).front();
  return llvm::any_of(
      nests, [&](const Nest &nest) { return isMatrixNest(simplified(nest), places, config, stream, choices); });
}

/// What the map reads lives until the product has run, and its result lives no more.
bool Prologues::extendArenas(const Step &map, const Step &product) {
  const std::vector<Arena> before = main.arenas;
  main.arenas[*map.outputs.front().arena].bytes = 0;
  bool isFar = false;
  for (const Value &input : map.inputs)
    if (input.arena && main.arenas[*input.arena].last < product.number) {
      main.arenas[*input.arena].last = product.number;
      isFar |= main.arenas[*input.arena].spot.space != Space::LLB; // whose places are fixed
    }
  if (!isFar && planNear(main, config))
    return true;
  main.arenas = before;
  return false;
}

void Prologues::findUses() {
  auto add = [&](std::optional<unsigned> arena, size_t number) {
    if (arena && (users[*arena].empty() || users[*arena].back() != number))
      users[*arena].push_back(number);
  };
  for (auto [number, step] : llvm::enumerate(main.steps))
    visitSpots(step, [&, number = number](Spot &, std::optional<unsigned> arena) { add(arena, number); });
}

void Prologues::join() {
  findUses();
  std::vector<bool> isJoined(main.steps.size());
  for (size_t number = 0; number < main.steps.size(); ++number) {
    const Step &map = main.steps[number];
    const std::optional<size_t> reader = mapOf(map) ? readerOf(number) : std::nullopt;
    if (!reader)
      continue;
    Step &product = main.steps[*reader];
    if (!product.nests || !product.refusal.empty() || !product.nests->bordered.empty() ||
        !keepsOperands(number, *reader))
      continue;
    std::optional<Step> both = joined(map, product);
    if (!both || !isProduct(*both) || !isProduct(product) || cyclesOf(*both) > cyclesOf(map) + cyclesOf(product) ||
        !extendArenas(map, product))
      continue;
    for (const Value &input : map.inputs)
      if (input.arena)
        users[*input.arena].push_back(*reader);
    product = std::move(*both);
    isJoined[number] = true;
  }
  if (!llvm::is_contained(isJoined, true))
    return;
  std::vector<Step> steps;
  for (auto [number, step] : llvm::enumerate(main.steps))
    if (!isJoined[number])
      steps.push_back(std::move(step));
  main.steps = std::move(steps);
  moveNear(main, config, *planNear(main, config));
}

void joinPrologues(MainProgram &main, const Config &config, const Decisions &decisions) {
  if (decisions.prologues && !main.dynamic)
    Prologues(main, config, decisions).join();
}

bool hasRefusedPrologues(const MainProgram &main) {
  return llvm::any_of(main.steps, [](const Step &step) { return step.hasPrologue && !step.refusal.empty(); });
}

} // namespace perpend::quoin
