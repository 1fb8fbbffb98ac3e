//===- RunControlFlow.cpp - branches and loops of perpend_run -------------===//

#include "target/cpu/RunEmitter.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;

void RunEmitter::emitIf(host::IfOp op) {
  Block *otherwise = f.function.addBlock(), *after = f.function.addBlock();
  f.proceedIf(f.compare(arith::CmpIPredicate::ne, evaluate(op.getCondition()), f.integer(0)), otherwise);
  for (Region *region : {&op.getThen(), &op.getOtherwise()}) {
    emitBlock(region->front());
    f.builder.create<cf::BranchOp>(f.loc, after);
    f.builder.setInsertionPointToStart(region == &op.getThen() ? otherwise : after);
  }
}

/// The header's arguments are the iteration and what is carried.
void RunEmitter::emitLoop(host::LoopOp op) {
  OpBuilder &b = f.builder;
  Value limit = op.getBelow() ? evaluate(*op.getBelow()) : Value();
  SmallVector<Value> initial{f.integer(0)};
  for (Value place : op.getInitial())
    initial.push_back(addressOf(place));
  Block *header = f.function.addBlock(), *after = f.function.addBlock();
  header->addArguments(TypeRange(ValueRange(initial)), SmallVector<Location>(initial.size(), f.loc));
  b.create<cf::BranchOp>(f.loc, header, initial);
  b.setInsertionPointToStart(header);
  Value iteration = header->getArgument(0);
  setSymbol(op.getIteration(), iteration);
  for (auto [argument, result, address] :
       llvm::zip_equal(op.getBody().getArguments(), op.getResults(), header->getArguments().drop_front())) {
    addresses[argument] = address;
    addresses[result] = address;
  }
  Value goesOn;
  if (op.getCondition())
    goesOn = f.compare(arith::CmpIPredicate::ne, evaluate(*op.getCondition()), f.integer(0));
  if (limit) {
    Value isInside = f.compare(arith::CmpIPredicate::slt, iteration, limit);
    goesOn = goesOn ? b.create<arith::AndIOp>(f.loc, goesOn, isInside).getResult() : isInside;
  }
  if (goesOn)
    f.proceedIf(goesOn, after);
  emitBlock(op.getBody().front());
  SmallVector<Value> next{b.create<arith::AddIOp>(f.loc, iteration, f.integer(1))};
  for (Value place : op.getBody().front().getTerminator()->getOperands())
    next.push_back(addressOf(place));
  b.create<cf::BranchOp>(f.loc, header, next);
  b.setInsertionPointToStart(after);
}

/// Rows of a block go into a larger value, which is checked as a whole.
void RunEmitter::emitCopyRows(host::CopyRowsOp op) {
  OpBuilder &b = f.builder;
  Value source = addressOf(op.getSource()), target = addressOf(op.getTarget());
  Value count = evaluate(op.getCount()), offset = evaluate(op.getOffset()), distance = evaluate(op.getDistance());
  Value bytes = bytesOf(op.getSource().getType()), size = bytesOf(op.getTarget().getType());
  Value least = b.create<arith::MaxSIOp>(f.loc, count, f.integer(1));
  Value row = b.create<arith::DivSIOp>(f.loc, bytes, least);
  Value before = b.create<arith::MulIOp>(f.loc, b.create<arith::SubIOp>(f.loc, least, f.integer(1)), distance);
  Value end = b.create<arith::AddIOp>(f.loc, b.create<arith::AddIOp>(f.loc, offset, before), row);
  Value isBehind = f.compare(arith::CmpIPredicate::sge, offset, f.integer(0));
  Value isInside = b.create<arith::AndIOp>(f.loc, isBehind, f.compare(arith::CmpIPredicate::sle, end, size));
  Value isNothing = f.compare(arith::CmpIPredicate::eq, bytes, f.integer(0));
  check(b.create<arith::OrIOp>(f.loc, isNothing, isInside), op, "expected a value inside of its memory", end);
  emitFor(count, [&](Value number) {
    Value from = f.bytesAfter(source, b.create<arith::MulIOp>(f.loc, number, row));
    Value to = b.create<arith::AddIOp>(f.loc, offset, b.create<arith::MulIOp>(f.loc, number, distance));
    b.create<LLVM::MemcpyOp>(f.loc, f.bytesAfter(target, to), from, row, /*isVolatile=*/false);
  });
}

void RunEmitter::emitFor(Value count, llvm::function_ref<void(Value)> body) {
  OpBuilder &b = f.builder;
  Block *header = f.function.addBlock(), *after = f.function.addBlock();
  Value number = header->addArgument(f.i64, f.loc);
  b.create<cf::BranchOp>(f.loc, header, f.integer(0));
  b.setInsertionPointToStart(header);
  f.proceedIf(f.compare(arith::CmpIPredicate::slt, number, count), after);
  body(number);
  b.create<cf::BranchOp>(f.loc, header, b.create<arith::AddIOp>(f.loc, number, f.integer(1)).getResult());
  b.setInsertionPointToStart(after);
}

/// A position is inside if each of its numbers is, as an unsigned one, below the extent.
void RunEmitter::emitCopySlices(host::CopySlicesOp op) {
  OpBuilder &b = f.builder;
  Value source = addressOf(op.getSource()), positions = addressOf(op.getPositions()),
        target = addressOf(op.getTarget());
  auto element = cast<IntegerType>(op.getPositions().getType().getTensor().getElementType());
  Type stored = b.getIntegerType(element.getWidth());
  auto depth = static_cast<int64_t>(op.depth());
  Value slice = bytesOf(op.slice()), tuple = f.integer(depth * element.getWidth() / 8);
  Value count = b.create<arith::DivSIOp>(f.loc, bytesOf(op.getPositions().getType()), tuple);
  SmallVector<Value> extents;
  for (const graph::SymbolicInt &extent : op.getTarget().getType().extents())
    extents.push_back(evaluate(extent));
  emitFor(count, [&](Value number) {
    Value base = f.bytesAfter(positions, b.create<arith::MulIOp>(f.loc, number, tuple)), isInside;
    Value to = f.integer(0);
    for (int64_t dim = 0; dim < depth; ++dim) {
      Value position = f.load(stored, base, dim);
      if (element.getWidth() < 64)
        position = element.isUnsigned() ? b.create<arith::ExtUIOp>(f.loc, f.i64, position).getResult()
                                        : b.create<arith::ExtSIOp>(f.loc, f.i64, position).getResult();
      Value isHere = f.compare(arith::CmpIPredicate::ult, position, extents[dim]);
      isInside = isInside ? b.create<arith::AndIOp>(f.loc, isInside, isHere).getResult() : isHere;
      to = b.create<arith::AddIOp>(f.loc, b.create<arith::MulIOp>(f.loc, to, extents[dim]), position);
    }
    Block *next = f.function.addBlock();
    f.proceedIf(isInside, next);
    Value from = f.bytesAfter(source, b.create<arith::MulIOp>(f.loc, number, slice));
    b.create<LLVM::MemcpyOp>(f.loc, f.bytesAfter(target, b.create<arith::MulIOp>(f.loc, to, slice)), from, slice,
                             /*isVolatile=*/false);
    b.create<cf::BranchOp>(f.loc, next);
    b.setInsertionPointToStart(next);
  });
}
