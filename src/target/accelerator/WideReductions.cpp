//===- WideReductions.cpp - of integers of 64 bits ------------------------===//
//
// The least of integers of two words is among those with the least high word; of their low words, which have no sign,
// the least one is its own:
//
//   high = min over k of high(k)
//   low = min over k of (high(k) == high ? low(k) : the greatest word)
//
// The first value takes part where the results are stored.
//
//===----------------------------------------------------------------------===//
#include "target/accelerator/WideReductions.h"

#include <limits>

namespace perpend::accelerator {
namespace {

constexpr int32_t leastWord = std::numeric_limits<int32_t>::min(), mostWord = std::numeric_limits<int32_t>::max();
constexpr unsigned wordBits = 32;

class NodesOf {
public:
  explicit NodesOf(Nest &nest) : nest(nest) {}
  unsigned load(const Access &access) {
    Node node;
    node.kind = Node::Load;
    node.access = access;
    return add(std::move(node), DType::I32);
  }
  unsigned number(int32_t value) {
    Node node;
    node.number = value;
    return add(std::move(node), DType::I32);
  }
  unsigned apply(Function function, DType type, std::initializer_list<unsigned> operands) {
    Node node;
    node.kind = Node::Apply;
    node.function = function;
    node.operands = operands;
    return add(std::move(node), type);
  }
  unsigned isSame(unsigned one, unsigned other) { return apply(Function::ceq, DType::Pred8, {one, other}); }
  /// Words without a sign have the order of these with one; and back.
  unsigned ordered(unsigned word) { return apply(Function::xor_, DType::I32, {word, number(leastWord)}); }

private:
  unsigned add(Node node, DType type) {
    node.type = type;
    nest.nodes.push_back(std::move(node));
    return static_cast<unsigned>(nest.nodes.size() - 1);
  }
  Nest &nest;
};

} // namespace

std::vector<Nest> reduceWide(const Nest &nest, Words words, int64_t initial,
                             llvm::function_ref<unsigned(int64_t elements)> bufferOf) {
  const int32_t neutral = nest.combine == Function::min ? mostWord : leastWord;
  const auto firstHigh = static_cast<int32_t>(initial >> wordBits),
             firstLow = static_cast<int32_t>(initial) ^ leastWord;
  llvm::SmallVector<int64_t, 6> dense(nest.loops.size());
  int64_t results = 1;
  for (size_t loop = nest.loops.size(); loop-- > 0;)
    if (!nest.loops[loop].isReduced) {
      dense[loop] = results;
      results *= nest.loops[loop].extent;
    }

  Nest high = nest;
  high.type = DType::I32;
  high.store = {bufferOf(results), 0, dense};
  high.initial = firstHigh;
  high.value = words.high;

  Nest low = high;
  low.store.buffer = bufferOf(results);
  low.initial = neutral;
  NodesOf ofLow(low);
  low.value =
      ofLow.apply(Function::sel, DType::I32,
                  {ofLow.isSame(words.high, ofLow.load(high.store)), ofLow.ordered(words.low), ofLow.number(neutral)});

  Nest result;
  result.name = nest.name;
  result.type = DType::I32;
  Access highs = high.store, lows = low.store, stored = nest.store;
  for (Access *access : {&highs, &lows, &stored})
    access->strides.clear();
  stored.base *= 2;
  for (size_t loop = 0; loop < nest.loops.size(); ++loop)
    if (!nest.loops[loop].isReduced) {
      result.loops.push_back(nest.loops[loop]);
      highs.strides.push_back(dense[loop]);
      lows.strides.push_back(dense[loop]);
      stored.strides.push_back(2 * nest.store.strides[loop]);
    }
  Nest highResult = result, lowResult = result;
  highResult.value = NodesOf(highResult).load(highs);
  highResult.store = stored;
  highResult.store.base += 1;
  NodesOf of(lowResult);
  const unsigned best = of.load(lows);
  const unsigned combined = of.apply(*nest.combine, DType::I32, {best, of.number(firstLow)});
  lowResult.value = of.ordered(
      of.apply(Function::sel, DType::I32, {of.isSame(of.load(highs), of.number(firstHigh)), combined, best}));
  lowResult.store = stored;
  return {high, low, highResult, lowResult};
}

} // namespace perpend::accelerator
