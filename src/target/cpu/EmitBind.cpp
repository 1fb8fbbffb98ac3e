//===- EmitBind.cpp - computes symbols and sizes from extents of inputs ---===//

#include "target/cpu/ModuleFunctions.h"

#include "graph/Shapes.h"
#include "graph/Symbols.h"
#include "target/cpu/FunctionEmitter.h"

#include "perpend_module.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cstddef>

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using graph::SymbolicInt;

static_assert(std::is_same_v<decltype(perpend_module::bind),
                             int32_t (*)(const int64_t *const *, int64_t *, perpend_bind_error *)>);
static_assert(std::is_same_v<decltype(perpend_module::sizes), void (*)(const int64_t *, int64_t *, int64_t *)>);
// Fields of an error: two of 32 bits, then words; the last one is an address, and may be shorter.
static_assert(offsetof(perpend_bind_error, input) == 0 && offsetof(perpend_bind_error, dim) == 4 &&
              offsetof(perpend_bind_error, expected) == 8 && offsetof(perpend_bind_error, got) == 16 &&
              offsetof(perpend_bind_error, requirement) == 24 && sizeof(perpend_bind_error) == 32);

namespace {
/// The operations of an entry that bind symbols, as a function.
class BindEmitter {
public:
  BindEmitter(host::EntryOp entry, StringRef suffix)
      : entry(entry), symbols(entry.symbolNames()), types(entry.getContext()),
        pointer(FunctionEmitter::pointerType(entry->getParentOfType<ModuleOp>())),
        f(entry->getParentOfType<ModuleOp>(), ("perpend_bind" + suffix).str(),
          types.getFunctionType({pointer, pointer, pointer}, {types.getI32Type()}), entry.getLoc()),
        refuse(new Block) {}

  void run() {
    Type i32 = types.getI32Type();
    SmallVector<Type> refusal{i32, i32, types.getI64Type(), types.getI64Type(), pointer};
    refuse->addArguments(refusal, SmallVector<Location>(refusal.size(), f.loc));
    for (Operation &op : entry.getBody().front())
      llvm::TypeSwitch<Operation *>(&op)
          .Case([&](host::ExtentOp extent) { emitExtent(extent); })
          .Case([&](host::RepeatOp repeat) { emitRepeat(repeat); })
          .Case([&](host::ExpectOp expect) { emitExpect(expect); })
          .Case([&](host::RequireOp require) { emitRequire(require); });
    f.builder.create<func::ReturnOp>(f.loc, f.half(0));
    f.function.getBody().push_back(refuse);
    f.builder.setInsertionPointToStart(refuse);
    Value error = f.argument(2);
    f.store(refuse->getArgument(0), error, 0);
    f.store(refuse->getArgument(1), error, 1);
    f.store(refuse->getArgument(2), error, 1);
    f.store(refuse->getArgument(3), error, 2);
    f.storeSlot(refuse->getArgument(4), error, 3);
    f.builder.create<func::ReturnOp>(f.loc, f.half(1));
  }

private:
  Value evaluate(const SymbolicInt &value) { return f.evaluate(value, f.argument(1), symbols); }
  void setSymbol(StringRef symbol, Value value) {
    f.store(value, f.argument(1), llvm::find(symbols, symbol) - symbols.begin());
  }
  static unsigned numberOf(Value input) { return cast<BlockArgument>(input).getArgNumber(); }
  Value extentOf(Value input, uint64_t dim) {
    return f.load(f.i64, f.loadPointer(f.argument(0), numberOf(input)), static_cast<int64_t>(dim));
  }

  /// Reads a symbol from its source dimension; the other dimensions are compared afterwards.
  void emitExtent(host::ExtentOp op) {
    Value got = extentOf(op.getInput(), op.getDim());
    auto offset = static_cast<int64_t>(op.getOffset()), factor = static_cast<int64_t>(op.getFactor());
    emitCheck(got, op.getInput(), op.getDim(), f.integer(offset), arith::CmpIPredicate::sge);
    Value above = f.builder.create<arith::SubIOp>(f.loc, got, f.integer(offset));
    setSymbol(op.getSymbol(), f.builder.create<arith::DivSIOp>(f.loc, above, f.integer(factor)));
  }

