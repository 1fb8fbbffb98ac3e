//===- Space.cpp - the space of a kernel's schedules ----------------------===//

#include "tune/Space.h"

#include "tile/schedule/TraceText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>
#include <set>

using namespace mlir;

namespace perpend::tune {

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// The elements of a list such as "[_, 4, 16]". nullopt: not a list.
static std::optional<SmallVector<StringRef>> elementsOf(StringRef operand) {
  SmallVector<StringRef> elements;
  if (!operand.consume_front("[") || !operand.consume_back("]"))
    return std::nullopt;
  operand.split(elements, ',');
  for (StringRef &element : elements)
    element = element.trim();
  return elements;
}

/// Candidate factors of a loop: small numbers, those that suit registers and caches, and those that leave no remainder
/// or a small one.
static std::set<int64_t> factorsFor(std::optional<int64_t> extent) {
  constexpr int64_t mostOfAll = 16, mostParts = 16, most = 1024;
  std::set<int64_t> factors;
  for (int64_t factor = 1; factor <= mostOfAll; ++factor)
    factors.insert(factor);
  for (int64_t power = 16; power <= most; power *= 2)
    factors.insert({power, power + power / 2});
  for (int64_t parts = 1; extent && parts <= mostParts; ++parts)
    factors.insert(llvm::divideCeil(*extent, parts));
  if (extent)
    factors.erase(factors.upper_bound(*extent), factors.end());
  return factors;
}

/// The extent of a loop that an instruction names, before it is applied.
static std::optional<int64_t> extentOf(tile::KernelSchedule &schedule, StringRef name) {
  std::optional<tile::KernelSchedule::Place> place = schedule.handle(name);
  auto *loop = place ? std::get_if<tile::KernelSchedule::Loop>(&*place) : nullptr;
  tile::ForOp op = loop ? schedule.operation(*loop) : tile::ForOp();
  return op ? op.getExtent().values().front().constant() : std::nullopt;
}

static void addFactors(const tile::TraceInstruction &instruction, size_t number, std::optional<int64_t> extent,
                       std::vector<Decision> &decisions) {
  auto elements = elementsOf(instruction.operands[1]);
  for (auto [i, text] : llvm::enumerate(elements.value_or(SmallVector<StringRef>()))) {
    int64_t given = 0;
    if (text.getAsInteger(10, given))
      continue;
    std::set<int64_t> factors = factorsFor(extent);
    factors.insert(given);
    Decision decision{number, 1, i, {}, 0};
    decision.given = static_cast<unsigned>(std::distance(factors.begin(), factors.find(given)));
    for (int64_t factor : factors)
      decision.choices.push_back(std::to_string(factor));
    decisions.push_back(std::move(decision));
  }
}

static std::string decisionText(ArrayRef<int64_t> factors) { return "decision = " + tile::listText(factors); }

/// All factorisations of `extent` with a last factor of at most `largest`; those with equal prefixes are adjacent.
static void addFactorisations(int64_t extent, int64_t count, int64_t largest, SmallVector<int64_t> &front,
                              std::vector<std::string> &lists) {
  for (int64_t factor = 1; factor <= extent; ++factor) {
    bool isLast = count == 1;
    if (extent % factor != 0 || (isLast && (factor != extent || factor > largest)))
      continue;
    front.push_back(factor);
    if (isLast)
      lists.push_back(decisionText(front));
    else
      addFactorisations(extent / factor, count - 1, largest, front, lists);
    front.pop_back();
  }
}

/// The choices of a sampling primitive; empty if it is another primitive, or has too many factors.
static std::vector<std::string> choicesOf(const tile::TraceInstruction &instruction, std::optional<int64_t> extent) {
  constexpr int64_t mostExtent = 1 << 16, mostFactors = 4;
  std::vector<std::string> choices;
  ArrayRef<std::string> operands = instruction.operands;
  int64_t count = 0, largest = 0;
  if (instruction.primitive == "sample_perfect_tile" && operands.size() == 4 && extent && *extent <= mostExtent &&
      !StringRef(operands[1]).getAsInteger(10, count) && !StringRef(operands[2]).getAsInteger(10, largest) &&
      count <= mostFactors) {
    SmallVector<int64_t> front;
    addFactorisations(*extent, count, largest, front, choices);
  }
  if (instruction.primitive == "sample_categorical")
    count = static_cast<int64_t>(elementsOf(operands[0]).value_or(SmallVector<StringRef>()).size());
  else
    count = instruction.primitive == "sample_compute_location" ? mostLocations : 0;
  for (int64_t choice = 0; choice < count; ++choice)
    choices.push_back("decision = " + std::to_string(choice));
  return choices;
}

static void addSampled(const tile::TraceInstruction &instruction, size_t number, std::optional<int64_t> extent,
                       std::vector<Decision> &decisions) {
  std::vector<std::string> choices = choicesOf(instruction, extent);
  auto given = llvm::find(choices, instruction.operands.empty() ? "" : instruction.operands.back());
  if (given == choices.end())
    return;
  Decision decision{number, instruction.operands.size() - 1, 0, {}, 0};
  decision.given = static_cast<unsigned>(given - choices.begin());
  decision.choices = std::move(choices);
  decisions.push_back(std::move(decision));
}

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

static tile::TraceInstruction withChoice(tile::TraceInstruction instruction, const Decision &decision,
                                         StringRef choice) {
  auto elements = elementsOf(instruction.operands[decision.operand]);
  if (!elements) {
    instruction.operands[decision.operand] = choice.str();
    return instruction;
  }
  (*elements)[decision.element] = choice;
  instruction.operands[decision.operand] = "[" + llvm::join(*elements, ", ") + "]";
  return instruction;
}

Trace Space::traceAt(const Point &point) const {
  size_t sketch = sketchOf(point);
  Trace changed = traces[sketch];
  std::vector<bool> isLeftOut(changed.size());
  for (auto [decision, choice] : llvm::zip(list, point)) {
    if (decision.sketch != sketch || decision.instruction == Decision::whichSketch)
      continue;
    const std::string &text = decision.choices[choice];
    if (decision.operand != Decision::wholeInstruction)
      changed[decision.instruction] = withChoice(changed[decision.instruction], decision, text);
    else
      isLeftOut[decision.instruction] = text.empty();
  }
  Trace result;
  for (auto [instruction, leftOut] : llvm::zip(changed, isLeftOut))
    if (!leftOut)
      result.push_back(instruction);
  return result;
}

std::optional<Point> Space::pointOf(const Trace &other) const {
  for (size_t sketch = 0; sketch < traces.size(); ++sketch)
    if (std::optional<Point> point = pointOf(other, sketch))
      return point;
  return std::nullopt;
}

std::optional<Point> Space::pointOf(const Trace &other, size_t sketch) const {
  Point point = given();
  if (traces.size() > 1)
    point.front() = static_cast<unsigned>(sketch);
  size_t at = 0; // position in the other trace
  for (auto [number, instruction] : llvm::enumerate(traces[sketch])) {
    bool isThere = at < other.size() && other[at].primitive == instruction.primitive;
    for (auto [decision, choice] : llvm::zip(list, point)) {
      if (decision.sketch != sketch || decision.instruction != number)
        continue;
      std::string text;
      if (decision.operand == Decision::wholeInstruction) {
        isThere = isThere && other[at].str() == instruction.str();
        text = isThere ? instruction.str() : "";
      } else if (isThere && decision.operand < other[at].operands.size()) {
        auto elements = elementsOf(other[at].operands[decision.operand]);
        if (!elements)
          text = other[at].operands[decision.operand];
        else if (decision.element < elements->size())
          text = (*elements)[decision.element];
      }
      auto found = llvm::find(decision.choices, text);
      if (found == decision.choices.end())
        return std::nullopt;
      choice = static_cast<unsigned>(found - decision.choices.begin());
    }
    at += isThere;
  }
  return linesOf(traceAt(point)) == linesOf(other) ? std::optional(point) : std::nullopt;
}

Point Space::given() const {
  Point point;
  for (const Decision &decision : list)
    point.push_back(decision.given);
  return point;
}

bool Space::isUsed(const Point &point, size_t decision) const {
  return list[decision].instruction == Decision::whichSketch || list[decision].sketch == sketchOf(point);
}

Point Space::reduced(Point point) const {
  for (size_t i = 0; i < point.size(); ++i)
    if (!isUsed(point, i))
      point[i] = list[i].given;
  return point;
}

double Space::size() const {
  std::vector<double> points(traces.size(), 1);
  for (const Decision &decision : list)
    if (decision.instruction != Decision::whichSketch)
      points[decision.sketch] *= static_cast<double>(decision.choices.size());
  return std::accumulate(points.begin(), points.end(), 0.0);
}

Space Space::ofOne(Trace trace) {
  Space space;
  space.traces.front() = std::move(trace);
  return space;
}

Space Space::unionOf(std::vector<Space> spaces) {
  Space all;
  all.traces.clear();
  std::vector<Decision> decisions;
  for (Space &space : spaces) {
    for (Decision &decision : space.list)
      if (decision.instruction != Decision::whichSketch) {
        decision.sketch += all.traces.size();
        decisions.push_back(std::move(decision));
      }
    llvm::append_range(all.traces, space.traces);
  }
  if (all.traces.size() > 1) {
    Decision which{Decision::whichSketch, 0, 0, {}, 0};
    for (size_t sketch = 0; sketch < all.traces.size(); ++sketch)
      which.choices.push_back(std::to_string(sketch));
    all.list.push_back(std::move(which));
  }
  llvm::append_range(all.list, decisions);
  return all;
}

Space Space::ofTrace(func::FuncOp kernel, const target::Machine &target, Trace trace) {
  constexpr size_t mostTried = 64; // longer lists are not tried one by one
  Space space;
  {
    OwningOpRef<func::FuncOp> copy = kernel.clone();
    tile::KernelSchedule schedule(*copy, target);
    for (auto [number, instruction] : llvm::enumerate(trace)) {
      std::optional<int64_t> extent =
          instruction.operands.empty() ? std::nullopt : extentOf(schedule, instruction.operands[0]);
      if (instruction.primitive == "split")
        addFactors(instruction, number, extent, space.list);
      addSampled(instruction, number, extent, space.list);
      if (instruction.primitive == "annotate" && instruction.results.empty())
        space.list.push_back({number, Decision::wholeInstruction, 0, {"", instruction.str()}, 1});
      if (failed(schedule.apply(instruction)))
        break;
    }
  }
  space.traces.front() = std::move(trace);
  std::vector<Decision> open;
  for (auto [number, decision] : llvm::enumerate(space.list)) {
    Decision left = decision;
    left.choices.clear();
    for (auto [choice, text] : llvm::enumerate(decision.choices)) {
      OwningOpRef<func::FuncOp> copy = kernel.clone();
      Point point = space.given();
      point[number] = static_cast<unsigned>(choice);
      bool isTaken = choice == decision.given || decision.choices.size() > mostTried ||
                     succeeded(tile::KernelSchedule(*copy, target).replay(space.traceAt(point)));
      if (choice == decision.given)
        left.given = static_cast<unsigned>(left.choices.size());
      if (isTaken)
        left.choices.push_back(text);
    }
    if (left.choices.size() > 1)
      open.push_back(std::move(left));
  }
  space.list = std::move(open);
  return space;
}

std::optional<Trace> readTrace(StringRef text) {
  tile::TextError error;
  std::optional<std::vector<tile::TraceLine>> lines = tile::parseTrace(text, error);
  if (!lines)
    return std::nullopt;
  Trace trace;
  for (tile::TraceLine &line : *lines)
    trace.push_back(std::move(line.instruction));
  return trace;
}

std::vector<std::string> linesOf(const Trace &trace) {
  std::vector<std::string> lines;
  for (const tile::TraceInstruction &instruction : trace)
    lines.push_back(instruction.str());
  return lines;
}
} // namespace perpend::tune
