//===- Schedule.cpp - handles, the trace, queries and annotations ---------===//

#include "tile/schedule/Schedule.h"
#include "tile/Attributes.h"
#include "tile/schedule/Nests.h"
#include "tile/schedule/Primitives.h"

#include "support/Nearest.h"

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

LogicalResult KernelSchedule::checkOutermost(Operation *op, const std::string &name) {
  auto around = op->getParentOfType<BlockOp>();
  return around ? refuse(name + ": it is inside of the block '" + around.getName() + "'; transform it before blockize")
                : success();
}

FailureOr<ForOp> KernelSchedule::find(Loop loop) {
  if (ForOp op = operation(loop))
    return failed(checkOutermost(op, nameOf(loop))) ? FailureOr<ForOp>(failure()) : op;
  return refuse(nameOf(loop) + ": an earlier step has consumed this loop\nhint: use the loops that it returned");
}

FailureOr<BlockOp> KernelSchedule::find(Block block) {
  if (BlockOp op = operation(block))
    return failed(checkOutermost(op, nameOf(block))) ? FailureOr<BlockOp>(failure()) : op;
  return refuse(nameOf(block) + ": an earlier step has consumed this block");
}

LogicalResult KernelSchedule::find(Block blockHandle, Loop loopHandle, BlockOp &block, ForOp &loop) {
  FailureOr<BlockOp> foundBlock = find(blockHandle);
  FailureOr<ForOp> foundLoop = succeeded(foundBlock) ? find(loopHandle) : FailureOr<ForOp>(failure());
  if (failed(foundLoop))
    return failure();
  block = *foundBlock;
  loop = *foundLoop;
  return success();
}

FailureOr<Operation *> KernelSchedule::find(Place place) {
  if (auto *loop = std::get_if<Loop>(&place)) {
    FailureOr<ForOp> found = find(*loop);
    return failed(found) ? FailureOr<Operation *>(failure()) : found->getOperation();
  }
  FailureOr<BlockOp> found = find(std::get<Block>(place));
  return failed(found) ? FailureOr<Operation *>(failure()) : found->getOperation();
}

/// Turns a block's name, which may contain anything, into a valid name of a value.
static std::string asValueName(StringRef stem) {
  std::string name = stem.str();
  std::replace_if(name.begin(), name.end(), [](char c) { return !isTraceNameCharacter(c); }, '_');
  return name.empty() ? "_" : name;
}

unsigned KernelSchedule::addHandle(Operation *op, StringRef stem) {
  std::string first = asValueName(stem), name = first;
  for (unsigned uses = 1; !handleNumbers.try_emplace(name, handles.size()).second; ++uses)
    name = first + "_" + std::to_string(uses);
  handleNames.push_back(name);
  areLoops.push_back(isa_and_nonnull<ForOp>(op));
  handles.push_back(op);
  return handles.size() - 1;
}

std::optional<KernelSchedule::Place> KernelSchedule::handle(StringRef name) const {
  auto found = name.consume_front("%") ? handleNumbers.find(name) : handleNumbers.end();
  if (found == handleNumbers.end())
    return std::nullopt;
  unsigned id = found->second;
  if (numbers.count(id))
    return std::nullopt;
  return areLoops[id] ? Place(Loop{id}) : Place(Block{id});
}

std::optional<KernelSchedule::Number> KernelSchedule::number(StringRef name) const {
  auto found = name.consume_front("%") ? handleNumbers.find(name) : handleNumbers.end();
  return found != handleNumbers.end() && numbers.count(found->second) ? std::optional(Number{found->second})
                                                                      : std::nullopt;
}

static SmallVector<Operation *> blocksIn(Operation *root) {
  SmallVector<Operation *> blocks;
  root->walk<WalkOrder::PreOrder>([&](BlockOp block) {
    if (block != root)
      blocks.push_back(block);
  });
  return blocks;
}

BlockOp KernelSchedule::findBlock(StringRef name) const {
  for (Operation *op : blocksIn(kernel))
    if (auto block = cast<BlockOp>(op); block.getName() == name)
      return block;
  return nullptr;
}

