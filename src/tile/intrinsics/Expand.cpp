//===- Expand.cpp - intrinsics as code ------------------------------------===//

#include "tile/intrinsics/Expand.h"

#include "tile/Attributes.h"

#include "graph/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
class Expansion {
public:
  Expansion(const IntrinsicMatch &match, const IntrinsicSite &site) : match(match), site(site) {}

  void emitRegisters(OpBuilder &builder);
  /// A tile.call_intrinsic of all of the block, or of what there is of it.
  void emitCall(OpBuilder &builder);
  /// Whether a call can be of what there is.
  bool takesFewer();

  Value constant(OpBuilder &builder, int64_t value) { return builder.create<arith::ConstantIndexOp>(site.loc, value); }
  Value compare(OpBuilder &builder, arith::CmpIPredicate predicate, Value a, Value b) {
    return builder.create<arith::CmpIOp>(site.loc, predicate, a, b);
  }
  /// All conditions, of pairs of which the first is to be less than the second; null without any.
  Value holds(OpBuilder &builder, ArrayRef<SymbolicInt> pairs);
  /// Whether every iterator has all of its extent; null where that is known.
  Value isWhole(OpBuilder &builder);

private:
  void emitBlock(OpBuilder &builder, int64_t rows, Value firstRow = {});
  Value extentOf(OpBuilder &builder, StringRef parameter);

  const IntrinsicMatch &match;
  const IntrinsicSite &site;
};

struct Emitter {
  StringLiteral name;
  void (Expansion::*emit)(OpBuilder &builder);
  /// It knows what to do where there is less of the first iterator, and only of that.
  bool takesFewer;
};
} // namespace

static constexpr Emitter emitters[] = {{"registers", &Expansion::emitRegisters, /*takesFewer=*/true}};

bool perpend::tile::isIntrinsicEmitter(StringRef name) {
  return llvm::any_of(emitters, [&](const Emitter &emitter) { return emitter.name == name; });
}
std::string perpend::tile::intrinsicEmitterNames() {
  return llvm::join(llvm::map_range(emitters, [](const Emitter &emitter) { return emitter.name; }), ", ");
}

StringRef perpend::tile::intrinsicOf(BlockOp block) {
  auto name = block.getAnnotations().getAs<StringAttr>(tensorizedAnnotation);
  return name ? name.getValue() : StringRef();
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

Value Expansion::holds(OpBuilder &builder, ArrayRef<SymbolicInt> pairs) {
  Value all;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    Value one =
        compare(builder, arith::CmpIPredicate::slt, site.value(builder, pairs[i]), site.value(builder, pairs[i + 1]));
    all = all ? builder.create<arith::AndIOp>(site.loc, all, one) : one;
  }
  return all;
}

Value Expansion::isWhole(OpBuilder &builder) {
  Shape pairs;
  for (auto [extent, count] : llvm::zip(match.extents, match.counts))
    if (count)
      pairs.append({extent - SymbolicInt(1), *count});
  return holds(builder, pairs);
}

//===----------------------------------------------------------------------===//
// Emitters
//===----------------------------------------------------------------------===//

/// A tile.ukernel. Buffers are [outer, inner, rows, depth(, g)], [outer, inner, depth, cols(, g)] and [rows, cols].
void Expansion::emitBlock(OpBuilder &builder, int64_t rows, Value firstRow) {
  const IntrinsicMatch::Tile &a = match.tiles[0], &b = match.tiles[1], &c = match.tiles[2];
  Location loc = site.loc;
  auto at = [&](const SymbolicInt &value) { return site.value(builder, value); };
  auto offset = [&](const SymbolicInt &base, const SymbolicInt &stride) {
    if (!firstRow)
      return at(base);
    Value moved = builder.createOrFold<arith::MulIOp>(loc, firstRow, at(stride));
    return builder.createOrFold<arith::AddIOp>(loc, at(base), moved);
  };
  // Of packed words, which are the last iterator, depth counts elements.
  int64_t group = a.strides.size() > 4 ? *match.extents.back().constant() : 1;
  Value aOffset = offset(a.base, a.strides[2]), cOffset = offset(c.base, c.strides[0]);
  SmallVector<Value> counts{at(match.parameter("outer")), at(match.parameter("inner"))};
  SmallVector<Value> aSteps{at(a.strides[0]), at(a.strides[1])}, bSteps{at(b.strides[0]), at(b.strides[1])};
  builder.create<MicroKernelOp>(loc, site.memoryOf(a.buffer), aOffset, at(a.strides[2]), site.memoryOf(b.buffer),
                                at(b.base), site.memoryOf(c.buffer), cOffset, at(c.strides[0]),
                                at(match.parameter("depth") * SymbolicInt(group)), counts, aSteps, bSteps, rows,
                                *match.parameter("cols").constant(), group);
}

/// Rows that are left of a block, as long as there are so many, before they are done one by one.
static constexpr int64_t fewRows = 4;

