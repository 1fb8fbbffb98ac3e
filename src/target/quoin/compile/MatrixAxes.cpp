//===- MatrixAxes.cpp - which loops of a nest are those of a product ------===//
#include "target/quoin/compile/MatrixNest.h"

namespace perpend::quoin {

/// A line of rows is in one tile.
constexpr int64_t mostLine = 512;

/// The load behind conversions to wider numbers.
static const Node *loadBehind(const Nest &nest, unsigned number) {
  const Node *node = &nest.nodes[number];
  while (node->kind == Node::Apply && node->opcode == Opcode::cvt &&
         isWidening(nest.nodes[node->operands[0]].type, node->type))
    node = &nest.nodes[node->operands[0]];
  return node->kind == Node::Load ? node : nullptr;
}

bool MatrixNest::findFactors() {
  const Node &product = nest.nodes[nest.value];
  if (nest.combine != Opcode::add || nest.initial != 0 || product.kind != Node::Apply || product.opcode != Opcode::mul)
    return refuse("no sum of products");
  auto factorOf = [&](unsigned number) -> std::optional<Factor> {
    const Node *load = loadBehind(nest, number);
    return load ? Factor{load->access, load->type} : computedFactor(number);
  };
  const std::optional<Factor> a = factorOf(product.operands[0]), b = factorOf(product.operands[1]);
  if (!a || !b)
    return refuse("a product of computed values");
  left = *a;
  right = *b;
  const bool areBytes =
      sizeOf(a->type) == 1 && sizeOf(b->type) == 1 && a->type != DType::Pred8 && b->type != DType::Pred8;
  const bool isFloats = a->type == b->type && isFloat(a->type) && product.type == DType::F32;
  if (!isFloats && !(areBytes && product.type == DType::I32))
    return refuse("a product of types that the matrix unit does not take");
  return true;
}

int MatrixNest::longest(llvm::function_ref<bool(unsigned)> isWanted) const {
  int best = -1;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (isWanted(loop) && (best < 0 || nest.loops[loop].extent > nest.loops[best].extent))
      best = static_cast<int>(loop);
  return best;
}

/// Whether rows along `outer` go on where those along `inner` end, in all but the left operand.
bool MatrixNest::isEven(unsigned outer, unsigned inner) {
  bool isEven = true;
  forEachAccess([&](ElementAccess &access) {
    isEven &= &access == &left.access || access.strides[outer] == nest.loops[inner].extent * access.strides[inner];
  });
  return isEven;
}

/// Lines of rows, as those of an image, that only the left operand has apart from one another: two loops make more rows
/// than one.
void MatrixNest::findRowLoop() {
  auto isOfLeft = [&](unsigned loop) {
    return !nest.loops[loop].isReduced && changes(false, loop) && !changes(true, loop);
  };
  auto hasBorder = [&](unsigned loop) {
    return llvm::any_of(nest.borders, [&](const auto &border) { return border.loop == loop; });
  };
  for (unsigned inner = 0; isAlongSum(false) && inner < nest.loops.size(); ++inner)
    for (unsigned outer = 0; outer < nest.loops.size(); ++outer) {
      const int64_t line = nest.loops[inner].extent;
      if (inner == outer || !isOfLeft(inner) || !isOfLeft(outer) || line > mostLine || !isEven(outer, inner) ||
          (line * nest.loops[outer].extent <= extentOf(M) && !(hasBorder(inner) && hasBorder(outer))))
        continue;
      axes[M] = static_cast<int>(inner);
      rowLoop = outer;
    }
}

bool MatrixNest::assignLoops() {
  auto isIn = [&](const Factor &factor, unsigned loop) { return factor.access.strides[loop] != 0; };
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
    if (!isIn(left, loop) && !isIn(right, loop))
      return refuse("a loop along which no operand changes");
    if (nest.loops[loop].isReduced && !(isIn(left, loop) && isIn(right, loop)))
      return refuse("a sum of which one operand is constant");
  }
  auto isOf = [&](const Factor &one, const Factor &other) {
    return [&](unsigned loop) { return !nest.loops[loop].isReduced && isIn(one, loop) && !isIn(other, loop); };
  };
  auto isInner = [&](const Factor &one, const Factor &other) {
    return [&, isOne = isOf(one, other)](unsigned loop) { return isOne(loop) && nest.store.strides[loop] == 1; };
  };
  if (longest(isInner(left, right)) >= 0 || (longest(isInner(right, left)) < 0 && longest(isOf(right, left)) < 0))
    std::swap(left, right);
  axes[N] = longest(isInner(right, left));
  if (axes[N] < 0)
    return (assignDepthwise() && findPrologue()) || refuse("a result whose innermost loop is that of both operands");
  axes[M] = longest(isOf(left, right));
  // Along the sum, or along their own loops, operands lie in rows.
  auto isGood = [&](unsigned loop) {
    if (!nest.loops[loop].isReduced)
      return false;
    const bool leftLies = left.access.strides[loop] == 1 || strideOf(left.access, M) == 1;
    return leftLies && (right.access.strides[loop] == 1 || strideOf(right.access, N) == 1);
  };
  axes[K] = longest(isGood);
  if (axes[K] < 0)
    return refuse("operands that lie in rows along no loop");
  if (!findPrologue())
    return false;
  findRowLoop();
  bool isBackwards = false;
  forEachAccess([&](ElementAccess &access) {
    isBackwards |= llvm::any_of(access.strides, [](int64_t stride) { return stride < 0; });
  });
  if (isBackwards)
    return refuse("an operand that is read backwards");
  return true;
}

} // namespace perpend::quoin
