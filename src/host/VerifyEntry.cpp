//===- VerifyEntry.cpp - verifies symbols, binding and sizes of an entry --===//
//
// Generated code and runtime index symbols, buffers and rooms (memory whose size only a run knows) without checks, and
// trust the extents of inputs after binding. So every symbol must be defined before its use, binding must compare
// every dimension of an input with its type, and sizes that are needed before the run may depend on the shapes of
// inputs only, not on their data.
//
//===----------------------------------------------------------------------===//

#include "host/VerifyProgram.h"

#include "graph/ErrorKind.h"
#include "graph/Shapes.h"
#include "graph/Symbols.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::host;

namespace {
/// C2: every symbol has a value where it is used.
class SymbolOrder {
public:
  LogicalResult visit(Block &block) {
    for (Operation &op : block) {
      if (failed(verifyUses(op)))
        return failure();
      LogicalResult result = llvm::TypeSwitch<Operation *, LogicalResult>(&op)
                                 .Case([&](ExtentOp extent) { return add(extent.getSymbol()); })
                                 .Case([&](ReadOp read) { return add(read.getSymbol()); })
                                 .Case([&](SetOp set) { return add(set.getSymbols()); })
                                 .Case([&](CallOp call) { return add(call.getDefines()); })
                                 .Case([&](IfOp branch) { return visitBranches(branch); })
                                 .Case([&](LoopOp loop) { return visitLoop(loop); })
                                 .Default([](Operation *) { return success(); });
      if (failed(result) || failed(verifyResults(op)))
        return failure();
    }
    return success();
  }

private:
  LogicalResult add(StringRef name) { return known.insert(name), success(); }
  LogicalResult add(ArrayAttr names) {
    for (auto name : names.getAsRange<StringAttr>())
      known.insert(name.getValue());
    return success();
  }

  LogicalResult visitBranches(IfOp branch) {
    llvm::StringSet<> before = known;
    if (failed(visit(branch.getThen().front())))
      return failure();
    llvm::StringSet<> then = std::exchange(known, before);
    if (failed(visit(branch.getOtherwise().front())))
      return failure();
    for (const auto &name : then)
      if (known.contains(name.getKey()))
        before.insert(name.getKey());
    known = std::move(before);
    return success();
  }

  LogicalResult visitLoop(LoopOp loop) {
    known.insert(loop.getIteration());
    llvm::StringSet<> before = known;
    if (failed(visit(loop.getBody().front())))
      return failure();
    known = std::move(before);
    return success();
  }

  LogicalResult verify(Operation &op, ArrayRef<SymbolicInt> expressions) {
    for (const SymbolicInt &expression : expressions)
      if (expression.anySymbol([&](StringRef name) { return !known.contains(name); }))
        return op.emitError("C2: '") << expression.str() << "' uses a symbol before it has a value"
                                     << graph::Hint("host.extent, host.read and host.set give symbols values");
    return success();
  }
  LogicalResult verifyUses(Operation &op) {
    for (NamedAttribute attribute : op.getAttrs()) {
      SmallVector<Attribute> lists{attribute.getValue()};
      if (auto several = dyn_cast<ArrayAttr>(attribute.getValue()))
        llvm::append_range(lists, several);
      for (Attribute value : lists)
        if (auto list = dyn_cast<ShapeAttr>(value))
          if (failed(verify(op, list.values())))
            return failure();
    }
    return success();
  }
  LogicalResult verifyResults(Operation &op) {
    for (Type type : op.getResultTypes())
      if (auto place = dyn_cast<PlaceType>(type))
        if (failed(verify(op, place.extents())))
          return failure();
    if (auto call = dyn_cast<CallOp>(op))
      for (Type type : call.getTypes().getAsValueRange<TypeAttr>())
        if (failed(verify(op, graph::shapeOf(cast<RankedTensorType>(type)))))
          return failure();
    return success();
  }

  llvm::StringSet<> known;
};

/// C3 to C6, about what callers and binding see.
class Interface {
public:
  explicit Interface(EntryOp entry) : entry(entry), names(entry.symbolNames()), dataNames(entry.dataSymbolNames()) {}

