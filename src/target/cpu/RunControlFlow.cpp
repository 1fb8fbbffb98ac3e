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
