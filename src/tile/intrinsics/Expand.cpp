//===- Expand.cpp - emits the code of intrinsics --------------------------===//

#include "tile/intrinsics/Expand.h"

#include "tile/Attributes.h"
#include "tile/intrinsics/Emitters.h"

#include "graph/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
class Expansion {
public:
  Expansion(const IntrinsicMatch &match, const Emitter *emitter, const IntrinsicSite &site)
      : match(match), emitter(emitter), site(site),
        fewer(match.parameter(linesParameter) == SymbolicInt(1) ? rowsParameter : linesParameter) {}

  /// Whether rows and columns are constants, if the emitter requires it.
  bool hasNumbers() {
    auto isNumber = [&](StringRef parameter) { return match.parameter(parameter).isConstant(); };
    return !emitter || (isNumber(rowsParameter) && isNumber(columnsParameter) && isNumber(fewer));
  }
  /// Emits calls for the available rows (or lines): each of a constant number, unless the emitter takes any.
  void emitRows(OpBuilder &builder);
  /// Whether rows (or lines) are the only extent that may be smaller.
  bool takesFewerRows() {
    return llvm::count_if(match.counts, [](const auto &count) { return count.has_value(); }) ==
           (match.count(fewer) ? 1 : 0);
  }
  /// Emits a tile.call_intrinsic for the block, or for the part of it that exists.
  void emitCall(OpBuilder &builder);
  /// Whether a call can be made for smaller extents.
  bool takesFewer();

  Value constant(OpBuilder &builder, int64_t value) { return builder.create<arith::ConstantIndexOp>(site.loc, value); }
  Value compare(OpBuilder &builder, arith::CmpIPredicate predicate, Value a, Value b) {
    return builder.create<arith::CmpIOp>(site.loc, predicate, a, b);
  }
  /// The conjunction of conditions, pairs (a, b) meaning a < b; null if there are none.
  Value holds(OpBuilder &builder, ArrayRef<SymbolicInt> pairs);
  /// Whether every iterator has its full extent; null if that is certain.
  Value isWhole(OpBuilder &builder);

private:
  void emitBlock(OpBuilder &builder, Value count, Value first = {});
  void emitBlock(OpBuilder &builder, int64_t count, Value first = {}) {
    emitBlock(builder, constant(builder, count), first);
  }
  void emitFewAtATime(OpBuilder &builder, int64_t most, Value left);
  void emitCall(OpBuilder &builder, llvm::function_ref<Value(StringRef parameter)> extent, Value first = {});
  Value extentOf(OpBuilder &builder, StringRef parameter);

  const IntrinsicMatch &match;
  /// Null if the intrinsic has an implementation in text or object code.
  const Emitter *emitter;
  const IntrinsicSite &site;
  /// The parameter of which a call may have less than the block: lines or rows.
  StringRef fewer;
};

} // namespace

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

void Expansion::emitBlock(OpBuilder &builder, Value count, Value first) {
  auto extent = [&](StringRef parameter) {
    return parameter == fewer ? count : site.value(builder, match.parameter(parameter));
  };
  emitCall(builder, extent, first);
}

/// Remaining rows are processed so many at a time: single rows wait for each other's sums, so that two of them take as
/// long as one. Blocks of up to four rows leave too few for code of its own.
static constexpr int64_t fewRows[] = {4, 2, 1};

void Expansion::emitFewAtATime(OpBuilder &builder, int64_t most, Value left) {
  Value from = constant(builder, 0);
  for (int64_t few : fewRows) {
    if (few >= most || (few == 2 && most <= fewRows[0]))
      continue;
    Value to = few == 1 ? left
                        : builder.create<arith::SubIOp>(
                              site.loc, left, builder.create<arith::RemSIOp>(site.loc, left, constant(builder, few)));
    auto loop = builder.create<scf::ForOp>(site.loc, from, to, constant(builder, few));
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    emitBlock(inner, few, loop.getInductionVar());
    from = to;
  }
}

/// Emits the whole block, or what remains of it: in one call if possible, otherwise a few rows at a time.
void Expansion::emitRows(OpBuilder &builder) {
  int64_t most = *match.parameter(fewer).constant();
  std::optional<SymbolicInt> count = match.count(fewer);
  if (!count)
    return emitBlock(builder, most);
  Value left = site.value(builder, *count);
  auto choice = builder.create<scf::IfOp>(
      site.loc, compare(builder, arith::CmpIPredicate::sge, left, constant(builder, most)), /*withElseRegion=*/true);
  OpBuilder then = choice.getThenBodyBuilder(), otherwise = choice.getElseBodyBuilder();
  emitBlock(then, most);
  std::optional<int64_t> rest = mod(*count, SymbolicInt(most)).constant();
  if (rest == 0)
    return;
  if (most == 2)
    rest = 1;
  if (!rest && !emitter->takesAnyRows)
    return emitFewAtATime(otherwise, most, left);
  Value hasRest = compare(otherwise, arith::CmpIPredicate::sgt, left, constant(otherwise, 0));
  OpBuilder inner = otherwise.create<scf::IfOp>(site.loc, hasRest, /*withElseRegion=*/false).getThenBodyBuilder();
  emitBlock(inner, rest ? constant(inner, *rest) : left);
}

/// A parameter can be smaller if it is the extent of exactly one iterator and no stride or condition depends on it.
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
  emitCall(builder, [&](StringRef parameter) { return extentOf(builder, parameter); });
}

/// Emits a call that starts at row (or line) `first`.
void Expansion::emitCall(OpBuilder &builder, llvm::function_ref<Value(StringRef)> extent, Value first) {
  SmallVector<Value> buffers, bases, strides, extents;
  for (auto [number, tile] : llvm::enumerate(match.tiles)) {
    buffers.push_back(site.memoryOf(tile.buffer));
    Value base = site.value(builder, tile.base);
    for (auto [stride, described] : llvm::zip(tile.strides, match.intrinsic->bufferType(number).extents())) {
      strides.push_back(site.value(builder, stride));
      if (!first || described != SymbolicInt::symbol(fewer))
        continue;
      Value moved = builder.createOrFold<arith::MulIOp>(site.loc, first, strides.back());
      base = builder.createOrFold<arith::AddIOp>(site.loc, base, moved);
    }
    bases.push_back(base);
  }
  for (const std::string &parameter : match.intrinsic->parameters)
    extents.push_back(extent(parameter));
  std::optional<AskedAhead> ahead = buffers.size() > 1 ? site.ahead(builder, match.tiles[1].buffer) : std::nullopt;
  builder.create<CallIntrinsicOp>(site.loc, match.intrinsic->name, buffers, bases, strides, extents,
                                  ahead ? ahead->position : Value(),
                                  ahead ? builder.getI64IntegerAttr(ahead->parts) : IntegerAttr());
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
  const Emitter *emitter = findEmitter(intrinsic->emitter);
  Expansion expansion(*match, emitter, site);
  if (!expansion.hasNumbers())
    return false;
  bool isCalled = !emitter;
  auto emit = [&](OpBuilder &at) { isCalled ? expansion.emitCall(at) : expansion.emitRows(at); };
  OpBuilder inner = builder;
  if (Value condition = expansion.holds(builder, match->conditions))
    inner = builder.create<scf::IfOp>(site.loc, condition, /*withElseRegion=*/false).getThenBodyBuilder();
  bool takesFewer = isCalled ? expansion.takesFewer() : expansion.takesFewerRows();
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
