//===- RunChecked.cpp - calls of checked kernels --------------------------===//
//
// A checked kernel gets a record and the extents of its buffers, after their
// addresses; an access noted in the record becomes an error of the run
// (tile/kernel/CheckedAccesses.h).
//
//===----------------------------------------------------------------------===//

#include "target/cpu/RunEmitter.h"

#include "graph/Attributes.h"
#include "graph/KernelSymbols.h"

#include "tile/kernel/CheckedAccesses.h"
#include "tile/kernel/KernelAbi.h"
#include "tile/kernel/Scratch.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using graph::SymbolicInt;

static SmallVector<Value> buffersOf(host::LaunchOp launch) {
  SmallVector<Value> buffers(launch.getInputs());
  llvm::append_range(buffers, launch.getOutputs());
  return buffers;
}

static graph::Shape shapeOf(Value place) { return cast<host::PlaceType>(place.getType()).extents(); }

void RunEmitter::prepareRecord(host::LaunchOp launch, func::FuncOp kernel) {
  SmallVector<Value> buffers = buffersOf(launch);
  auto count = static_cast<int64_t>(buffers.size());
  int64_t scratch = tile::KernelAbi::scratchCountOf(kernel);
  for (int64_t memory = 0; memory < tile::recordedMemories(count + scratch); ++memory)
    f.store(f.integer(0), record, memory * tile::recordWords);
  int64_t position = count + 1 + (scratch ? 2 : 0); // after the symbols and scratch memory
  f.storeSlot(record, list, position);
  for (auto [number, buffer] : llvm::enumerate(buffers))
    f.storeSlot(evaluate(graph::elementCount(shapeOf(buffer))), list, position + 1 + number);
}

/// For example "input 1 ('x', f32 [n, 3])".
static std::string bufferText(host::LaunchOp launch, unsigned number, Value buffer) {
  unsigned inputs = launch.getInputs().size();
  std::string text = number < inputs ? "input " + std::to_string(number) : "output " + std::to_string(number - inputs);
  std::string name;
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (auto entry = argument ? dyn_cast<host::EntryOp>(argument.getOwner()->getParentOp()) : host::EntryOp()) {
    if (auto given = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::nameAttribute))
      name = "'" + given.str() + "', ";
  } else if (number < inputs && buffer.getDefiningOp()) {
    name = nodeText(buffer.getDefiningOp()) + ", ";
  }
  return text + " (" + name + graph::nameOf(cast<host::PlaceType>(buffer.getType()).getTensor().getElementType()) +
         " " + graph::toString(shapeOf(buffer)) + ")";
}

void RunEmitter::checkRecord(host::LaunchOp launch, func::FuncOp kernel) {
  SmallVector<Value> buffers = buffersOf(launch);
  auto verify = [&](int64_t memory, const std::string &text) {
    Value flag = f.load(f.i64, record, memory * tile::recordWords);
    check(f.compare(arith::CmpIPredicate::eq, flag, f.integer(0)), launch,
          "kernel '" + kernel.getSymName() + "' leaves " + text +
              "\nthe code that computes this position is wrong, or an index among the data; perpend compile "
              "--dump-phases "
              "DIR writes the code",
          f.load(f.i64, record, memory * tile::recordWords + 1));
  };
  for (auto [number, buffer] : llvm::enumerate(buffers))
    verify(number + 1, bufferText(launch, number, buffer) + ": expected an element from 0 to less than " +
                           graph::elementCount(shapeOf(buffer)).str());
  verify(0, "memory that it allocates: expected an element inside");
  verify(buffers.size() + 1, "the symbols: expected one of " + std::to_string(launch.getSymbols().getDims().size()));
  llvm::StringMap<SymbolicInt> values = launch.symbolsOf(kernel);
  for (auto [number, elements] : llvm::enumerate(tile::Scratch::of(kernel).elements))
    verify(buffers.size() + 2 + number, "its scratch buffer " + std::to_string(number) +
                                            ": expected an element from 0 to less than " +
                                            elements.substitute(values).str());
}
