//===- Sampling.cpp - primitives that sample a decision -------------------===//
//
// A sample depends on the seed and the preceding steps only, and is the same on
// every machine. The trace records the decision, so a replay samples nothing. A
// search changes decisions.
//
//===----------------------------------------------------------------------===//

#include "tile/schedule/Nests.h"
#include "tile/schedule/Primitives.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// Drawing
//===----------------------------------------------------------------------===//

/// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
uint64_t KernelSchedule::draw() {
  uint64_t z = generator += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// A uniform number below `count`.
uint64_t KernelSchedule::drawBelow(uint64_t count) {
  uint64_t largest = UINT64_MAX - UINT64_MAX % count, drawn = draw();
  while (drawn >= largest)
    drawn = draw();
  return drawn % count;
}

static SmallVector<int64_t> divisorsOf(int64_t number) {
  SmallVector<int64_t> small, large;
  for (int64_t divisor = 1; divisor <= number / divisor; ++divisor)
    if (number % divisor == 0) {
      small.push_back(divisor);
      if (divisor != number / divisor)
        large.push_back(number / divisor);
    }
  llvm::append_range(small, llvm::reverse(large));
  return small;
}

/// Draws `count` factors whose product is `extent`, the last at most `largest`.
SmallVector<int64_t> KernelSchedule::drawFactors(int64_t extent, int64_t count, int64_t largest) {
  SmallVector<int64_t> factors(count, 1);
  for (int64_t i = count; i-- > 1;) {
    SmallVector<int64_t> choices = divisorsOf(extent);
    if (i == count - 1)
      llvm::erase_if(choices, [&](int64_t divisor) { return divisor > largest; });
    factors[i] = choices[drawBelow(choices.size())];
    extent /= factors[i];
  }
  factors[0] = extent;
  return factors;
}

std::string perpend::tile::listText(ArrayRef<int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "[" : ", ") + std::to_string(number);
  return text.empty() ? "[]" : text + "]";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

KernelSchedule::Number KernelSchedule::addNumber(int64_t value, StringRef stem) {
  Number number{addHandle(nullptr, stem)};
  numbers[number.id] = value;
  return number;
}

SmallVector<KernelSchedule::Number> KernelSchedule::recordFactors(StringRef primitive, const std::string &stem,
                                                                  ArrayRef<int64_t> factors,
                                                                  ArrayRef<std::string> operands) {
  SmallVector<Number> results;
  SmallVector<std::string> names, texts(operands);
  for (int64_t factor : factors) {
    results.push_back(addNumber(factor, stem));
    names.push_back(nameOf(results.back()));
  }
  texts.push_back("decision = " + listText(factors));
  record(primitive, names, texts);
  return results;
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// The extent of a loop that can be factored.
FailureOr<int64_t> KernelSchedule::findExtent(Loop handle, int64_t count, const std::string &title) {
  constexpr int64_t mostParts = 16;
  FailureOr<ForOp> loop = find(handle);
  if (failed(loop))
    return failure();
  SymbolicInt extent = loop->getExtent().values().front();
  std::optional<int64_t> number = extent.constant();
  if (!number || *number < 1)
    return refuse(title + "expected a loop whose extent is a number of at least 1, got " + extent.str());
  if (count < 1 || count > mostParts)
    return refuse(title + "expected 1 to " + Twine(mostParts) + " factors, got " + Twine(count));
  return *number;
}

/// What is wrong with given factors; empty if nothing.
static std::string wrongFactors(ArrayRef<int64_t> factors, int64_t extent, int64_t count) {
  int64_t rest = extent;
  for (int64_t factor : factors)
    rest = factor >= 1 && rest % factor == 0 ? rest / factor : 0;
  if (static_cast<int64_t>(factors.size()) == count && rest == 1)
    return "";
  return "expected a decision of " + std::to_string(count) + " factors whose product is " + std::to_string(extent) +
         ", got " + listText(factors);
}

FailureOr<SmallVector<KernelSchedule::Number>>
KernelSchedule::samplePerfectTile(Loop loop, int64_t count, int64_t largest,
                                  std::optional<ArrayRef<int64_t>> decision) {
  std::string title = "sample_perfect_tile " + nameOf(loop) + ": ";
  FailureOr<int64_t> extent = findExtent(loop, count, title);
  if (failed(extent))
    return failure();
  if (largest < 1)
    return refuse(title + "expected an innermost factor of at least 1, got " + Twine(largest));
  if (count == 1 && *extent > largest)
    return refuse(title + "the one factor is the extent " + Twine(*extent) + ", which is more than " + Twine(largest));
  SmallVector<int64_t> factors = decision ? SmallVector<int64_t>(*decision) : drawFactors(*extent, count, largest);
  if (std::string wrong = wrongFactors(factors, *extent, count); !wrong.empty())
    return refuse(title + wrong);
  if (factors.back() > largest)
    return refuse(title + "expected an innermost factor of at most " + Twine(largest) + ", got " +
                  Twine(factors.back()));
  return recordFactors("sample_perfect_tile", "f", factors,
                       {nameOf(loop), std::to_string(count), std::to_string(largest)});
}

FailureOr<SmallVector<KernelSchedule::Number>>
KernelSchedule::samplePartitionedTile(Loop loop, int64_t count, int64_t position, int64_t inner,
                                      std::optional<ArrayRef<int64_t>> decision) {
  std::string title = "sample_partitioned_tile " + nameOf(loop) + ": ";
  FailureOr<int64_t> extent = findExtent(loop, count, title);
  if (failed(extent))
    return failure();
  if (position < 1 || position >= count)
    return refuse(title + "expected a position from 1 to " + Twine(count - 1) + ", got " + Twine(position));
  if (inner < 1 || *extent % inner != 0)
    return refuse(title + "expected a divisor of the extent " + Twine(*extent) + ", got " + Twine(inner));
  SmallVector<int64_t> factors;
  if (decision) {
    factors.assign(decision->begin(), decision->end());
  } else {
    SmallVector<int64_t> choices = divisorsOf(*extent / inner);
    int64_t within = inner * choices[drawBelow(choices.size())];
    factors = drawFactors(*extent / within, position, *extent);
    llvm::append_range(factors, drawFactors(within, count - position, *extent));
  }
  if (std::string wrong = wrongFactors(factors, *extent, count); !wrong.empty())
    return refuse(title + wrong);
  int64_t within = 1;
  for (int64_t factor : ArrayRef(factors).drop_front(position))
    within *= factor;
  if (within % inner != 0)
    return refuse(title + "the product of the factors from number " + Twine(position) + " on is " + Twine(within) +
                  ", expected a multiple of " + Twine(inner));
  return recordFactors("sample_partitioned_tile", "f", factors,
                       {nameOf(loop), std::to_string(count), std::to_string(position), std::to_string(inner)});
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

FailureOr<KernelSchedule::Number> KernelSchedule::sampleCategorical(ArrayRef<int64_t> candidates,
                                                                    ArrayRef<int64_t> weights,
                                                                    std::optional<int64_t> decision) {
  constexpr int64_t largest = INT32_MAX;
  int64_t sum = 0, count = candidates.size();
  for (int64_t weight : weights) {
    if (weight < 0 || weight > largest)
      return refuse("sample_categorical: expected weights from 0 to " + Twine(largest) + ", got " + Twine(weight));
    sum += weight;
  }
  if (weights.size() != candidates.size() || sum == 0)
    return refuse("sample_categorical: expected a weight for each of " + Twine(count) + " candidates, not all 0, got " +
                  listText(weights));
  if (decision && (*decision < 0 || *decision >= count))
    return refuse("sample_categorical: expected a decision from 0 to " + Twine(count - 1) + ", got " +
                  Twine(*decision));
  int64_t choice = 0;
  if (decision) {
    choice = *decision;
  } else {
    int64_t drawn = drawBelow(sum);
    while (drawn >= weights[choice])
      drawn -= weights[choice++];
  }
  Number result = addNumber(candidates[choice], "c");
  record("sample_categorical", nameOf(result),
         {listText(candidates), listText(weights), "decision = " + std::to_string(choice)});
  return result;
}

FailureOr<KernelSchedule::Loop> KernelSchedule::sampleComputeLocation(Block handle, std::optional<int64_t> decision) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  std::string title = "sample_compute_location " + nameOf(handle) + ": ";
  BlockOp consumer;
  for (Value buffer : buffersOf(*found, /*isWritten=*/true))
    for (Operation *reader : readersOf(kernel, buffer))
      if (!consumer && reader != *found)
        consumer = cast<BlockOp>(reader);
  if (!consumer)
    return refuse(title + "no other block reads what it writes");
  SmallVector<ForOp> loops = loopsAround(consumer), possible;
  std::string why = "there are no loops";
  for (ForOp loop : loops) {
    auto moves = [&](KernelSchedule &trial) {
      return trial.computeAt(handle, Loop{static_cast<unsigned>(trial.handles.size() - 1)});
    };
    if (succeeded(tryOut(moves, loop)))
      possible.push_back(loop);
    else
      why = reason;
  }
  if (possible.empty())
    return refuse(title + "it cannot be computed in any loop around '" + consumer.getName() + "': " + why);
  int64_t count = loops.size();
  if (decision && (*decision < 0 || *decision >= count || !llvm::is_contained(possible, loops[*decision])))
    return refuse(title + "expected as decision the number of a loop around '" + consumer.getName() +
                  "' in which it can be computed, got " + Twine(*decision));
  ForOp chosen = decision ? loops[*decision] : possible[drawBelow(possible.size())];
  Loop result{addHandle(chosen, chosen.getName())};
  record("sample_compute_location", nameOf(result),
         {nameOf(handle), "decision = " + std::to_string(llvm::find(loops, chosen) - loops.begin())});
  return result;
}
