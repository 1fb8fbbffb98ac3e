//===- ReadBorders.cpp - boxes that are one nest --------------------------===//
#include "target/accelerator/ReadBorders.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace perpend::accelerator {

llvm::SmallVector<unsigned> loopsOf(const Box &box) {
  llvm::SmallVector<unsigned> loops;
  for (unsigned digit = 0; digit < box.size(); ++digit)
    if (box[digit].end - box[digit].begin > 1)
      loops.push_back(digit);
  return loops;
}

bool isSameTree(const std::vector<Node> &one, const std::vector<Node> &other) {
  return one.size() == other.size() && llvm::all_of(llvm::zip_equal(one, other), [](const auto &both) {
           const auto &[a, b] = both;
           return a.kind == b.kind && a.type == b.type && a.number == b.number && a.function == b.function &&
                  a.operands == b.operands;
         });
}

bool isForwards(const Nest &nest) {
  auto goesOn = [](const Access &access) {
    return llvm::all_of(access.strides, [](int64_t stride) { return stride >= 0; });
  };
  return goesOn(nest.store) &&
         llvm::all_of(nest.nodes, [&](const Node &node) { return node.kind != Node::Load || goesOn(node.access); });
}

static int64_t lengthOf(const Span &span) { return span.end - span.begin; }

/// Iterations of `digit` for each one of `reduced`, from the first one of any box to behind the last one.
static Border borderOf(llvm::ArrayRef<Box> boxes, const Box &whole, unsigned digit, unsigned reduced) {
  Border border{digit, reduced, {}};
  for (int64_t at = whole[reduced].begin; at < whole[reduced].end; ++at) {
    auto &[first, last] = border.iterations.emplace_back(0, 0);
    for (const Box &box : boxes) {
      if (at < box[reduced].begin || at >= box[reduced].end)
        continue;
      first = first == last ? box[digit].begin : std::min(first, box[digit].begin);
      last = std::max(last, box[digit].end);
    }
  }
  return border;
}

/// Whether boxes have as many iterations as the whole has with these borders, of which they are parts.
static bool areAll(llvm::ArrayRef<Box> boxes, const Box &whole, llvm::ArrayRef<Border> borders) {
  int64_t wanted = 1, found = 0;
  for (const Span &span : whole)
    wanted *= lengthOf(span);
  for (const Border &border : borders) {
    int64_t iterations = 0;
    for (auto [first, last] : border.iterations)
      iterations += last - first;
    wanted = wanted / (lengthOf(whole[border.loop]) * lengthOf(whole[border.reduced])) * iterations;
  }
  for (const Box &box : boxes) {
    int64_t iterations = 1;
    for (const Span &span : box)
      iterations *= lengthOf(span);
    found += iterations;
  }
  return wanted == found;
}

std::optional<std::vector<Border>> bordersOf(llvm::ArrayRef<Box> boxes, const Box &whole,
                                             llvm::ArrayRef<bool> isReduced) {
  llvm::SmallVector<unsigned> cut[2]; // digits of results, and of the sum
  for (unsigned digit = 0; digit < whole.size(); ++digit)
    if (llvm::any_of(boxes, [&](const Box &box) { return lengthOf(box[digit]) != lengthOf(whole[digit]); }))
      cut[isReduced[digit]].push_back(digit);
  constexpr size_t mostPairs = 3;
  if (cut[0].size() != cut[1].size() || cut[0].empty() || cut[0].size() > mostPairs)
    return std::nullopt;
  const llvm::SmallVector<unsigned> loops = loopsOf(whole);
  do {
    std::vector<Border> borders;
    for (auto [digit, reduced] : llvm::zip_equal(cut[0], cut[1]))
      borders.push_back(borderOf(boxes, whole, digit, reduced));
    if (!areAll(boxes, whole, borders))
      continue;
    for (Border &border : borders) { // digits become loops
      border.loop = static_cast<unsigned>(llvm::find(loops, border.loop) - loops.begin());
      border.reduced = static_cast<unsigned>(llvm::find(loops, border.reduced) - loops.begin());
    }
    return borders;
  } while (std::next_permutation(cut[1].begin(), cut[1].end()));
  return std::nullopt;
}

} // namespace perpend::accelerator