  LogicalResult verify() {
    return failure(failed(verifyOperations()) || failed(verifyMemories()) || failed(verifyBinding()) ||
                   failed(verifySizes()) || failed(verifyRooms()));
  }

private:
  static bool hasTypes(CallOp call) {
    return call.getTypes().size() == call.getOutputs().size() &&
           llvm::all_of(call.getTypes().getAsValueRange<TypeAttr>(),
                        [](Type type) { return isa<RankedTensorType>(type); });
  }
  LogicalResult verifyOperations() {
    WalkResult result = entry.getBody().walk([](Operation *op) {
      if (auto call = dyn_cast<CallOp>(op); call && !hasTypes(call)) {
        call.emitOpError("C1: expected the type of a tensor for each of ")
            << call.getOutputs().size() << " outputs" << graph::Hint("list them behind `types`");
        return WalkResult::interrupt();
      }
      if (isa_and_nonnull<HostDialect>(op->getDialect()))
        return WalkResult::advance();
      op->emitError("expected operations of the host level in an entry, got '")
          << op->getName() << "'" << graph::Hint("a launch runs a kernel, which may hold others");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  static LogicalResult verifyOnHost(Operation *op, TypeRange types, const Twine &what) {
    for (Type type : types)
      if (auto place = dyn_cast<PlaceType>(type); place && place.getMemory() != hostMemory)
        return op->emitOpError("C6: expected ")
               << what << " in the host's memory, got a place in '" << place.getMemory().getValue() << "'"
               << graph::Hint("host.copy brings the value to a buffer in another memory");
    return success();
  }

  /// C6: arguments, and what rooms and scalars hold, are in the host's memory. Buffers and copies of constants may be
  /// in others; places and loops give what they take.
  LogicalResult verifyMemories() {
    if (failed(verifyOnHost(entry, entry.getArgumentTypes(), "arguments")))
      return failure();
    WalkResult result = entry.getBody().walk([](Operation *op) {
      if (isa<ConstantOp, PlaceOp, LoopOp>(op))
        return WalkResult::advance();
      return WalkResult(verifyOnHost(op, op->getResultTypes(), "a place"));
    });
    return failure(result.wasInterrupted());
  }

  bool dependsOn(ArrayRef<SymbolicInt> values, bool mayBeData) const {
    return llvm::all_of(values, [&](const SymbolicInt &value) {
      return !value.anySymbol([&](StringRef name) {
        return !llvm::is_contained(names, name) || (!mayBeData && llvm::is_contained(dataNames, name));
      });
    });
  }

  /// C3: binding gives values to symbols of the entry, and compares every dimension of every input.
  LogicalResult verifyBinding() {
    std::set<std::pair<unsigned, uint64_t>> compared;
    auto compare = [&](Value input, uint64_t dim, const SymbolicInt &extent) {
      unsigned number = cast<BlockArgument>(input).getArgNumber();
      if (graph::shapeOf(entry.tensorOf(number))[dim] == extent)
        compared.insert({number, dim});
    };
    for (Operation &op : entry.getBody().front()) {
      SmallVector<StringRef> bound;
      if (auto extent = dyn_cast<ExtentOp>(op)) {
        bound.push_back(extent.getSymbol());
        if (extent.getFactor() == 1 && extent.getOffset() == 0)
          compare(extent.getInput(), extent.getDim(), SymbolicInt::symbol(extent.getSymbol().str()));
      } else if (auto expect = dyn_cast<ExpectOp>(op)) {
        compare(expect.getInput(), expect.getDim(), expect.getExtent().values()[0]);
      } else if (auto repeat = dyn_cast<RepeatOp>(op)) {
        for (auto name : repeat.getSymbols().getAsRange<StringAttr>())
          bound.push_back(name);
      }
      for (StringRef name : bound)
        if (!llvm::is_contained(names, name))
          return op.emitError("C3: binding gives a value to '")
                 << name << "', which is no symbol of the entry" << graph::Hint("list it among its symbols");
    }
    for (unsigned input = 0; input < entry.inputCount(); ++input)
      for (uint64_t dim = 0; dim < graph::shapeOf(entry.tensorOf(input)).size(); ++dim)
        if (!compared.count({input, dim}))
          return entry.emitOpError("C3: nothing compares dimension ")
                 << dim << " of input " << input << " with its type" << graph::Hint("host.expect does");
    return success();
  }

  /// C4: sizes of buffers and of outputs that are no rooms are known before the run; all are over the entry's symbols.
  LogicalResult verifySizes() {
    auto refuse = [](Operation *op, const Twine &of, bool mayBeData) {
      return op->emitOpError("C4: expected ")
             << of << " over symbols of the entry" << (mayBeData ? "" : " that binding knows")
             << graph::Hint("memory of a size that a run decides is a host.room");
    };
    for (auto buffer : entry.getBody().getOps<BufferOp>())
      if (!dependsOn(buffer.getBytes().values(), false) || !dependsOn(buffer.getParts().values(), false))
        return refuse(buffer, "sizes", false);
    for (unsigned output = 0; output < entry.outputCount(); ++output) {
      bool isRoom = isa<RoomType>(entry.output(output).getType());
      if (!dependsOn(graph::shapeOf(entry.tensorOf(entry.inputCount() + output)), isRoom))
        return refuse(entry, "extents of output " + Twine(output), isRoom);
    }
    return success();
  }

  /// C5: rooms are numbered behind those of outputs, and leave no number out.
  LogicalResult verifyRooms() {
    std::set<uint64_t> numbers;
    for (auto room : entry.getBody().getOps<RoomOp>()) {
      if (room.getNumber() < entry.outputCount())
        return room.emitOpError("C5: expected a number of at least ")
               << entry.outputCount() << ", got " << room.getNumber()
               << graph::Hint("rooms count from the number of outputs");
      numbers.insert(room.getNumber());
    }
    uint64_t next = entry.outputCount();
    for (uint64_t number : numbers)
      if (number != next++)
        return entry.emitOpError("C5: expected a room with the number ")
               << next - 1 << " before " << number << graph::Hint("rooms count from the number of outputs");
    return success();
  }

  EntryOp entry;
  std::vector<std::string> names, dataNames;
};
} // namespace

LogicalResult perpend::host::verifyEntry(EntryOp entry) {
  return failure(failed(Interface(entry).verify()) || failed(SymbolOrder().visit(entry.getBody().front())));
}
