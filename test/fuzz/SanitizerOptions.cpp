//===- SanitizerOptions.cpp - what the fuzzers tell AddressSanitizer ------===//
//
// LLVM's arena poisons its memory where it is inlined into our instrumented
// files, and the LLVM that we link, which is not instrumented, writes there.
//
//===----------------------------------------------------------------------===//

extern "C" __attribute__((visibility("default"), used)) const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}