  /// All values are computed before the first is stored.
  void emitRepeat(host::RepeatOp op) {
    SmallVector<Value> values;
    for (auto choices : op.getExtents().getAsRange<graph::ShapeAttr>()) {
      Value value;
      for (const SymbolicInt &extent : choices.values()) {
        Value other = evaluate(extent);
        Value isOne = value ? f.compare(arith::CmpIPredicate::eq, value, f.integer(1)) : Value();
        value = value ? f.builder.create<arith::SelectOp>(f.loc, isOne, other, value) : other;
      }
      values.push_back(value);
    }
    for (auto [symbol, value] : llvm::zip_equal(op.getSymbols().getAsRange<StringAttr>(), values))
      setSymbol(symbol, value);
  }

  void emitExpect(host::ExpectOp op) {
    emitCheck(extentOf(op.getInput(), op.getDim()), op.getInput(), op.getDim(),
              f.evaluateOr(op.getExtent().values()[0], f.argument(1), symbols, -1), arith::CmpIPredicate::eq);
  }

  /// Refuses a dimension that fails the comparison.
  void emitCheck(Value got, Value input, uint64_t dim, Value expected, arith::CmpIPredicate predicate) {
    Value shown = expected;
    if (predicate == arith::CmpIPredicate::sge) // -k: at least k
      shown = f.builder.create<arith::SubIOp>(f.loc, f.integer(0), expected);
    Value none = f.builder.create<LLVM::ZeroOp>(f.loc, pointer);
    f.proceedIf(f.compare(predicate, got, expected), refuse,
                {f.half(numberOf(input)), f.half(static_cast<int64_t>(dim)), shown, got, none});
  }

  void emitRequire(host::RequireOp op) {
    Value value = f.evaluateOr(op.getValue().values()[0], f.argument(1), symbols, -1), expected = f.integer(-1);
    Value fits = f.compare(arith::CmpIPredicate::sge, value, f.integer(0));
    if (!op.getInput()) {
      Value got = evaluate(op.getGot().values()[0]), message = f.text(op.getMessage());
      return f.proceedIf(fits, refuse, {f.half(-1), f.half(-1), expected, got, message});
    }
    Value got = extentOf(op.getInput(), *op.getDim());
    SymbolicInt extent = op.getExtent()->values()[0];
    expected = evaluate(max(extent, SymbolicInt(0)));
    if (op.getBound() != "exactly") { // see perpend_bind_error
      int64_t limit = *extent.constant();
      expected = f.integer(op.getBound() == "least" ? -limit : std::numeric_limits<int64_t>::min() + limit);
    }
    Value none = f.builder.create<LLVM::ZeroOp>(f.loc, pointer);
    f.proceedIf(fits, refuse,
                {f.half(numberOf(op.getInput())), f.half(static_cast<int64_t>(*op.getDim())), expected, got, none});
  }

  host::EntryOp entry;
  std::vector<std::string> symbols;
  Builder types;
  Type pointer;
  FunctionEmitter f;
  Block *refuse;
};
} // namespace

void perpend::target::emitBind(host::EntryOp entry, StringRef suffix) { BindEmitter(entry, suffix).run(); }

void perpend::target::emitSizes(host::EntryOp entry, StringRef suffix) {
  auto module = entry->getParentOfType<ModuleOp>();
  Type pointer = FunctionEmitter::pointerType(module);
  FunctionEmitter f(module, ("perpend_sizes" + suffix).str(),
                    FunctionType::get(entry.getContext(), {pointer, pointer, pointer}, {}), entry.getLoc());
  std::vector<std::string> symbols = entry.symbolNames(), dataSymbols = entry.dataSymbolNames();
  auto evaluate = [&](const SymbolicInt &value) {
    return graph::mentionsAny(value, dataSymbols) ? f.integer(PERPEND_EXTENT_FROM_DATA)
                                                  : f.evaluateOr(value, f.argument(0), symbols, -1);
  };
  int64_t number = 0;
  for (auto buffer : entry.getBody().getOps<host::BufferOp>()) {
    Value bytes = evaluate(buffer.getBytes().values()[0]);
    SymbolicInt parts = buffer.getParts().values()[0];
    if (parts != SymbolicInt(1))
      bytes = f.partedBytes(bytes,
                            f.partCount(f.evaluate(parts, f.argument(0), symbols), f.threads(f.argument(0), symbols)));
    f.store(bytes, f.argument(1), number++);
  }
  int64_t dim = 0;
  for (unsigned output = 0; output < entry.outputCount(); ++output)
    for (const SymbolicInt &extent : graph::shapeOf(entry.tensorOf(entry.inputCount() + output)))
      f.store(evaluate(extent), f.argument(2), dim++);
  f.builder.create<func::ReturnOp>(f.loc);
}
