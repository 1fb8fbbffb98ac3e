//===- FuseProducts.cpp - adds several products of small integers at once -===//
//
// Sums of products over contiguous windows (depthwise convolutions) add one product after another, in lanes as wide as
// the sum. If the machine has a step for words of such integers (tile/intrinsics/Words.h), this pass assembles words
// in registers from the operands of several products, and adds them all with one step. Runs on straight-line code,
// after schedules are flattened and intrinsics are code; the rule for windows unrolls the loops. Products are grouped
// such that as few words as possible must be assembled: neighbouring sums share the words of a window's column.
//
//   %s1 = %s0 + ext(%x0) * ext(%w0)
//   %s2 = %s1 + ext(%x1) * ext(%w1)   =>   step(interleaved(%x0, %x1), interleaved(%w0, %w1), %s0)
//
//===----------------------------------------------------------------------===//

#include "graph/ElementTypes.h"
#include "target/vector/WordProducts.h"
#include "target/vector/passes/Passes.h"
#include "tile/intrinsics/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace perpend::target {
#define GEN_PASS_DEF_VECTORFUSEPRODUCTS
#include "target/VectorPasses.h.inc"
} // namespace perpend::target

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using namespace perpend::tile;

/// Windows with more rows are processed in parts.
static constexpr size_t mostPeriod = 8;

namespace {
/// A vector of narrow integers; the element type gives their signedness.
struct Factor {
  Value numbers;
  Type type;
};

struct Chain {
  Value initial; // null: zero
  SmallVector<std::pair<Factor, Factor>> products;
  Operation *last;
};

/// Vectors whose elements are interleaved into words.
struct Word {
  std::vector<Value> operands;
  Type type;
  Type element; ///< element type of the word, which may be wider than the vectors'
  bool operator<(const Word &other) const { return key() < other.key(); }

private:
  std::vector<const void *> key() const {
    std::vector<const void *> pointers{type.getAsOpaquePointer(), element.getAsOpaquePointer()};
    for (Value operand : operands)
      pointers.push_back(operand.getAsOpaquePointer());
    return pointers;
  }
};

/// How chains become steps: the intrinsic, whether the operands are exchanged, and after how many products a new word
/// begins.
struct Plan {
  const Intrinsic *intrinsic = nullptr;
  bool isSwapped = false;
  size_t period = 0;
  double cost = 0;
  size_t group() const { return intrinsic->panels->group; }
};
} // namespace

//===----------------------------------------------------------------------===//
// Finding sums
//===----------------------------------------------------------------------===//

static std::optional<Factor> factorOf(Value wide) {
  Operation *extension = wide.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(extension))
    return std::nullopt;
  Value narrow = extension->getOperand(0);
  auto type = dyn_cast<VectorType>(narrow.getType());
  if (!type || type.getElementTypeBitWidth() < 8)
    return std::nullopt;
  auto sign = isa<arith::ExtUIOp>(extension) ? IntegerType::Unsigned : IntegerType::Signless;
  return Factor{narrow, IntegerType::get(wide.getContext(), type.getElementTypeBitWidth(), sign)};
}

static std::optional<std::pair<Factor, Factor>> productOf(Value value) {
  auto product = value.getDefiningOp<arith::MulIOp>();
  if (!product || !value.hasOneUse())
    return std::nullopt;
  std::optional<Factor> left = factorOf(product.getLhs()), right = factorOf(product.getRhs());
  return left && right ? std::optional(std::pair(*left, *right)) : std::nullopt;
}

static SmallVector<Chain> chainsIn(Block &block) {
  SmallVector<Chain> chains;
  llvm::DenseMap<Value, size_t> endingIn;
  for (auto addition : block.getOps<arith::AddIOp>()) {
    if (!isa<VectorType>(addition.getType()))
      continue;
    auto product = productOf(addition.getRhs());
    Value before = product ? addition.getLhs() : addition.getRhs();
    if (!product && !(product = productOf(addition.getLhs())))
      continue;
    auto known = endingIn.find(before);
    if (known == endingIn.end() || !before.hasOneUse()) {
      known = endingIn.try_emplace(before, chains.size()).first;
      known->second = chains.size();
      // A sum that starts at zero starts with its first product.
      auto first = productOf(before);
      chains.push_back({first ? Value() : before, {}, nullptr});
      if (first)
        chains.back().products.push_back(*first);
    }
    Chain &chain = chains[known->second];
    chain.products.push_back(*product);
    chain.last = addition;
    endingIn[addition] = known->second;
  }
  return chains;
}

