//===- Records.h - what calls of scalar code are given ----------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_RECORDS_H
#define PERPEND_TARGET_QUOIN_COMPILE_RECORDS_H

#include "target/quoin/Program.h"
#include "target/quoin/compile/MainProgram.h"

#include <map>
#include <optional>

namespace perpend::quoin {

/// A function of scalar code, and the address in DDR of the record that it reads.
struct ScalarCall {
  uint64_t entry = 0, record = 0;
};

/// Places data of a program in DDR, behind what main uses, one after the other: above all records of calls.
class Records {
public:
  Records(const MainProgram &main, Program &program) : end(main.end), main(main), program(program) {}

  ScalarCall copyCall(const Step &step);
  ScalarCall kernelCall(const Step &step);
  ScalarCall libraryCall(const Step &step);
  ScalarCall mainCall(const DynamicMain &dynamic);
  /// Comes before the first call of a library.
  ScalarCall beginCall();
  /// What calls share (struct Run of runtime/scalar/Run.h): its address.
  void placeRun();
  Range takeRange(uint64_t bytes);
  /// The address of a table of numbers.
  uint64_t tableAt(const Buffer &buffer);

  uint64_t end; ///< of DDR that is in use

private:
  Range reserve(llvm::StringRef name, uint64_t bytes);
  ScalarCall callOf(llvm::StringRef function, llvm::ArrayRef<uint64_t> record) {
    return {entryByte(function), place(record)};
  }
  /// The address of these words in DDR.
  uint64_t place(llvm::ArrayRef<uint64_t> words) {
    return placeBytes(llvm::StringRef(reinterpret_cast<const char *>(words.data()), words.size() * sizeof(uint64_t)));
  }
  uint64_t placeBytes(llvm::StringRef bytes);
  /// As the scalar core sees it.
  uint64_t placeText(llvm::StringRef text);
  uint64_t entryByte(llvm::StringRef name) const;

  const MainProgram &main;
  Program &program;
  std::optional<uint64_t> run;            ///< the address of what calls share
  std::map<std::string, uint64_t> tables; ///< bytes -> the address
};

} // namespace perpend::quoin

#endif