std::string KernelSchedule::unknownHandle(StringRef name) const {
  if (number(name))
    return ("expected a loop or a block, got the number " + name).str();
  if (!name.starts_with("%")) {
    StringRef bare = name.trim('"');
    BlockOp block = findBlock(bare);
    return ("expected a value such as %i0, got " + name +
            (block                       ? "\nhint: get_block gives the block of this name"
             : handleNumbers.count(bare) ? "\nhint: did you mean %" + bare + "?"
                                         : ""))
        .str();
  }
  SmallVector<std::string> known;
  for (const std::string &each : handleNames)
    known.push_back("%" + each);
  std::string near = support::nearest(name, known);
  return (name + " is not defined before" + (near.empty() ? "" : "\nhint: did you mean " + near + "?")).str();
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
  BlockOp found = findBlock(name);
  if (!found) {
    SmallVector<StringRef> known;
    for (Operation *block : blocksIn(kernel))
      known.push_back(cast<BlockOp>(block).getName());
    return refuse("get_block: expected one of the blocks " + llvm::join(known, ", ") + ", got '" + name + "'");
  }
  Block handle{addHandle(found, name)};
  record("get_block", nameOf(handle), quotedText(name));
  return handle;
}

FailureOr<SmallVector<KernelSchedule::Loop>> KernelSchedule::getLoops(Block block) {
  FailureOr<BlockOp> found = find(block);
  if (failed(found))
    return failure();
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

FailureOr<SmallVector<KernelSchedule::Block>> KernelSchedule::getChildBlocks(Place place) {
  FailureOr<Operation *> found = find(place);
  if (failed(found))
    return failure();
  return recordBlocks("get_child_blocks", blocksIn(*found), nameOf(place));
}

/// The other blocks that write what `block` reads, or that read what it writes.
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

FailureOr<SmallVector<KernelSchedule::Block>> KernelSchedule::getOutputBlocks() {
  SmallVector<Operation *> blocks = blocksIn(kernel);
  llvm::erase_if(blocks, [](Operation *block) {
    return llvm::none_of(accessesIn(block),
                         [](const Access &access) { return access.isStore() && isa<BlockArgument>(access.buffer()); });
  });
  return recordBlocks("get_output_blocks", blocks, {});
}

//===----------------------------------------------------------------------===//
// Annotations
//===----------------------------------------------------------------------===//

LogicalResult KernelSchedule::annotate(Place place, StringRef key, Attribute value) {
  FailureOr<Operation *> op = find(place);
  if (failed(op))
    return failure();
  std::string name = nameOf(place);
  NamedAttrList list((*op)->getAttrOfType<DictionaryAttr>("annotations"));
  if (key.empty() || !value)
    return refuse("annotate " + name + ": expected a key and a value");
  if (key == tensorizedAnnotation)
    return refuse("annotate " + name + ": '" + key + "' is what tensorize writes");
  auto ahead = dyn_cast<IntegerAttr>(value);
  if (key == prefetchAnnotation && !(isa<ForOp>(*op) && ahead && ahead.getValue().isStrictlyPositive()))
    return refuse("annotate " + name + ": '" + key + "' is a number of iterations of a loop, at least 1");
  if (list.get(key))
    return refuse("annotate " + name + ": it has the annotation '" + key + "' already; unannotate it before");
  list.set(key, value);
  (*op)->setAttr("annotations", list.getDictionary(context()));
  std::string text;
  llvm::raw_string_ostream(text) << value;
  record("annotate", {}, {name, quotedText(key), text});
  return success();
}

LogicalResult KernelSchedule::unannotate(Place place, StringRef key) {
  FailureOr<Operation *> op = find(place);
  if (failed(op))
    return failure();
  std::string name = nameOf(place);
  NamedAttrList list((*op)->getAttrOfType<DictionaryAttr>("annotations"));
  if (key.empty() || !list.erase(key))
    return refuse("unannotate " + name + ": it has no annotation '" + key + "'");
  (*op)->setAttr("annotations", list.getDictionary(context()));
  record("unannotate", {}, {name, quotedText(key)});
  return success();
}

LogicalResult KernelSchedule::enterPostproc() {
  auto isEntry = [](const TraceInstruction &instruction) { return instruction.primitive == "enter_postproc"; };
  if (llvm::any_of(instructions, isEntry))
    return refuse("enter_postproc: an earlier step has done this");
  record("enter_postproc", {}, {});
  return success();
}