/// The memory that a buffer views.
static Value memoryOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

/// Merges loads of the same elements, so that words can be compared. Stores go to other buffers, which do not alias.
static void shareLoads(Block &block) {
  SmallVector<vector::LoadOp> known;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto store = dyn_cast<vector::StoreOp>(op)) {
      Value memory = memoryOf(store.getBase());
      llvm::erase_if(known, [&](vector::LoadOp load) { return memoryOf(load.getBase()) == memory; });
      continue;
    }
    auto load = dyn_cast<vector::LoadOp>(op);
    if (!load) {
      if (!isMemoryEffectFree(&op))
        known.clear();
      continue;
    }
    auto same = llvm::find_if(known, [&](vector::LoadOp other) {
      return other.getBase() == load.getBase() && other.getIndices() == load.getIndices() &&
             other.getType() == load.getType();
    });
    if (same == known.end()) {
      known.push_back(load);
      continue;
    }
    load.replaceAllUsesWith(same->getResult());
    load.erase();
  }
}

//===----------------------------------------------------------------------===//
// Choosing words
//===----------------------------------------------------------------------===//

/// The left and right word of each step.
static SmallVector<std::pair<Word, Word>> stepsOf(const Chain &chain, const Plan &plan) {
  SmallVector<std::pair<Word, Word>> steps;
  for (auto [i, product] : llvm::enumerate(chain.products)) {
    if (i % plan.period % plan.group() == 0)
      steps.emplace_back();
    const Factor &left = plan.isSwapped ? product.second : product.first;
    const Factor &right = plan.isSwapped ? product.first : product.second;
    auto &[leftWord, rightWord] = steps.back();
    leftWord.operands.push_back(left.numbers);
    rightWord.operands.push_back(right.numbers);
    leftWord.type = left.type;
    rightWord.type = right.type;
    leftWord.element = plan.intrinsic->panels->left;
    rightWord.element = plan.intrinsic->panels->right;
  }
  return steps;
}

/// Whether all factors can be converted to the elements of the intrinsic. The factors of a word have one type.
static bool fits(ArrayRef<Chain> chains, const Plan &plan) {
  const auto &first = chains.front().products.front();
  return llvm::all_of(chains, [&](const Chain &chain) {
    return llvm::all_of(chain.products, [&](const std::pair<Factor, Factor> &product) {
      const Factor &left = plan.isSwapped ? product.second : product.first;
      const Factor &right = plan.isSwapped ? product.first : product.second;
      return product.first.type == first.first.type && product.second.type == first.second.type &&
             wordsHold(*plan.intrinsic, left.type, right.type);
    });
  });
}

/// Cost in instructions: one per vector that is interleaved, one per word, and the steps.
static double costOf(ArrayRef<Chain> chains, const Plan &plan) {
  std::set<Word> words;
  double cost = 0;
  for (const Chain &chain : chains)
    for (const auto &[left, right] : stepsOf(chain, plan)) {
      ++cost;
      for (const Word &word : {left, right})
        if (words.insert(word).second)
          cost += double(word.operands.size() + 1);
    }
  return cost;
}

/// Cost without the plan: factors are loaded and extended, multiplied and added one by one.
static double costOfEach(ArrayRef<Chain> chains) {
  llvm::DenseSet<Value> factors;
  double cost = 0;
  for (const Chain &chain : chains)
    for (const auto &[left, right] : chain.products) {
      factors.insert(left.numbers);
      factors.insert(right.numbers);
      cost += 2;
    }
  return cost + 2 * double(factors.size());
}

/// The cheapest plan; null if none is cheaper than adding products one by one.
static Plan planFor(ArrayRef<Chain> chains, VectorType sums, const target::Machine &target) {
  Plan best{nullptr, false, 0, costOfEach(chains)};
  for (const Intrinsic *intrinsic : intrinsicsOfWords(sums.getElementType(), sums.getNumElements(), target))
    for (bool isSwapped : {false, true})
      for (size_t period = 1; period <= mostPeriod; ++period) {
        Plan plan{intrinsic, isSwapped, period, 0};
        if (!fits(chains, plan))
          break;
        plan.cost = costOf(chains, plan);
        if (plan.cost < best.cost)
          best = plan;
      }
  return best;
}

