//===- EmitBind.cpp - computes symbols and sizes from extents of inputs ---===//

#include "graph/Attributes.h"
#include "target/cpu/ModuleFunctions.h"
#include "tile/Attributes.h"

#include "graph/Repeats.h"
#include "graph/Requirements.h"
#include "graph/Shapes.h"
#include "graph/Symbols.h"
#include "support/Inequality.h"
#include "target/cpu/FunctionEmitter.h"

#include "perpend_module.h"

#include <cstddef>

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using graph::Shape;
using graph::shapeOf;
using graph::SymbolicInt;

static_assert(std::is_same_v<decltype(perpend_module::bind),
                             int32_t (*)(const int64_t *const *, int64_t *, perpend_bind_error *)>);
static_assert(std::is_same_v<decltype(perpend_module::sizes), void (*)(const int64_t *, int64_t *, int64_t *)>);
// Fields of an error: two of 32 bits, then words.
static_assert(offsetof(perpend_bind_error, input) == 0 && offsetof(perpend_bind_error, dim) == 4 &&
              offsetof(perpend_bind_error, expected) == 8 && offsetof(perpend_bind_error, got) == 16 &&
              offsetof(perpend_bind_error, requirement) == 24 && sizeof(perpend_bind_error) == 32);

namespace {
class BindEmitter {
public:
  explicit BindEmitter(func::FuncOp main)
      : main(main), symbols(graph::symbolsOf(main)), repeats(graph::repeatsOf(main)), types(main.getContext()),
        pointer(FunctionEmitter::pointerType(main->getParentOfType<ModuleOp>())),
        f(main->getParentOfType<ModuleOp>(), "perpend_bind",
          types.getFunctionType({pointer, pointer, pointer}, {types.getI32Type()}), main.getLoc()) {}

  void run() {
    Type i32 = types.getI32Type();
    Block *refuse = new Block;
    SmallVector<Type> refusal{i32, i32, types.getI64Type(), types.getI64Type(), pointer};
    refuse->addArguments(refusal, SmallVector<Location>(refusal.size(), f.loc));
    emitSymbols(refuse);
    emitRepeats();
    for (BlockArgument argument : main.getArguments()) {
      Value dims = f.loadPointer(f.argument(0), argument.getArgNumber());
      uint32_t repeating = graph::repeatingDims(repeats, argument.getArgNumber());
      for (auto [dim, extent] : llvm::enumerate(shapeOf(argument)))
        if (!(repeating >> dim & 1))
          emitCheck(f.load(types.getI64Type(), dims, dim), argument.getArgNumber(), dim,
                    f.evaluateOr(extent, f.argument(1), symbols, -1), arith::CmpIPredicate::eq, refuse);
    }
    if (auto attribute = main->getAttrOfType<graph::ShapeAttr>(graph::requirementsAttribute)) {
      SmallVector<SymbolicInt> requirements = attribute.values();
      std::vector<std::string> texts = graph::describeRequirements(main, /*eachEquationOnce=*/false);
      for (auto [requirement, text] : llvm::zip_equal(requirements, texts))
        emitRequirement(requirement, text, requirements, refuse);
    }
    f.builder.create<func::ReturnOp>(f.loc, f.half(0));
    f.function.getBody().push_back(refuse);
    f.builder.setInsertionPointToStart(refuse);
    Value error = f.argument(2);
    f.store(refuse->getArgument(0), error, 0);
    f.store(refuse->getArgument(1), error, 1);
    f.store(refuse->getArgument(2), error, 1);
    f.store(refuse->getArgument(3), error, 2);
    f.store(refuse->getArgument(4), error, 3);
    f.builder.create<func::ReturnOp>(f.loc, f.half(1));
  }

private:
  /// Reads every symbol from its source dimension; the other dimensions are compared afterwards.
  void emitSymbols(Block *refuse) {
    for (auto [number, source] : llvm::enumerate(graph::symbolSourcesOf(main))) {
      if (!source)
        continue; // an operator defines it (verifyModule guarantees that)
      Value dims = f.loadPointer(f.argument(0), source->input);
      Value got = f.load(types.getI64Type(), dims, source->dim);
      emitCheck(got, source->input, source->dim, f.integer(source->offset), arith::CmpIPredicate::sge, refuse);
      Value above = f.builder.create<arith::SubIOp>(f.loc, got, f.integer(source->offset));
      f.store(f.builder.create<arith::DivSIOp>(f.loc, above, f.integer(source->factor)), f.argument(1), number);
    }
  }

