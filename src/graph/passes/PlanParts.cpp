//===- PlanParts.cpp - groups of a chain, and their parts -----------------===//

#include "graph/passes/PlanParts.h"

#include "graph/Rows.h"
#include "graph/Shapes.h"
#include "graph/StoredElements.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace perpend::graph;

static int64_t bytesOf(Value value) {
  auto type = tensorTypeOf(value);
  return type.hasStaticShape() ? type.getNumElements() * llvm::divideCeil(bitWidth(type.getElementType()), 8) : 0;
}

/// Of a kernel, in products: other elements take as long as 32 of them.
static double productsOf(func::FuncOp kernel) {
  constexpr double productsOfElement = 32;
  double products = 0;
  kernel.walk([&](Operation *op) {
    if (!isa<ElementInterface>(op) || op->getNumResults() != 1)
      return;
    double each = isa<ProductInterface>(op) ? 1 : productsOfElement;
    if (auto reduction = dyn_cast<ReductionInterface>(op))
      for (const SymbolicInt &extent : reduction.reducedExtents())
        each *= double(extent.constant().value_or(1));
    auto type = tensorTypeOf(op->getResult(0));
    products += type.hasStaticShape() ? double(type.getNumElements()) * each : 0;
  });
  return products;
}

static bool multipliesWindows(func::FuncOp kernel) {
  return kernel
      .walk([](ProductInterface product) {
        return product.asMatrixProduct() ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

namespace {
/// Cuts a chain into groups.
class ChainPlanner {
public:
  ChainPlanner(const Chain &chain, DividedKernels &kernels, BandedKernels *banded,
               const GraphSplitBatchesOptions &options)
      : chain(chain), kernels(kernels), banded(banded), options(options), count(chain.members.size()) {
    collectValues();
    for (int64_t parts = 1; parts <= chain.rows; ++parts)
      if (partCounts.empty() || rowsOf(parts) != rowsOf(partCounts.back()))
        partCounts.push_back(parts);
  }

  SmallVector<Group> plan() {
    for (auto &costs : best)
      costs.resize(count + 1);
    best[0][0].bytes = 0;
    for (unsigned first = 0; first < count; ++first)
      visitFrom(first);
    SmallVector<Group> groups;
    for (Cut cut{count, 0}; cut.member > 0; cut = best[cut.isNear][cut.member].before)
      groups.push_back({best[cut.isNear][cut.member].before.member, cut.member, best[cut.isNear][cut.member].parts,
                        best[cut.isNear][cut.member].bands});
    return groups;
  }

private:
  static constexpr int64_t tooMuch = std::numeric_limits<int64_t>::max();

  /// A value with rows: the number of the member that makes it (-1: another operator), and of those that read it.
  struct Divided {
    Value value;
    int64_t bytes = 0;
    int def = -1;
    SmallVector<int> readers; ///< `count`: others
    bool isOver = false;      ///< it may lie where an operand did, up to the member that makes it
    int last() const { return readers.empty() ? def : readers.back(); }
  };

  /// In front of a member; whether what goes on behind it lies in near memory.
  struct Cut {
    unsigned member = 0;
    bool isNear = false;
  };
  struct Best {
    int64_t bytes = tooMuch;
    Cut before;
    int64_t parts = 1, bands = 1;
  };

  int64_t rowsOf(int64_t parts) const { return llvm::divideCeil(chain.rows, parts); }

  /// Whether the member that makes a value reads one that may lie there, for the last time.
  bool overwrites(Operation *op) {
    return options.overwrites && DividedKernels::isCall(op) &&
           llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
             Value origin = originOf(operand.get());
             SmallVector<int> readers;
             if (!chain.contains(origin) || bytesOf(origin) != bytesOf(operand.get()) || !kernels.mayOverwrite(operand))
               return false;
             collectReaders(origin, readers);
             const int number = static_cast<int>(chain.numbers.lookup(op));
             return llvm::all_of(readers, [&](int reader) { return reader <= number; });
           });
  }

  /// The members that read a value, directly or in its memory.
  void collectReaders(Value value, SmallVector<int> &readers) {
    for (Operation *user : value.getUsers()) {
      auto number = chain.numbers.find(user);
      if (number == chain.numbers.end())
        readers.push_back(count);
      else if (isInOperandsMemory(user))
        collectReaders(user->getResult(0), readers);
      else
        readers.push_back(number->second);
    }
  }

  void collectValues() {
    wholeBytes.resize(count);
    hasWindows.resize(count);
    llvm::SetVector<Value> outer;
    for (auto [number, op] : llvm::enumerate(chain.members)) {
      if (!DividedKernels::isCall(op))
        continue;
      for (OpOperand &operand : op->getOpOperands())
        if (!kernels.isDivided(operand))
          wholeBytes[number] += kernels.readsSome(operand) ? 0 : bytesOf(operand.get()); // however many parts
        else if (!chain.contains(operand.get()))
          outer.insert(operand.get());
      for (Value result : op->getResults())
        addValue(result, number);
      hasWindows[number] = multipliesWindows(DividedKernels::kernelOf(op));
      if (op->getNumResults() == 1)
        values.back().isOver = overwrites(op);
    }
    for (Value value : outer)
      addValue(value, -1);
  }

  void addValue(Value value, int def) {
    Divided &added = values.emplace_back();
    added.value = value;
    added.bytes = bytesOf(value);
    added.def = def;
    collectReaders(value, added.readers);
    if (def < 0)
      llvm::erase(added.readers, static_cast<int>(count));
    llvm::sort(added.readers);
  }

  void visitFrom(unsigned first) {
    for (int64_t parts : partCounts)
      for (unsigned end = first + 1; end <= count; ++end) {
        if (!visit({first, end, parts}))
          break;
      }
    if (banded)
      visitBands(first);
  }

  /// Groups whose values near memory does not hold for one index of the first dimension.
  void visitBands(unsigned first) {
    static constexpr int64_t counts[] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32};
    for (unsigned end = first + 2; end <= count; ++end) {
      if (fits({first, end, chain.rows}))
        continue;
      bool isTooLarge = false;
      for (int64_t bands : counts) {
        const Group group{first, end, chain.rows, bands};
        const std::optional<BandShares> shares = sharesOf(group);
        isTooLarge = false;
        if (!shares)
          continue;
        current = &*shares;
        isTooLarge = !visit(group);
        current = nullptr;
      }
      if (isTooLarge)
        return;
    }
  }

  bool fits(const Group &group) const { return spilledBy(group, false, false).has_value(); }

  /// Of a group in bands, by the numbers of values: rows of the largest band, and of all bands of an index, as parts of
  /// the value's. Those of a value that a group reads overlap.
  struct BandShares {
    llvm::DenseMap<Value, std::pair<double, double>> largestAndAll;
    double bytes = 0; ///< as many can be moved while rows are computed again
  };

  std::optional<BandShares> sharesOf(const Group &group) {
    BandShares shares;
    const ArrayRef<Operation *> members = ArrayRef(chain.members).slice(group.first, group.end - group.first);
    for (int64_t band = 0; band < group.bands; ++band) {
      const std::optional<ValueRows> rows = banded->rowsOfBand(members, band, group.bands);
      if (!rows)
        return std::nullopt;
      for (auto &[value, range] : *rows) {
        const double share = double(range.size()) / double(*rowCountOf(value));
        auto &[largest, all] = shares.largestAndAll[value];
        largest = std::max(largest, share);
        all += share;
      }
    }
    for (Operation *op : members)
      shares.bytes += (shares.largestAndAll.lookup(op->getResult(0)).second - 1) *
                      productsOf(DividedKernels::kernelOf(op)) / double(std::max<int64_t>(options.productsPerByte, 1));
    return shares;
  }

  /// Of a value within a group, for one part, or one band of it.
  int64_t partBytesOf(const Divided &value, const Group &group) const {
    const int64_t bytes = value.bytes / chain.rows * rowsOf(group.parts);
    return current ? int64_t(double(bytes) * current->largestAndAll.lookup(value.value).first) : bytes;
  }

  /// False: near memory does not hold what lies between the members of this group, nor of a larger one.
  bool visit(Group group) {
    const bool isAlone = group.end == group.first + 1 && group.parts == 1;
    if (!isAlone && !spilledBy(group, false, false))
      return false;
    for (bool isNear : {false, true})
      for (bool staysNear : {false, true}) {
        const Best &before = best[isNear][group.first];
        const bool isPlain = isAlone && !isNear && !staysNear;
        if (before.bytes == tooMuch || (staysNear && group.end == count))
          continue;
        const std::optional<int64_t> spilled = isPlain ? 0 : spilledBy(group, isNear, staysNear);
        if (!spilled)
          continue;
        Best &known = best[staysNear][group.end];
        int64_t bytes = movedBy(group, isNear, staysNear);
        if (bytes == tooMuch || before.bytes + bytes + *spilled >= known.bytes)
          continue;
        known = {before.bytes + bytes + *spilled, {group.first, isNear}, group.parts, group.bands};
      }
    return true;
  }

  static bool isWithin(const Divided &value, const Group &group) {
    return value.def >= static_cast<int>(group.first) && value.last() < static_cast<int>(group.end);
  }
  static bool isOutside(const Divided &value, const Group &group) {
    return value.def >= static_cast<int>(group.end) || value.last() < static_cast<int>(group.first);
  }
  static bool isNearIn(const Divided &value, const Group &group, bool isNear, bool staysNear) {
    return isWithin(value, group) ||
           (!isOutside(value, group) && (isMade(value, group) ? staysNear : isNear && value.def >= 0));
  }
  static bool isMade(const Divided &value, const Group &group) { return value.def >= static_cast<int>(group.first); }

  /// What must move to far memory and back so that near memory holds the rest, in bytes to and from it: values that
  /// live while other members run. nullopt: it does not hold what one member touches. What kernels read as a whole
  /// passes through it, piece by piece.
  std::optional<int64_t> spilledBy(const Group &group, bool isNear, bool staysNear) const {
    int64_t spilled = 0;
    std::vector<bool> isFar(values.size());
    while (true) {
      const auto [most, number] = peakOf(group, isNear, staysNear, isFar);
      if (most <= options.nearBytes)
        return spilled;
      std::optional<size_t> best;
      int64_t least = tooMuch;
      for (auto [index, value] : llvm::enumerate(values)) {
        const auto at = static_cast<int>(number);
        const int64_t moved = value.bytes * static_cast<int64_t>(1 + value.readers.size());
        if (!isFar[index] && isNearIn(value, group, isNear, staysNear) && value.def < at && at < value.last() &&
            !llvm::is_contained(value.readers, at) && moved < least) {
          best = index;
          least = moved;
        }
      }
      if (!best)
        return std::nullopt;
      isFar[*best] = true;
      spilled += least;
    }
  }

  /// The most bytes of near memory at a time, and the member that runs then.
  std::pair<int64_t, unsigned> peakOf(const Group &group, bool isNear, bool staysNear,
                                      const std::vector<bool> &isFar) const {
    SmallVector<int64_t> changes(group.end - group.first + 1);
    int64_t resident = 0, most = 0, now = 0;
    unsigned at = group.first;
    for (auto [index, value] : llvm::enumerate(values)) {
      if (isOutside(value, group) || isFar[index])
        continue;
      if (isWithin(value, group)) {
        const int64_t bytes = partBytesOf(value, group);
        const int end = std::max(value.last() + 1, value.def + 1);
        const int begin = value.isOver && !current ? std::min(value.def + 1, end) : value.def;
        changes[begin - group.first] += bytes;
        changes[end - group.first] -= bytes;
      } else if (isMade(value, group) ? staysNear : isNear && value.def >= 0) {
        resident += value.bytes;
      }
    }
    for (unsigned number = group.first; number < group.end; ++number) {
      now += changes[number - group.first];
      if (const int64_t bytes = now + wholeBytesAtOnce(number); bytes > most) {
        most = bytes;
        at = number;
      }
    }
    return {most + resident, at};
  }

  /// Whether a part of a value, or a band, would begin inside a line. Bands of what a group reads may.
  bool cutsLines(const Divided &value, const Group &group) const {
    if (group.bands == 1) {
      const int64_t step = chain.rows % group.parts ? 1 : chain.rows / group.parts; // parts begin at multiples
      return group.parts > 1 && value.bytes / chain.rows * step % options.lineBytes != 0;
    }
    const int64_t rows = *rowCountOf(value.value), step = rows % group.bands ? 1 : rows / group.bands;
    return isMade(value, group) && value.bytes / chain.rows / rows * step % options.lineBytes != 0;
  }

  /// What passes through near memory at a time while a member reads its operands that no part divides.
  int64_t wholeBytesAtOnce(unsigned member) const {
    return std::min(wholeBytes[member], options.nearBytes / (hasWindows[member] ? 8 : 4));
  }

  /// How often a member reads the other operands: again for each piece of those that no part divides, unless it is a
  /// product of matrices, whose sums go on from piece to piece.
  int64_t timesRead(int member) const {
    const int64_t piece = wholeBytesAtOnce(member);
    return hasWindows[member] && piece ? llvm::divideCeil(wholeBytes[member], piece) : 1;
  }

  /// To and from far memory.
  int64_t movedBy(const Group &group, bool isNear, bool staysNear) const {
    int64_t moved = current ? int64_t(current->bytes) : 0;
    for (const Divided &value : values) {
      if (isOutside(value, group) || isWithin(value, group))
        continue;
      if (cutsLines(value, group))
        return tooMuch;
      const bool isFar = isMade(value, group) ? !staysNear : !isNear || value.def < 0;
      if (!isFar)
        continue;
      moved += isMade(value, group) ? value.bytes : 0;
      const double again = current && !isMade(value, group) ? current->largestAndAll.lookup(value.value).second : 1;
      for (int reader : value.readers)
        if (reader >= static_cast<int>(group.first) && reader < static_cast<int>(group.end))
          moved += int64_t(double(value.bytes) * again) * timesRead(reader);
    }
    for (unsigned number = group.first; number < group.end; ++number)
      if (DividedKernels::isCall(chain.members[number]))
        moved += group.parts * group.bands * (wholeBytes[number] + options.launchBytes);
    return moved;
  }

  const Chain &chain;
  DividedKernels &kernels;
  BandedKernels *banded; ///< null: there are no bands
  const GraphSplitBatchesOptions &options;
  unsigned count;
  std::vector<Divided> values;
  std::vector<bool> hasWindows;        ///< of each member: it multiplies windows that overlap
  std::vector<int64_t> wholeBytes;     ///< of each member: operands without rows, which each part reads
  SmallVector<int64_t> partCounts;     ///< with different rows
  const BandShares *current = nullptr; ///< of the group that is visited, if it runs in bands
  std::vector<Best> best[2];           ///< by whether what goes on is near, and by the member behind the cut
};
} // namespace

SmallVector<Group> perpend::graph::planParts(const Chain &chain, DividedKernels &kernels, BandedKernels *banded,
                                             const GraphSplitBatchesOptions &options) {
  return ChainPlanner(chain, kernels, banded, options).plan();
}
