//===- X86.cpp - processors of x86-64 -------------------------------------===//
#include "target/cpu/x86/X86.h"

#include "llvm/Support/TargetSelect.h"

using namespace llvm;

namespace perpend::target {

static void initialise() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
}

const Architecture &x86() {
  static const Architecture architecture = {Triple::x86_64,
                                            "elf_x86_64",
                                            "/lib64/ld-linux-x86-64.so.2",
                                            x86Start,
                                            /*halfConversions=*/"f16c",
                                            x86Functions(),
                                            initialise};
  return architecture;
}

} // namespace perpend::target
