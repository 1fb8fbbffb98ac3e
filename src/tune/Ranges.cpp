//===- Ranges.cpp - assigns a kernel's records to ranges of extents -------===//
//
// Sets of extents are sorted by the first symbol that has a different value in each of them; without such a symbol,
// one schedule is chosen for all. For each number of ranges up to 4, dynamic programming finds the division with the
// least weighted sum of times. Each further range must save 10 percent (docs/decisions/0038).
//
//===----------------------------------------------------------------------===//

#include "tune/Ranges.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <map>

namespace perpend::tune {

static constexpr size_t mostRanges = 4;
static constexpr double worthARange = 0.9;

std::string textOf(llvm::ArrayRef<PartElsewhere> parts) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const PartElsewhere &part : parts)
    out << (&part == parts.begin() ? "" : "; ") << part.extents << llvm::format(" %.4g %g", part.part, part.weight);
  return text;
}

std::optional<std::vector<PartElsewhere>> parseParts(llvm::StringRef text) {
  std::vector<PartElsewhere> parts;
  llvm::SmallVector<llvm::StringRef> entries;
  text.split(entries, ';', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef entry : entries) {
    llvm::SmallVector<llvm::StringRef> words;
    llvm::SplitString(entry, words);
    PartElsewhere part;
    if (words.size() != 3 || words[1].getAsDouble(part.part) || words[2].getAsDouble(part.weight) || !(part.part > 0) ||
        !(part.weight > 0) || std::isinf(part.weight))
      return std::nullopt;
    part.extents = words[0].str();
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string mergedParts(llvm::StringRef older, llvm::StringRef newer) {
  using Parts = std::vector<PartElsewhere>;
  Parts merged = parseParts(older).value_or(Parts());
  for (PartElsewhere &part : parseParts(newer).value_or(Parts())) {
    auto known = llvm::find_if(merged, [&](const PartElsewhere &one) { return one.extents == part.extents; });
    if (known == merged.end())
      merged.push_back(std::move(part));
    else
      *known = std::move(part);
  }
  return textOf(merged);
}

namespace {
/// The values of the symbols, in order.
using Place = std::vector<int64_t>;

/// A trace, and its times at the places where it was measured.
struct Candidate {
  const Record *record = nullptr;
  std::map<Place, double> parts;
};

class Chooser {
public:
  Chooser(llvm::ArrayRef<Record> records, llvm::ArrayRef<std::string> symbols);
  std::vector<RangeOfRecord> choose() const;

private:
  struct Cut {
    double cost = 0;
    std::vector<size_t> ends;       ///< end of each range, in `order`
    std::vector<size_t> candidates; ///< candidate of each range
  };
  bool sortBySymbol();
  double costOf(size_t candidate, size_t begin, size_t end) const;
  std::pair<double, size_t> bestOf(size_t begin, size_t end) const;
  std::vector<Cut> cuts() const;

  llvm::ArrayRef<std::string> symbols;
  std::map<Place, double> weights;
  std::vector<Candidate> candidates = {{}}; ///< the first is the compiler's own
  std::vector<Place> order;                 ///< places in sorted order
  size_t symbol = 0;                        ///< the symbol by which they are sorted
  bool isOrdered = false;
};
} // namespace

/// Parses "n=128,t=4"; nullopt if it has another form.
static std::optional<std::vector<int64_t>> valuesOf(llvm::StringRef extents) {
  std::vector<int64_t> values;
  llvm::SmallVector<llvm::StringRef> entries;
  extents.split(entries, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef entry : entries)
    if (entry.split('=').second.getAsInteger(10, values.emplace_back()))
      return std::nullopt;
  return values;
}

Chooser::Chooser(llvm::ArrayRef<Record> records, llvm::ArrayRef<std::string> symbols) : symbols(symbols) {
  auto add = [&](Candidate &candidate, llvm::StringRef extents, double part, double weight) {
    std::optional<Place> values = valuesOf(extents);
    if (!values || values->size() != symbols.size())
      return;
    weights[*values] = weight;
    candidate.parts[*values] = part;
  };
  for (const Record &record : records) {
    Candidate &candidate = candidates.emplace_back();
    candidate.record = &record;
    for (const PartElsewhere &part : parseParts(record.elsewhere).value_or(std::vector<PartElsewhere>()))
      add(candidate, part.extents, part.part, part.weight);
  }
  for (auto [record, candidate] : llvm::zip(records, llvm::drop_begin(candidates))) // its own place counts first
    add(candidate, record.key.symbols, 1 / record.gain(), record.weight);
  for (const auto &[place, weight] : weights)
    order.push_back(place);
  isOrdered = sortBySymbol();
}

bool Chooser::sortBySymbol() {
  for (symbol = 0; symbol < symbols.size(); ++symbol) {
    llvm::SmallSet<int64_t, 8> seen;
    if (!llvm::all_of(order, [&](const Place &place) { return seen.insert(place[symbol]).second; }))
      continue;
    llvm::sort(order, [&](const Place &a, const Place &b) { return a[symbol] < b[symbol]; });
    return true;
  }
  return false;
}

double Chooser::costOf(size_t candidate, size_t begin, size_t end) const {
  double sum = 0;
  for (const Place &place : llvm::ArrayRef(order).slice(begin, end - begin)) {
    auto known = candidates[candidate].parts.find(place);
    sum += weights.at(place) * (known == candidates[candidate].parts.end() ? 1 : known->second);
  }
  return sum;
}

/// The best candidate for consecutive places.
std::pair<double, size_t> Chooser::bestOf(size_t begin, size_t end) const {
  std::pair<double, size_t> best = {costOf(0, begin, end), 0};
  for (size_t i = 1; i < candidates.size(); ++i)
    best = std::min(best, {costOf(i, begin, end), i});
  return best;
}

/// The best divisions into 1, 2, … ranges.
std::vector<Chooser::Cut> Chooser::cuts() const {
  size_t most = isOrdered ? std::min(mostRanges, order.size()) : 1;
  std::vector<std::vector<Cut>> bests; // indices: ranges - 1, places - 1
  for (size_t ranges = 1; ranges <= most; ++ranges) {
    std::vector<Cut> &ofRanges = bests.emplace_back(order.size());
    for (size_t end = ranges; end <= order.size(); ++end) {
      Cut &best = ofRanges[end - 1];
      best.cost = INFINITY;
      for (size_t begin = ranges - 1; begin < (ranges == 1 ? 1 : end); ++begin) {
        Cut cut = ranges == 1 ? Cut() : bests[ranges - 2][begin - 1];
        auto [cost, candidate] = bestOf(begin, end);
        if (cut.cost + cost >= best.cost)
          continue;
        cut.cost += cost;
        cut.ends.push_back(end);
        cut.candidates.push_back(candidate);
        best = std::move(cut);
      }
    }
  }
  std::vector<Cut> cuts;
  for (std::vector<Cut> &ofRanges : bests)
    cuts.push_back(std::move(ofRanges.back()));
  return cuts;
}

std::vector<RangeOfRecord> Chooser::choose() const {
  if (order.empty()) // no record covers these symbols
    return {{std::nullopt, candidates.size() > 1 ? candidates[1].record : nullptr}};
  Cut chosen;
  size_t count = 0;
  for (auto [i, cut] : llvm::enumerate(cuts()))
    if (i == 0 || cut.cost <= chosen.cost * std::pow(worthARange, static_cast<double>(i - count)))
      chosen = cut, count = i;
  std::vector<RangeOfRecord> ranges;
  int64_t least = 0;
  for (auto [end, candidate] : llvm::zip(chosen.ends, chosen.candidates)) {
    ranges.push_back({std::nullopt, candidates[candidate].record});
    if (end == order.size())
      break;
    int64_t last = order[end - 1][symbol], next = order[end][symbol];
    auto middle = static_cast<int64_t>(std::sqrt(static_cast<double>(last) * static_cast<double>(next)));
    int64_t most = std::clamp(middle, last, next - 1);
    ranges.back().range = support::SymbolRange{symbols[symbol], least, most};
    least = most + 1;
  }
  return ranges;
}

std::vector<RangeOfRecord> chooseRanges(llvm::ArrayRef<Record> records, llvm::ArrayRef<std::string> symbols) {
  return Chooser(records, symbols).choose();
}
} // namespace perpend::tune
