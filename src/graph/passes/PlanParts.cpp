//===- PlanParts.cpp - groups of a chain, and their parts -----------------===//

#include "graph/passes/PlanParts.h"

#include "graph/Rows.h"
#include "graph/Shapes.h"
#include "graph/StoredElements.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace perpend::graph;

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
    for (unsigned end = 1; end <= count; ++end)
      visitTo(end);
    SmallVector<Group> groups;
    for (Cut cut{count, 0}; cut.member > 0; cut = best[cut.isNear][cut.member].before)
      groups.push_back({best[cut.isNear][cut.member].before.member, cut.member, best[cut.isNear][cut.member].parts,
                        best[cut.isNear][cut.member].bands});
    return groups;
  }

private:
  static constexpr int64_t tooMuch = std::numeric_limits<int64_t>::max();
  static constexpr int64_t bandCounts[] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32};
  /// The planner tries about so many groups of a chain, each in time that grows with its members: none of more members
  /// than that allows, but `fewestMembers` always. A chain that would run as a longer group is cut, and what crosses
  /// the cut lies in near memory as a whole, or in far memory.
  static constexpr size_t mostGroups = 1 << 21, fewestMembers = 8;

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
             if (!chain.contains(origin) || storedBytes(origin) != storedBytes(operand.get()) ||
                 !kernels.mayOverwrite(operand))
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
    launchedBytes.resize(count + 1);
    products.resize(count);
    llvm::SetVector<Value> outer;
    for (auto [number, op] : llvm::enumerate(chain.members)) {
      int &lastUser = lastUsers.emplace_back(-1);
      for (Operation *user : op->getUsers())
        lastUser = std::max(lastUser, chain.numbers.contains(user) ? int(chain.numbers.lookup(user)) : int(count));
      launchedBytes[number + 1] = launchedBytes[number];
      if (!DividedKernels::isCall(op))
        continue;
      for (OpOperand &operand : op->getOpOperands())
        if (!kernels.isDivided(operand))
          wholeBytes[number] += kernels.readsSome(operand) ? 0 : storedBytes(operand.get()); // however many parts
        else if (!chain.contains(operand.get()))
          outer.insert(operand.get());
      for (Value result : op->getResults())
        addValue(result, number);
      launchedBytes[number + 1] += wholeBytes[number] + options.launchBytes;
      hasWindows[number] = multipliesWindows(DividedKernels::kernelOf(op));
      if (op->getNumResults() == 1)
        values.back().isOver = overwrites(op);
    }
    for (Value value : outer)
      addValue(value, -1);
    byLast.resize(count + 1);
    for (auto [number, value] : llvm::enumerate(values)) {
      numbers[value.value] = number;
      if (value.last() >= 0)
        byLast[value.last()].push_back(number);
    }
  }

  void addValue(Value value, int def) {
    Divided &added = values.emplace_back();
    added.value = value;
    added.bytes = storedBytes(value);
    added.def = def;
    collectReaders(value, added.readers);
    if (def < 0)
      llvm::erase(added.readers, static_cast<int>(count));
    llvm::sort(added.readers);
  }

  unsigned mostMembers() const {
    const size_t counts = partCounts.size() + (banded ? std::size(bandCounts) : 0);
    return static_cast<unsigned>(std::clamp<size_t>(mostGroups / (counts * count), fewestMembers, count));
  }

  /// The groups that end in front of `end`, from short to long ones: what bands of a group compute and read follows
  /// from what those of the group without its first member do. A count ends at the first group that does not fit,
  /// because no longer one does.
  void visitTo(unsigned end) {
    const unsigned least = end - std::min(end, mostMembers());
    collectTouched(least, end);
    unsigned next = end;
    for (int64_t parts : partCounts) // the last of them has one index
      for (next = end; next > least && visit({next - 1, end, parts}, nullptr); --next)
        ;
    if (banded && next > least)
      for (int64_t bands : bandCounts)
        visitBands(least, next, end, bands);
  }

  /// Groups that begin in [least, next), whose values near memory does not hold for one index of the first dimension.
  void visitBands(unsigned least, unsigned next, unsigned end, int64_t bands) {
    BandShares shares(bands, values.size());
    for (unsigned first = end; first-- > least;) {
      if (!addTo(shares, first, end))
        return;
      if (first < next && first + 1 < end && !visit({first, end, chain.rows, bands}, &shares))
        return;
    }
  }

  /// Of a group in bands, by the numbers of values: rows of the largest band, and of all bands of an index, as parts of
  /// the value's. Those of a value that a group reads overlap.
  struct BandShares {
    BandShares(int64_t bands, size_t values) : rows(bands), largest(values), all(values) {}

    std::vector<ValueRows> rows; ///< of each band
    std::vector<double> largest, all;
    double bytes = 0; ///< as many can be moved while rows are computed again
  };

  /// Adds a member in front of a group. False: there is no copy of its kernel for a band, so none of a longer group.
  bool addTo(BandShares &shares, unsigned member, unsigned end) {
    Operation *op = chain.members[member];
    const auto bands = static_cast<int64_t>(shares.rows.size());
    const bool leaves = lastUsers[member] >= static_cast<int>(end);
    for (auto [band, rows] : llvm::enumerate(shares.rows))
      if (!banded->addRows(op, leaves, static_cast<int64_t>(band), bands, rows))
        return false;
    addShare(shares, op->getResult(0));
    for (Value operand : op->getOperands())
      addShare(shares, operand);
    shares.bytes += (shares.all[numbers.lookup(op->getResult(0))] - 1) * productsOfMember(member) /
                    double(std::max<int64_t>(options.productsPerByte, 1));
    return true;
  }

  void addShare(BandShares &shares, Value value) {
    auto number = numbers.find(value);
    if (number == numbers.end())
      return;
    double largest = 0, all = 0;
    for (const ValueRows &rows : shares.rows)
      if (auto range = rows.find(value); range != rows.end()) {
        const double share = double(range->second.size()) / double(*rowCountOf(value));
        largest = std::max(largest, share);
        all += share;
      }
    shares.largest[number->second] = largest;
    shares.all[number->second] = all;
  }

  double productsOfMember(unsigned member) {
    std::optional<double> &known = products[member];
    if (!known)
      known = productsOf(DividedKernels::kernelOf(chain.members[member]));
    return *known;
  }

  /// The values that groups which begin at `least` or behind it, and end in front of `end`, make or read, or that live
  /// across them: those of a shorter group in front of those that only longer ones touch.
  void collectTouched(unsigned least, unsigned end) {
    touched.clear();
    touchedBy.assign(end, 0);
    for (unsigned last = count + 1; last-- > least;) {
      for (unsigned number : byLast[last])
        if (values[number].def < static_cast<int>(end))
          touched.push_back(number);
      if (last < end)
        touchedBy[last] = touched.size();
    }
  }
  ArrayRef<unsigned> touchedIn(const Group &group) const {
    return ArrayRef(touched).take_front(touchedBy[group.first]);
  }

  /// Of a value within a group, for one part, or one band of it.
  int64_t partBytesOf(unsigned number, const Group &group, const BandShares *shares) const {
    const int64_t bytes = values[number].bytes / chain.rows * rowsOf(group.parts);
    return shares ? int64_t(double(bytes) * shares->largest[number]) : bytes;
  }

  /// False: near memory does not hold what lies between the members of this group, nor of a larger one.
  bool visit(const Group &group, const BandShares *shares) {
    const bool isAlone = group.end == group.first + 1 && group.parts == 1;
    const std::optional<int64_t> within = isAlone ? 0 : spilledBy(group, shares, false, false);
    if (!within)
      return false;
    for (bool isNear : {false, true})
      for (bool staysNear : {false, true}) {
        const Best &before = best[isNear][group.first];
        Best &known = best[staysNear][group.end];
        if (before.bytes == tooMuch || (staysNear && group.end == count))
          continue;
        // Of equal costs, those of the longer group; of its numbers of parts and bands, the first.
        auto isBetter = [&](int64_t bytes) {
          return std::pair(bytes, group.first) < std::pair(known.bytes, known.before.member);
        };
        const int64_t moved = movedBy(group, shares, isNear, staysNear);
        if (moved == tooMuch || !isBetter(before.bytes + moved))
          continue;
        const std::optional<int64_t> spilled =
            isNear || staysNear ? spilledBy(group, shares, isNear, staysNear) : within;
        if (const int64_t bytes = before.bytes + moved + spilled.value_or(0); spilled && isBetter(bytes))
          known = {bytes, {group.first, isNear}, group.parts, group.bands};
      }
    return true;
  }

  static bool isWithin(const Divided &value, const Group &group) {
    return value.def >= static_cast<int>(group.first) && value.last() < static_cast<int>(group.end);
  }
  static bool isNearIn(const Divided &value, const Group &group, bool isNear, bool staysNear) {
    return isWithin(value, group) || (isMade(value, group) ? staysNear : isNear && value.def >= 0);
  }
  static bool isMade(const Divided &value, const Group &group) { return value.def >= static_cast<int>(group.first); }

  /// What must move to far memory and back so that near memory holds the rest, in bytes to and from it: values that
  /// live while other members run. nullopt: it does not hold what one member touches. What kernels read as a whole
  /// passes through it, piece by piece.
  std::optional<int64_t> spilledBy(const Group &group, const BandShares *shares, bool isNear, bool staysNear) const {
    int64_t spilled = 0;
    llvm::SmallDenseSet<unsigned> far;
    while (true) {
      const auto [most, number] = peakOf(group, shares, isNear, staysNear, far);
      if (most <= options.nearBytes)
        return spilled;
      const auto at = static_cast<int>(number);
      std::pair<int64_t, unsigned> least{tooMuch, 0}; // and the first value of those
      for (unsigned index : touchedIn(group)) {
        const Divided &value = values[index];
        if (value.def < at && at < value.last() && isNearIn(value, group, isNear, staysNear) && !far.contains(index) &&
            !llvm::is_contained(value.readers, at))
          least = std::min(least, {value.bytes * static_cast<int64_t>(1 + value.readers.size()), index});
      }
      if (least.first == tooMuch)
        return std::nullopt;
      far.insert(least.second);
      spilled += least.first;
    }
  }

  /// The most bytes of near memory at a time, and the member that runs then.
  std::pair<int64_t, unsigned> peakOf(const Group &group, const BandShares *shares, bool isNear, bool staysNear,
                                      const llvm::SmallDenseSet<unsigned> &far) const {
    SmallVector<int64_t, 64> changes(group.end - group.first + 1);
    int64_t resident = 0, most = 0, now = 0;
    unsigned at = group.first;
    for (unsigned index : touchedIn(group)) {
      const Divided &value = values[index];
      if (far.contains(index))
        continue;
      if (isWithin(value, group)) {
        const int64_t bytes = partBytesOf(index, group, shares);
        const int end = std::max(value.last() + 1, value.def + 1);
        const int begin = value.isOver && !shares ? std::min(value.def + 1, end) : value.def;
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
  int64_t movedBy(const Group &group, const BandShares *shares, bool isNear, bool staysNear) const {
    int64_t moved = shares ? int64_t(shares->bytes) : 0;
    for (unsigned index : touchedIn(group)) {
      const Divided &value = values[index];
      if (isWithin(value, group))
        continue;
      if (cutsLines(value, group))
        return tooMuch;
      const bool isFar = isMade(value, group) ? !staysNear : !isNear || value.def < 0;
      if (!isFar)
        continue;
      moved += isMade(value, group) ? value.bytes : 0;
      const double again = shares && !isMade(value, group) ? shares->all[index] : 1;
      for (int reader : value.readers)
        if (reader >= static_cast<int>(group.first) && reader < static_cast<int>(group.end))
          moved += int64_t(double(value.bytes) * again) * timesRead(reader);
    }
    return moved + group.parts * group.bands * (launchedBytes[group.end] - launchedBytes[group.first]);
  }

  const Chain &chain;
  DividedKernels &kernels;
  BandedKernels *banded; ///< null: there are no bands
  const GraphSplitBatchesOptions &options;
  unsigned count;
  std::vector<Divided> values;
  std::vector<bool> hasWindows;       ///< of each member: it multiplies windows that overlap
  std::vector<int64_t> wholeBytes;    ///< of each member: operands without rows, which each part reads
  std::vector<int64_t> launchedBytes; ///< of the members in front of each: `wholeBytes`, and what launches count as
  std::vector<int> lastUsers;         ///< of each member; `count`: an operator that is none
  std::vector<std::optional<double>> products; ///< of each member, once they were wanted
  llvm::DenseMap<Value, unsigned> numbers;     ///< of `values`
  std::vector<SmallVector<unsigned>> byLast;   ///< the numbers of values, by the last member that touches them
  std::vector<unsigned> touched;               ///< numbers of values; the first `touchedBy[first]` by a group
  std::vector<size_t> touchedBy;
  SmallVector<int64_t> partCounts; ///< with different rows
  std::vector<Best> best[2];       ///< by whether what goes on is near, and by the member behind the cut
};
} // namespace

SmallVector<Group> perpend::graph::planParts(const Chain &chain, DividedKernels &kernels, BandedKernels *banded,
                                             const GraphSplitBatchesOptions &options) {
  if (chain.rows == 0)
    return {};
  return ChainPlanner(chain, kernels, banded, options).plan();
}
