//===- TargetOption.cpp - a machine as the option of a pass ---------------===//

#include "target/TargetOption.h"
#include "target/TargetInfo.h"

using namespace llvm;
using perpend::target::Machine;

Machine perpend::target::defaultTarget() { return cantFail(resolveTarget("x86-64-v4")); }

bool cl::parser<Machine>::parse(Option &option, StringRef, StringRef text, Machine &target) {
  Expected<perpend::target::TargetInfo> resolved = perpend::target::resolveTarget(text);
  if (!resolved)
    return option.error(toString(resolved.takeError()));
  target = *resolved;
  return false;
}

void cl::parser<Machine>::printOptionDiff(const Option &option, const Machine &target, const OptVal &,
                                          size_t width) const {
  printOptionName(option, width);
  outs() << "= " << target.name << "\n";
}

void cl::parser<Machine>::anchor() {}
