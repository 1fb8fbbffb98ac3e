//===- Wasm32.h - WebAssembly with 32-bit addresses -------------*- C++ -*-===//
#ifndef PERPEND_TARGET_CPU_WASM32_WASM32_H
#define PERPEND_TARGET_CPU_WASM32_WASM32_H

#include "target/cpu/Architecture.h"

namespace perpend::target {
const Architecture &wasm32();
} // namespace perpend::target

#endif
