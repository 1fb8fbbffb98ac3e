//===- LinkWasm.h - Objects to modules of WebAssembly -----------*- C++ -*-===//
#ifndef PERPEND_TARGET_LINKWASM_H
#define PERPEND_TARGET_LINKWASM_H

#include "target/Link.h"

namespace perpend::target {

/// What linkSharedLibrary does for an architecture whose objects are WebAssembly: one module, which contains the C
/// library and exports the functions of runtime/wasm/Exports.def that it has.
llvm::Error linkWasmModule(const LinkRequest &request, const TargetInfo &target);

/// How an object of WebAssembly begins and ends that has constant bytes under a symbol. The beginning has headerBytes.
std::string wasmDataHeader(uint64_t byteCount, uint64_t headerBytes);
std::string wasmDataTrailer(llvm::StringRef symbol, uint64_t byteCount, uint64_t alignment);

/// Engines refuse larger modules.
constexpr uint64_t mostWasmBytes = uint64_t(1) << 30;

} // namespace perpend::target

#endif
