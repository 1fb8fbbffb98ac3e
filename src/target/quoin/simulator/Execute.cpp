//===- Execute.cpp - the function of an instruction's family ---------------===//

#include "target/quoin/simulator/Execute.h"

#include "llvm/Support/ErrorHandling.h"

namespace perpend::quoin {

Result execute(const Call &call) {
  switch (call.instruction.info().family) {
  case 'A':
  case 'B':
  case 'C':
    return executeMove(call);
  case 'D':
    return executeFeed(call);
  case 'E':
    return executeMatrix(call);
  case 'F':
    return executeUnary(call);
  case 'G':
    return executeBinary(call);
  case 'H':
    return executeConvert(call);
  case 'I':
    return executeReduce(call);
  case 'J':
    return executeLayout(call);
  case 'K':
    return executeWindow(call);
  default:
    llvm_unreachable("control and scalar code are not executed by a tensor unit");
  }
}

} // namespace perpend::quoin
