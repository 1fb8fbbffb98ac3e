//===- Caching.cpp - primitives that cache the operands of blocks ---------===//

#include "support/ReadableText.h"
#include "tile/schedule/Nests.h"
#include "tile/schedule/Primitives.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Allocates a buffer with the shape of `buffer` in another scope, before `statement`.
static Value allocateLike(func::FuncOp kernel, Value buffer, StringRef scope, Operation *statement, StringRef stem) {
  auto type = cast<BufferType>(buffer.getType());
  OpBuilder builder(statement);
  auto local = BufferType::get(type.getContext(), type.extents(), type.getElementType(), scope);
  return builder.create<AllocOp>(statement->getLoc(), local, builder.getStringAttr(uniqueName(kernel, stem)));
}

LogicalResult KernelSchedule::checkScope(StringRef scope, const std::string &title) {
  if (llvm::is_contained(scopes, scope))
    return success();
  return refuse(title + "expected one of the target's scopes " + llvm::join(scopes, ", ") + ", got '" + scope + "'");
}

FailureOr<Value> KernelSchedule::findBuffer(BlockOp block, StringRef access, int64_t number, const std::string &title) {
  if (access != "read" && access != "write")
    return refuse(title + "expected \"read\" or \"write\", got " + quotedText(access));
  bool isWritten = access == "write";
  llvm::SetVector<Value> buffers = buffersOf(block, isWritten);
  if (number >= 0 && number < static_cast<int64_t>(buffers.size()))
    return buffers[number];
  return refuse(title + "the block '" + block.getName() + "' " + (isWritten ? "writes " : "reads ") +
                support::counted(buffers.size(), "buffer") + (isWritten ? "" : " that it does not write") +
                ", got number " + Twine(number));
}

FailureOr<KernelSchedule::Block> KernelSchedule::cacheRead(Block handle, int64_t number, StringRef scope) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  BlockOp block = *found;
  std::string title = "cache_read " + nameOf(handle) + ": ";
  if (failed(checkScope(scope, title)))
    return failure();
  FailureOr<Value> read = findBuffer(block, "read", number, title);
  if (failed(read))
    return failure();
  Value buffer = *read;
  Operation *statement = statementIn(scopeOf(buffer), block);
  if (!isReadyAt(kernel, buffer, statement))
    return refuse(title + "the buffer " + bufferName(buffer) +
                  " is written in the nest of the block; cache it before they are joined");
  std::string stem = block.getName().str() + "_in" + std::to_string(number);
  Value local = allocateLike(kernel, buffer, scope, statement, stem + "_" + scope.str());
  for (const Access &access : accessesIn(block, buffer))
    redirect(access, local);
  BlockOp copy = createCopy(OpBuilder(statement), block.getLoc(), buffer, local, uniqueName(kernel, stem));
  Block result{addHandle(copy, copy.getName())};
  record("cache_read", nameOf(result), {nameOf(handle), std::to_string(number), quotedText(scope)});
  return result;
}

FailureOr<KernelSchedule::Block> KernelSchedule::cacheWrite(Block handle, StringRef scope) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  BlockOp block = *found;
  std::string title = "cache_write " + nameOf(handle) + ": ";
  if (failed(checkScope(scope, title)))
    return failure();
  llvm::SetVector<Value> written = buffersOf(block, /*isWritten=*/true);
  if (written.size() != 1)
    return refuse(title + "the block '" + block.getName() + "' writes " + Twine(written.size()) +
                  " buffers, expected one");
  Value buffer = written.front();
  if (isRolled(buffer))
    return refuse(title + "the buffer " + bufferName(buffer) + " is rolled; cache it before rolling_buffer");
  Operation *statement = statementIn(scopeOf(buffer), block);
  for (Operation *writer : writersOf(kernel, buffer))
    if (statementIn(scopeOf(buffer), writer) != statement)
      return refuse(title + "the block '" + cast<BlockOp>(writer).getName() + "' writes the buffer " +
                    bufferName(buffer) + " in another nest; cache it before decompose_reduction");
  std::string stem = block.getName().str() + "_out";
  Value local = allocateLike(kernel, buffer, scope, statement, stem + "_" + scope.str());
  for (const Access &access : accessesIn(statement, buffer))
    redirect(access, local);
  OpBuilder builder(statement);
  builder.setInsertionPointAfter(statement);
  BlockOp copy = createCopy(builder, block.getLoc(), local, buffer, uniqueName(kernel, stem));
  Block result{addHandle(copy, copy.getName())};
  record("cache_write", nameOf(result), {nameOf(handle), quotedText(scope)});
  return result;
}

/// Returns the copies before and after the block.
FailureOr<SmallVector<KernelSchedule::Block>> KernelSchedule::cacheInplace(Block handle, int64_t number,
                                                                           StringRef scope) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  BlockOp block = *found;
  std::string title = "cache_inplace " + nameOf(handle) + ": ";
  FailureOr<Value> written = findBuffer(block, "write", number, title);
  if (failed(written))
    return failure();
  if (failed(checkScope(scope, title)))
    return failure();
  Value buffer = *written;
  if (isRolled(buffer))
    return refuse(title + "the buffer " + bufferName(buffer) + " is rolled; cache it before rolling_buffer");
  Operation *statement = statementIn(scopeOf(buffer), block);
  bool isRead = llvm::any_of(accessesIn(block, buffer), [](const Access &access) { return !access.isStore(); });
  bool isWrittenBefore = llvm::any_of(writersOf(kernel, buffer), [&](Operation *writer) {
    return statementIn(scopeOf(buffer), writer)->isBeforeInBlock(statement);
  });
  if (!isRead || !isWrittenBefore)
    return refuse(title + "the block '" + block.getName() + "' does not change what another nest has written to " +
                  bufferName(buffer) + "\nhint: cache_write it, or decompose_reduction before");
  std::string stem = block.getName().str();
  Value local = allocateLike(kernel, buffer, scope, statement, stem + "_" + scope.str());
  for (const Access &access : accessesIn(statement, buffer))
    redirect(access, local);
  OpBuilder builder(statement);
  BlockOp before = createCopy(builder, block.getLoc(), buffer, local, uniqueName(kernel, stem + "_in"));
  builder.setInsertionPointAfter(statement);
  BlockOp after = createCopy(builder, block.getLoc(), local, buffer, uniqueName(kernel, stem + "_out"));
  Block first{addHandle(before, before.getName())}, second{addHandle(after, after.getName())};
  record("cache_inplace", {nameOf(first), nameOf(second)}, {nameOf(handle), std::to_string(number), quotedText(scope)});
  return SmallVector<Block>{first, second};
}

LogicalResult KernelSchedule::setScope(Block handle, StringRef scope) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  std::string title = "set_scope " + nameOf(handle) + ": ";
  if (failed(checkScope(scope, title)))
    return failure();
  for (const Access &access : accessesIn(*found)) {
    if (!access.isStore())
      continue;
    if (!access.buffer().getDefiningOp())
      return refuse(title + "the block writes a buffer of the kernel's caller; cache_write it before");
    auto type = cast<BufferType>(access.buffer().getType());
    access.buffer().setType(BufferType::get(type.getContext(), type.extents(), type.getElementType(), scope));
    record("set_scope", {}, {nameOf(handle), quotedText(scope)});
    return success();
  }
  return refuse(title + "the block writes nothing");
}