//===----------------------------------------------------------------------===//
// Making words
//===----------------------------------------------------------------------===//

/// Interleaves the elements of the operands; missing operands count as zero.
static Value interleaved(OpBuilder &builder, Location loc, ArrayRef<Value> operands, size_t group) {
  auto type = cast<VectorType>(operands.front().getType());
  int64_t lanes = type.getNumElements();
  SmallVector<Value> parts(operands);
  while (parts.size() < group)
    parts.push_back(builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(type)));
  // Concatenates pairs until two vectors are left, then interleaves those. They are as long as the result whatever
  // fills their ends, so no further widening is needed.
  for (int64_t size = lanes; parts.size() > 2; size *= 2) {
    SmallVector<int64_t> order;
    for (int64_t i = 0; i < (parts.size() > 4 ? 2 * size : lanes * static_cast<int64_t>(group)); ++i)
      order.push_back(i % (2 * size));
    for (size_t i = 0; i < parts.size() / 2; ++i)
      parts[i] = builder.create<vector::ShuffleOp>(loc, parts[2 * i], parts[2 * i + 1], order);
    parts.truncate(parts.size() / 2);
  }
  int64_t half = static_cast<int64_t>(group) / 2, length = cast<VectorType>(parts[0].getType()).getNumElements();
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < lanes; ++lane)
    for (int64_t i = 0; i < 2 * half; ++i)
      order.push_back(i / half * length + i % half * lanes + lane);
  return builder.create<vector::ShuffleOp>(loc, parts[0], parts[1], order);
}

static Value wordOf(OpBuilder &builder, Location loc, const Word &word, size_t group) {
  Value numbers = interleaved(builder, loc, word.operands, group);
  if (graph::bitWidth(word.type) == graph::bitWidth(word.element))
    return numbers;
  Type type = cast<VectorType>(numbers.getType()).clone(graph::scalarType(word.element));
  return word.type.isUnsignedInteger() ? Value(builder.create<arith::ExtUIOp>(loc, type, numbers))
                                       : builder.create<arith::ExtSIOp>(loc, type, numbers);
}

static void makeSteps(MutableArrayRef<Chain> chains, const Plan &plan, int64_t lanes, const target::Machine &target) {
  std::map<Word, Value> made;
  // A word is assembled before the end of the first chain that uses it.
  llvm::sort(chains, [](const Chain &a, const Chain &b) { return a.last->isBeforeInBlock(b.last); });
  for (const Chain &chain : chains) {
    OpBuilder operations(chain.last);
    ImplicitLocOpBuilder builder(chain.last->getLoc(), operations);
    builder.setInsertionPoint(chain.last);
    WordProducts products(builder, *plan.intrinsic, lanes, target);
    auto inRegister = [&](const Word &word) {
      Value &known = made[word];
      return known ? known : known = wordOf(builder, builder.getLoc(), word, plan.group());
    };
    Type type = chain.last->getResult(0).getType();
    Value sums = chain.initial ? chain.initial : builder.create<arith::ConstantOp>(builder.getZeroAttr(type));
    for (const auto &[left, right] : stepsOf(chain, plan))
      sums = products.multiplyAdd(inRegister(left), inRegister(right), sums);
    chain.last->getResult(0).replaceAllUsesWith(sums);
  }
}

namespace {
struct FuseProducts : perpend::target::impl::VectorFuseProductsBase<FuseProducts> {
  using VectorFuseProductsBase::VectorFuseProductsBase;

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation().walk([&](arith::MulIOp op) {
      if (isa<VectorType>(op.getType()) && (blocks.empty() || blocks.back() != op->getBlock()))
        blocks.push_back(op->getBlock());
    });
    for (Block *block : blocks)
      fuse(*block);
  }

  void fuse(Block &block) {
    if (chainsIn(block).empty())
      return;
    shareLoads(block);
    llvm::MapVector<Type, SmallVector<Chain>> chainsOf;
    for (Chain &chain : chainsIn(block))
      if (chain.products.size() > 1)
        chainsOf[chain.last->getResult(0).getType()].push_back(chain);
    for (auto &[type, chains] : chainsOf) {
      auto sums = cast<VectorType>(type);
      if (Plan plan = planFor(chains, sums, target); plan.intrinsic)
        makeSteps(chains, plan, sums.getNumElements(), target);
    }
  }
};
} // namespace
