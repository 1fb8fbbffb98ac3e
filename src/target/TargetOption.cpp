//===- TargetOption.cpp - a machine as the option of a pass ---------------===//

#include "target/TargetOption.h"

using namespace llvm;
using perpend::target::TargetInfo;

TargetInfo perpend::target::defaultTarget() { return cantFail(resolveTarget("x86-64-v4")); }

bool cl::parser<TargetInfo>::parse(Option &option, StringRef, StringRef text, TargetInfo &target) {
  Expected<TargetInfo> resolved = perpend::target::resolveTarget(text);
  if (!resolved)
    return option.error(toString(resolved.takeError()));
  target = *resolved;
  return false;
}

void cl::parser<TargetInfo>::printOptionDiff(const Option &option, const TargetInfo &target, const OptVal &,
                                             size_t width) const {
  printOptionName(option, width);
  outs() << "= " << target.name << "\n";
}

void cl::parser<TargetInfo>::anchor() {}