  /// If a repeating dimension of an input is 1, binding repeats it to the first of `others` that is not 1, and its
  /// symbol gets that extent. `others` refer to the extents of the inputs as given, so all values are computed before
  /// the first is stored.
  void emitRepeats() {
    SmallVector<Value> values;
    for (const graph::Repeat &repeat : repeats) {
      SmallVector<SymbolicInt> extents{SymbolicInt::symbol(repeat.symbol)};
      extents.append(repeat.others);
      Value value;
      for (const SymbolicInt &extent : extents) {
        Value other = f.evaluate(extent, f.argument(1), symbols);
        Value isOne = value ? f.compare(arith::CmpIPredicate::eq, value, f.integer(1)) : Value();
        value = value ? f.builder.create<arith::SelectOp>(f.loc, isOne, other, value) : other;
      }
      values.push_back(value);
    }
    for (auto [repeat, value] : llvm::zip_equal(repeats, values))
      f.store(value, f.argument(1), llvm::find(symbols, repeat.symbol) - symbols.begin());
  }

  /// Refuses a dimension that fails the comparison.
  void emitCheck(Value got, int64_t input, int64_t dim, Value expected, arith::CmpIPredicate predicate, Block *refuse) {
    Value shown = expected;
    if (predicate == arith::CmpIPredicate::sge) // -k: at least k
      shown = f.builder.create<arith::SubIOp>(f.loc, f.integer(0), expected);
    Value none = f.builder.create<LLVM::ZeroOp>(f.loc, pointer);
    f.proceedIf(f.compare(predicate, got, expected), refuse, {f.half(input), f.half(dim), shown, got, none});
  }

  /// What a requirement means for one dimension of one input.
  struct Condition {
    graph::SymbolSource source;
    SymbolicInt extent; // a limit if constant, otherwise the only valid extent
    bool isLeast;
  };

  /// Solves a requirement for the symbol that is bound last. The result is a limit if constant; if the opposite is
  /// required too, it is the only valid extent.
  std::optional<Condition> conditionOf(const SymbolicInt &requirement, ArrayRef<SymbolicInt> all) {
    auto sources = graph::symbolSourcesOf(main);
    for (size_t number = symbols.size(); number-- > 0;)
      for (int64_t sign : {1, -1}) {
        SymbolicInt symbol = SymbolicInt::symbol(symbols[number]), rest = requirement - symbol * SymbolicInt(sign);
        std::set<std::string> names, restNames;
        requirement.symbols(names);
        rest.symbols(restNames);
        if (!sources[number] || !names.count(symbols[number]) || restNames.count(symbols[number]))
          continue;
        SymbolicInt bound = sign > 0 ? -rest : rest;
        if (!bound.isConstant() && !llvm::is_contained(all, -requirement))
          continue;
        SymbolicInt extent = bound * SymbolicInt(sources[number]->factor) + SymbolicInt(sources[number]->offset);
        if (!extent.isPoison())
          return Condition{*sources[number], extent, sign > 0};
      }
    return std::nullopt;
  }

  /// At most `limit` bytes of a name, escaped for a text in which braces enclose numbers.
  static std::string literal(StringRef name, size_t limit) {
    std::string text;
    for (char c : name.take_front(limit))
      text.append(c == '{' ? 2 : 1, c);
    return text;
  }

  /// The text of perpend_bind_error.requirement: what is required, and the dimension that it concerns, or the values of
  /// all.
  std::string messageOf(StringRef needs, const support::Inequality &inequality,
                        const std::set<std::string> &mentioned) {
    std::string said = literal(needs, 200) + ", got {}", where;
    for (auto [number, source] : llvm::enumerate(graph::symbolSourcesOf(main))) {
      const std::string &symbol = symbols[number];
      if (!mentioned.count(symbol) || where.size() > 200)
        continue;
      where += (where.empty() ? ", where " : ", ") + literal(symbol, 60) + " = {" + std::to_string(number) + "}";
      if (!source || source->factor != 1 || source->offset != 0)
        continue;
      auto given = main.getArgAttrOfType<StringAttr>(source->input, graph::nameAttribute);
      std::string name = given ? given.str() : "input" + std::to_string(source->input), shape;
      std::string dimension = "input '" + literal(name, 60) + "', dimension " + std::to_string(source->dim);
      if (mentioned.size() > 1) {
        where += " (" + dimension + ")";
        continue;
      }
      for (const SymbolicInt &extent : shapeOf(main.getArgument(source->input)))
        shape += (shape.empty() ? "" : ", ") + extent.str();
      return dimension + ": " + said + (inequality.left == SymbolicInt::symbol(symbol) ? "" : where) +
             "; hint: its shape is [" + literal(shape, 160) + "]";
    }
    return "inputs: their shapes do not fit together: " + said + where + "; hint: choose extents for which that holds";
  }

