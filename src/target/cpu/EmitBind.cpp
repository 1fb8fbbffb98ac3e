//===- EmitBind.cpp - from the extents of inputs to symbols and sizes -------===//

#include "target/cpu/ModuleFunctions.h"

#include "graph/Shapes.h"
#include "graph/Symbols.h"
#include "target/cpu/FunctionEmitter.h"

#include "perpend_module.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using graph::Shape;
using graph::shapeOf;
using graph::SymbolicInt;

namespace {
class BindEmitter {
public:
  explicit BindEmitter(func::FuncOp main)
      : main(main), symbols(graph::symbolsOf(main)), types(main.getContext()),
        pointer(FunctionEmitter::pointerType(main->getParentOfType<ModuleOp>())),
        f(main->getParentOfType<ModuleOp>(), "perpend_bind",
          types.getFunctionType({pointer, pointer, pointer}, {types.getI32Type()}), main.getLoc()) {}

  void run() {
    Type i32 = types.getI32Type();
    Block *refuse = new Block;
    SmallVector<Type> refusal{i32, i32, types.getI64Type(), types.getI64Type()};
    refuse->addArguments(refusal, SmallVector<Location>(4, f.loc));
    emitSymbols(refuse);
    for (BlockArgument argument : main.getArguments()) {
      Value dims = f.loadPointer(f.argument(0), argument.getArgNumber());
      for (auto [dim, extent] : llvm::enumerate(shapeOf(argument)))
        emitCheck(f.load(types.getI64Type(), dims, dim), argument.getArgNumber(), dim,
                  f.evaluate(extent, f.argument(1), symbols), arith::CmpIPredicate::eq, refuse);
    }
    if (auto requirements = main->getAttrOfType<graph::ShapeAttr>("graph.requirements"))
      for (const SymbolicInt &requirement : requirements.values())
        emitRequirement(requirement, refuse);
    f.builder.create<func::ReturnOp>(f.loc, f.half(0));
    f.function.getBody().push_back(refuse);
    f.builder.setInsertionPointToStart(refuse);
    Value error = f.argument(2);
    f.store(refuse->getArgument(0), error, 0);
    f.store(refuse->getArgument(1), error, 1);
    f.store(refuse->getArgument(2), error, 1);
    f.store(refuse->getArgument(3), error, 2);
    f.builder.create<func::ReturnOp>(f.loc, f.half(1));
  }

private:
  /// Reads every symbol from the dimension that binds it; the others are compared afterwards.
  void emitSymbols(Block *refuse) {
    for (auto [number, source] : llvm::enumerate(graph::symbolSourcesOf(main))) {
      if (!source)
        continue; // an operator defines it: verifyMain refuses other models
      Value dims = f.loadPointer(f.argument(0), source->input);
      Value got = f.load(types.getI64Type(), dims, source->dim);
      emitCheck(got, source->input, source->dim, f.integer(source->offset), arith::CmpIPredicate::sge, refuse);
      Value above = f.builder.create<arith::SubIOp>(f.loc, got, f.integer(source->offset));
      f.store(f.builder.create<arith::DivSIOp>(f.loc, above, f.integer(source->factor)), f.argument(1), number);
    }
  }

  /// Refuses a dimension that does not compare as it must.
  void emitCheck(Value got, int64_t input, int64_t dim, Value expected, arith::CmpIPredicate predicate, Block *refuse) {
    Value shown = expected;
    if (predicate == arith::CmpIPredicate::sge) // -k: at least k
      shown = f.builder.create<arith::SubIOp>(f.loc, f.integer(0), expected);
    f.proceedIf(f.compare(predicate, got, expected), refuse, {f.half(input), f.half(dim), shown, got});
  }

  /// An expression that must not be negative. A limit of one symbol belongs to the dimension that binds it.
  void emitRequirement(const SymbolicInt &requirement, Block *refuse) {
    int64_t input = -1, dim = -1;
    Value expected = f.integer(-1), got = f.evaluate(requirement, f.argument(1), symbols);
    Value fits = f.builder.create<arith::CmpIOp>(f.loc, arith::CmpIPredicate::sge, got, f.integer(0));
    std::set<std::string> names;
    requirement.symbols(names);
    SymbolicInt symbol = names.size() == 1 ? SymbolicInt::symbol(*names.begin()) : SymbolicInt(0);
    std::optional<int64_t> least = (symbol - requirement).constant(), most = (symbol + requirement).constant();
    std::optional<graph::SymbolSource> source;
    if (names.size() == 1)
      source = graph::symbolSourcesOf(main)[llvm::find(symbols, *names.begin()) - symbols.begin()];
    if (source && (least || most)) {
      SymbolicInt extent = symbol * SymbolicInt(source->factor) + SymbolicInt(source->offset);
      int64_t limit = (least ? *least : *most) * source->factor + source->offset;
      input = source->input, dim = source->dim;
      expected = f.integer(least ? -limit : std::numeric_limits<int64_t>::min() + limit);
      got = f.evaluate(extent, f.argument(1), symbols);
    }
    f.proceedIf(fits, refuse, {f.half(input), f.half(dim), expected, got});
  }

  func::FuncOp main;
  std::vector<std::string> symbols;
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
  auto storeAll = [&](ArrayRef<SymbolicInt> values, unsigned argument) {
    for (auto [number, value] : llvm::enumerate(values))
      f.store(graph::mentionsAny(value, dataSymbols) ? f.integer(PERPEND_EXTENT_FROM_DATA)
                                                     : f.evaluate(value, f.argument(0), symbols),
              f.argument(argument), number);
  };
  storeAll(main->getAttrOfType<graph::ShapeAttr>("tile.buffer_bytes").values(), 1);
  Shape outputs;
  for (Type type : main.getResultTypes())
    outputs.append(shapeOf(cast<RankedTensorType>(type)));
  storeAll(outputs, 2);
  f.builder.create<func::ReturnOp>(f.loc);
}
