//===- TargetOption.h - a machine as the option of a pass -------*- C++ -*-===//
//
// Passes that depend on the machine have one option, `target`, which holds the whole machine: a new property of
// machines needs no new option. In the text of a pipeline the option is the name of a target, and features that are
// added to it: `tile-schedule-blocks{target=x86-64-v3,+avxvnni}`. So tests can use machines that Targets.def does not
// list.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_TARGETOPTION_H
#define PERPEND_TARGET_TARGETOPTION_H

#include "target/Machine.h"

#include "llvm/Support/CommandLine.h"

namespace perpend::target {
/// The default of a pass's option: a level that many machines offer, never the host.
Machine defaultTarget();
} // namespace perpend::target

template <> class llvm::cl::parser<perpend::target::Machine> : public basic_parser<perpend::target::Machine> {
public:
  using basic_parser::basic_parser;

  /// Returns true after an error, as LLVM's parsers do.
  bool parse(Option &option, StringRef name, StringRef text, perpend::target::Machine &target);
  static void print(raw_ostream &out, const perpend::target::Machine &target) { out << target.name; }
  void printOptionDiff(const Option &option, const perpend::target::Machine &target, const OptVal &defaultTarget,
                       size_t width) const;
  StringRef getValueName() const override { return "target"; }
  void anchor() override;
};

#endif