  /// Requires that an expression is nonnegative, and names the responsible dimension if there is one.
  void emitRequirement(const SymbolicInt &requirement, StringRef text, ArrayRef<SymbolicInt> all, Block *refuse) {
    Value value = f.evaluateOr(requirement, f.argument(1), symbols, -1), expected = f.integer(-1);
    Value fits = f.builder.create<arith::CmpIOp>(f.loc, arith::CmpIPredicate::sge, value, f.integer(0));
    support::Inequality inequality(requirement, llvm::is_contained(all, -requirement));
    Value got = f.evaluate(inequality.left, f.argument(1), symbols);
    std::optional<Condition> condition = conditionOf(support::withoutRounding(requirement), all);
    if (!condition) {
      std::set<std::string> mentioned;
      requirement.symbols(mentioned);
      Value message = f.text(messageOf(text, inequality, mentioned));
      return f.proceedIf(fits, refuse, {f.half(-1), f.half(-1), expected, got, message});
    }
    auto [input, dim, factor, offset] = condition->source;
    got = f.load(types.getI64Type(), f.loadPointer(f.argument(0), input), dim);
    expected = f.evaluate(max(condition->extent, SymbolicInt(0)), f.argument(1), symbols);
    if (std::optional<int64_t> limit = condition->extent.constant()) // see perpend_bind_error
      expected = f.integer(condition->isLeast ? -*limit : std::numeric_limits<int64_t>::min() + *limit);
    Value none = f.builder.create<LLVM::ZeroOp>(f.loc, pointer);
    f.proceedIf(fits, refuse, {f.half(input), f.half(dim), expected, got, none});
  }

  func::FuncOp main;
  std::vector<std::string> symbols;
  std::vector<graph::Repeat> repeats;
  Builder types;
  Type pointer;
  FunctionEmitter f;
};
} // namespace

void perpend::target::emitBind(func::FuncOp main) { BindEmitter(main).run(); }

void perpend::target::emitSizes(func::FuncOp main) {
  auto module = main->getParentOfType<ModuleOp>();
  Type pointer = FunctionEmitter::pointerType(module);
  FunctionEmitter f(module, "perpend_sizes", FunctionType::get(main.getContext(), {pointer, pointer, pointer}, {}),
                    main.getLoc());
  std::vector<std::string> symbols = graph::symbolsOf(main), dataSymbols = graph::dataSymbolsOf(main);
  auto evaluate = [&](const SymbolicInt &value) {
    return graph::mentionsAny(value, dataSymbols) ? f.integer(PERPEND_EXTENT_FROM_DATA)
                                                  : f.evaluateOr(value, f.argument(0), symbols, -1);
  };
  SmallVector<SymbolicInt> sizes = main->getAttrOfType<graph::ShapeAttr>(tile::bufferBytesAttribute).values(), parts;
  if (auto attribute = main->getAttrOfType<graph::ShapeAttr>(tile::bufferPartsAttribute))
    parts = attribute.values();
  for (auto [number, size] : llvm::enumerate(sizes)) {
    Value bytes = evaluate(size);
    if (!parts.empty() && parts[number] != SymbolicInt(1))
      bytes = f.partedBytes(
          bytes, f.partCount(f.evaluate(parts[number], f.argument(0), symbols), f.threads(f.argument(0), symbols)));
    f.store(bytes, f.argument(1), number);
  }
  Shape outputs;
  for (Type type : main.getResultTypes())
    outputs.append(shapeOf(cast<RankedTensorType>(type)));
  for (auto [number, extent] : llvm::enumerate(outputs))
    f.store(evaluate(extent), f.argument(2), number);
  f.builder.create<func::ReturnOp>(f.loc);
}