/// All rows; or as many as are left, if that is a number, else few at a time.
void Expansion::emitRegisters(OpBuilder &builder) {
  int64_t rows = *match.parameter("rows").constant();
  std::optional<SymbolicInt> count = match.counts.front();
  if (!count)
    return emitBlock(builder, rows);
  Value left = site.value(builder, *count);
  auto choice = builder.create<scf::IfOp>(
      site.loc, compare(builder, arith::CmpIPredicate::sge, left, constant(builder, rows)), /*withElseRegion=*/true);
  OpBuilder then = choice.getThenBodyBuilder(), otherwise = choice.getElseBodyBuilder();
  emitBlock(then, rows);
  if (std::optional<int64_t> rest = mod(*count, SymbolicInt(rows)).constant()) {
    if (*rest == 0)
      return;
    Value hasRest = compare(otherwise, arith::CmpIPredicate::sgt, left, constant(otherwise, 0));
    OpBuilder inner = otherwise.create<scf::IfOp>(site.loc, hasRest, /*withElseRegion=*/false).getThenBodyBuilder();
    return emitBlock(inner, *rest);
  }
  Value from = constant(otherwise, 0);
  for (int64_t few : {fewRows, int64_t(1)}) {
    if (few >= rows)
      continue;
    Value to = few == 1
                   ? left
                   : otherwise.create<arith::SubIOp>(
                         site.loc, left, otherwise.create<arith::RemSIOp>(site.loc, left, constant(otherwise, few)));
    auto loop = otherwise.create<scf::ForOp>(site.loc, from, to, constant(otherwise, few));
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    emitBlock(inner, few, loop.getInductionVar());
    from = to;
  }
}

/// A parameter that is the extent of one iterator, and of which neither strides nor conditions depend, may be less.
bool Expansion::takesFewer() {
  auto mayBeLess = [&](const SymbolicInt &described) {
    Shape domain(match.intrinsic->block.getDomain().values());
    std::string name = described.str();
    auto uses = [&](const auto &expression) { return expression && expression->uses(name); };
    return !described.isConstant() && llvm::count(domain, described) == 1 &&
           llvm::none_of(match.intrinsic->where, [&](const SymbolicInt &side) { return side.uses(name); }) &&
           llvm::none_of(match.intrinsic->strides, [&](const auto &list) { return llvm::any_of(list, uses); });
  };
  return llvm::all_of(llvm::zip(match.counts, match.intrinsic->block.getDomain().values()),
                      [&](auto pair) { return !std::get<0>(pair) || mayBeLess(std::get<1>(pair)); });
}

Value Expansion::extentOf(OpBuilder &builder, StringRef parameter) {
  Value extent = site.value(builder, match.parameter(parameter));
  for (auto [count, described] : llvm::zip(match.counts, match.intrinsic->block.getDomain().values()))
    if (count && described == SymbolicInt::symbol(parameter)) {
      Value left = builder.create<arith::MaxSIOp>(site.loc, site.value(builder, *count), constant(builder, 0));
      extent = builder.create<arith::MinSIOp>(site.loc, extent, left);
    }
  return extent;
}

void Expansion::emitCall(OpBuilder &builder) {
  SmallVector<Value> buffers, bases, strides, extents;
  for (const IntrinsicMatch::Tile &tile : match.tiles) {
    buffers.push_back(site.memoryOf(tile.buffer));
    bases.push_back(site.value(builder, tile.base));
    for (const SymbolicInt &stride : tile.strides)
      strides.push_back(site.value(builder, stride));
  }
  for (const std::string &parameter : match.intrinsic->parameters)
    extents.push_back(extentOf(builder, parameter));
  builder.create<CallIntrinsicOp>(site.loc, match.intrinsic->name, buffers, bases, strides, extents);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

bool perpend::tile::expandIntrinsic(OpBuilder &builder, BlockOp block, KernelIndices &indices,
                                    const IntrinsicSite &site) {
  StringRef name = intrinsicOf(block);
  const Intrinsic *intrinsic = name.empty() ? nullptr : IntrinsicLibrary::of(block.getContext()).find(name);
  std::string why;
  std::optional<IntrinsicMatch> match =
      intrinsic ? matchIntrinsic(block, *intrinsic, indices, why) : std::optional<IntrinsicMatch>();
  if (!match)
    return false;
  Expansion expansion(*match, site);
  const Emitter *emitter =
      llvm::find_if(emitters, [&](const Emitter &known) { return known.name == intrinsic->emitter; });
  bool isCalled = intrinsic->emitter.empty();
  auto emit = [&](OpBuilder &at) { isCalled ? expansion.emitCall(at) : (expansion.*emitter->emit)(at); };
  OpBuilder inner = builder;
  if (Value condition = expansion.holds(builder, match->conditions))
    inner = builder.create<scf::IfOp>(site.loc, condition, /*withElseRegion=*/false).getThenBodyBuilder();
  bool isFirst = llvm::none_of(llvm::drop_begin(match->counts), [](const auto &count) { return count.has_value(); });
  bool takesFewer = isCalled ? expansion.takesFewer() : emitter->takesFewer && isFirst;
  Value isWhole = takesFewer ? Value() : expansion.isWhole(inner);
  if (!isWhole) {
    emit(inner);
    return true;
  }
  auto choice = inner.create<scf::IfOp>(site.loc, isWhole, /*withElseRegion=*/true);
  OpBuilder then = choice.getThenBodyBuilder(), otherwise = choice.getElseBodyBuilder();
  emit(then);
  site.emitNest(otherwise);
  return true;
}
