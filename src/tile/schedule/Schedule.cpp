//===- Schedule.cpp - handles, the trace, queries and annotations ---------===//

#include "tile/schedule/Schedule.h"
#include "tile/schedule/Nests.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

std::string TraceInstruction::str() const {
  std::string text = llvm::join(results, ", ");
  if (!results.empty())
    text += " = ";
  text += primitive;
  if (!operands.empty())
    text += " " + llvm::join(operands, ", ");
  return text;
}

LogicalResult KernelSchedule::refuse(const Twine &text) {
  reason = text.str();
  return failure();
}

BlockOp KernelSchedule::operation(Block block) const { return dyn_cast_or_null<BlockOp>(handles[block.id]); }
ForOp KernelSchedule::operation(Loop loop) const { return dyn_cast_or_null<ForOp>(handles[loop.id]); }

FailureOr<ForOp> KernelSchedule::find(Loop loop) {
  if (ForOp op = operation(loop))
    return op;
  return refuse(nameOf(loop) + ": an earlier step has consumed this loop\nhint: use the loops that it returned");
}

FailureOr<BlockOp> KernelSchedule::find(Block block) {
  if (BlockOp op = operation(block))
    return op;
  return refuse(nameOf(block) + ": an earlier step has consumed this block");
}

unsigned KernelSchedule::addHandle(Operation *op, StringRef stem) {
  unsigned uses = usedNames[stem]++;
  handleNames.push_back(uses ? (stem + "_" + Twine(uses)).str() : stem.str());
  handles.push_back(op);
  return handles.size() - 1;
}

void KernelSchedule::erase(Operation *op) {
  op->walk([&](Operation *inner) {
    std::replace(handles.begin(), handles.end(), inner, static_cast<Operation *>(nullptr));
  });
  op->erase();
}

void KernelSchedule::record(StringRef primitive, ArrayRef<std::string> results, ArrayRef<std::string> operands) {
  instructions.push_back(
      {primitive, llvm::SmallVector<std::string, 2>(results), llvm::SmallVector<std::string, 4>(operands)});
}

FailureOr<KernelSchedule::Block> KernelSchedule::getBlock(StringRef name) {
  BlockOp found;
  std::string known;
  kernel.walk([&](BlockOp block) {
    if (block.getName() == name)
      found = block;
    known += (known.empty() ? "" : ", ") + block.getName().str();
  });
  if (!found)
    return refuse("get_block: expected one of the blocks " + known + ", got '" + name + "'");
  Block handle{addHandle(found, name)};
  record("get_block", nameOf(handle), "\"" + name.str() + "\"");
  return handle;
}

SmallVector<KernelSchedule::Loop> KernelSchedule::getLoops(Block block) {
  FailureOr<BlockOp> found = find(block);
  if (failed(found))
    return {};
  SmallVector<Loop> loops;
  SmallVector<std::string> names;
  for (ForOp loop : loopsAround(*found)) {
    loops.push_back({addHandle(loop, loop.getName())});
    names.push_back(nameOf(loops.back()));
  }
  record("get_loops", names, nameOf(block));
  return loops;
}

FailureOr<SmallVector<KernelSchedule::Block>>
KernelSchedule::recordBlocks(StringRef primitive, ArrayRef<Operation *> blocks, ArrayRef<std::string> operands) {
  SmallVector<Block> list;
  SmallVector<std::string> names;
  for (Operation *block : blocks) {
    list.push_back({addHandle(block, cast<BlockOp>(block).getName())});
    names.push_back(nameOf(list.back()));
  }
  record(primitive, names, operands);
  return list;
}

static SmallVector<Operation *> blocksIn(Operation *root) {
  SmallVector<Operation *> blocks;
  root->walk<WalkOrder::PreOrder>([&](BlockOp block) {
    if (block != root)
      blocks.push_back(block);
  });
  return blocks;
}

FailureOr<SmallVector<KernelSchedule::Block>> KernelSchedule::getChildBlocks(Loop loop) {
  FailureOr<ForOp> found = find(loop);
  if (failed(found))
    return failure();
  return recordBlocks("get_child_blocks", blocksIn(*found), nameOf(loop));
}

