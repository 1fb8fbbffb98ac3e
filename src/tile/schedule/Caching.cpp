//===- Caching.cpp - primitives on the memory that blocks read and write --===//

#include "tile/schedule/Nests.h"
#include "tile/schedule/Schedule.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Memory like that of `buffer`, in another scope, before `statement`.
static Value allocateLike(func::FuncOp kernel, Value buffer, StringRef scope, Operation *statement, StringRef stem) {
  auto type = cast<BufferType>(buffer.getType());
  OpBuilder builder(statement);
  auto local = BufferType::get(type.getContext(), type.extents(), type.getElementType(), scope);
  return builder.create<AllocOp>(statement->getLoc(), local, builder.getStringAttr(uniqueName(kernel, stem)));
}

static bool isScope(StringRef scope) { return !scope.empty() && scope != "global"; }

static std::string quoted(StringRef text) { return "\"" + text.str() + "\""; }

FailureOr<KernelSchedule::Block> KernelSchedule::cacheRead(Block handle, unsigned number, StringRef scope) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  BlockOp block = *found;
  std::string title = "cache_read " + nameOf(handle) + ": ";
  if (!isScope(scope))
    return refuse(title + "expected a scope other than global, got '" + scope + "'");
  llvm::SetVector<Value> written, buffers;
  for (const Access &access : accessesIn(block))
    if (access.isStore())
      written.insert(access.buffer());
  for (const Access &access : accessesIn(block))
    if (!access.isStore() && !written.contains(access.buffer()))
      buffers.insert(access.buffer());
  if (number >= buffers.size())
    return refuse(title + "the block '" + block.getName() + "' reads " + Twine(buffers.size()) +
                  " buffers that it does not write, got number " + Twine(number));
  Value buffer = buffers[number];
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
  record("cache_read", nameOf(result), {nameOf(handle), std::to_string(number), quoted(scope)});
  return result;
}

FailureOr<KernelSchedule::Block> KernelSchedule::cacheWrite(Block handle, StringRef scope) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  BlockOp block = *found;
  std::string title = "cache_write " + nameOf(handle) + ": ";
  if (!isScope(scope))
    return refuse(title + "expected a scope other than global, got '" + scope + "'");
  llvm::SetVector<Value> written;
  for (const Access &access : accessesIn(block))
    if (access.isStore())
      written.insert(access.buffer());
  if (written.size() != 1)
    return refuse(title + "the block '" + block.getName() + "' writes " + Twine(written.size()) +
                  " buffers, expected one");
  Value buffer = written.front();
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
  record("cache_write", nameOf(result), {nameOf(handle), quoted(scope)});
  return result;
}

LogicalResult KernelSchedule::setScope(Block handle, StringRef scope) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  std::string title = "set_scope " + nameOf(handle) + ": ";
  if (!isScope(scope))
    return refuse(title + "expected a scope other than global, got '" + scope + "'");
  for (const Access &access : accessesIn(*found)) {
    if (!access.isStore())
      continue;
    if (!access.buffer().getDefiningOp())
      return refuse(title + "the block writes a buffer of the kernel's caller; cache_write it before");
    auto type = cast<BufferType>(access.buffer().getType());
    access.buffer().setType(BufferType::get(type.getContext(), type.extents(), type.getElementType(), scope));
    record("set_scope", {}, {nameOf(handle), quoted(scope)});
    return success();
  }
  return refuse(title + "the block writes nothing");
}