FailureOr<SmallVector<KernelSchedule::Block>> KernelSchedule::getChildBlocks(Block block) {
  FailureOr<BlockOp> found = find(block);
  if (failed(found))
    return failure();
  return recordBlocks("get_child_blocks", blocksIn(*found), nameOf(block));
}

/// The other blocks that write what `block` reads, or read what it writes.
static SmallVector<Operation *> neighbours(func::FuncOp kernel, BlockOp block, bool producers) {
  llvm::SetVector<Operation *> found;
  for (const Access &access : accessesIn(block))
    if (access.isStore() != producers)
      for (Operation *other : producers ? writersOf(kernel, access.buffer()) : readersOf(kernel, access.buffer()))
        if (other != block)
          found.insert(other);
  return found.takeVector();
}

FailureOr<SmallVector<KernelSchedule::Block>> KernelSchedule::getProducers(Block block) {
  FailureOr<BlockOp> found = find(block);
  if (failed(found))
    return failure();
  return recordBlocks("get_producers", neighbours(kernel, *found, /*producers=*/true), nameOf(block));
}

FailureOr<SmallVector<KernelSchedule::Block>> KernelSchedule::getConsumers(Block block) {
  FailureOr<BlockOp> found = find(block);
  if (failed(found))
    return failure();
  return recordBlocks("get_consumers", neighbours(kernel, *found, /*producers=*/false), nameOf(block));
}

SmallVector<KernelSchedule::Block> KernelSchedule::getOutputBlocks() {
  SmallVector<Operation *> blocks = blocksIn(kernel);
  llvm::erase_if(blocks, [](Operation *block) {
    return llvm::none_of(accessesIn(block),
                         [](const Access &access) { return access.isStore() && isa<BlockArgument>(access.buffer()); });
  });
  return *recordBlocks("get_output_blocks", blocks, {});
}

//===----------------------------------------------------------------------===//
// Annotations
//===----------------------------------------------------------------------===//

LogicalResult KernelSchedule::annotate(Operation *op, const std::string &name, StringRef key, Attribute value) {
  NamedAttrList list(op->getAttrOfType<DictionaryAttr>("annotations"));
  if (key.empty() || !value)
    return refuse("annotate " + name + ": expected a key and a value");
  if (list.get(key))
    return refuse("annotate " + name + ": it has the annotation '" + key + "' already; unannotate it before");
  list.set(key, value);
  op->setAttr("annotations", list.getDictionary(op->getContext()));
  std::string text;
  llvm::raw_string_ostream(text) << value;
  record("annotate", {}, {name, "\"" + key.str() + "\"", text});
  return success();
}

LogicalResult KernelSchedule::unannotate(Operation *op, const std::string &name, StringRef key) {
  NamedAttrList list(op->getAttrOfType<DictionaryAttr>("annotations"));
  if (key.empty() || !list.erase(key))
    return refuse("unannotate " + name + ": it has no annotation '" + key + "'");
  op->setAttr("annotations", list.getDictionary(op->getContext()));
  record("unannotate", {}, {name, "\"" + key.str() + "\""});
  return success();
}

LogicalResult KernelSchedule::annotate(Loop loop, StringRef key, Attribute value) {
  FailureOr<ForOp> found = find(loop);
  return failed(found) ? failure() : annotate(*found, nameOf(loop), key, value);
}
LogicalResult KernelSchedule::annotate(Block block, StringRef key, Attribute value) {
  FailureOr<BlockOp> found = find(block);
  return failed(found) ? failure() : annotate(*found, nameOf(block), key, value);
}
LogicalResult KernelSchedule::unannotate(Loop loop, StringRef key) {
  FailureOr<ForOp> found = find(loop);
  return failed(found) ? failure() : unannotate(*found, nameOf(loop), key);
}
LogicalResult KernelSchedule::unannotate(Block block, StringRef key) {
  FailureOr<BlockOp> found = find(block);
  return failed(found) ? failure() : unannotate(*found, nameOf(block), key);
}
