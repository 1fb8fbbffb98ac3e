//===- CortexM.h - microcontrollers of Arm ----------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_CPU_CORTEXM_CORTEXM_H
#define PERPEND_TARGET_CPU_CORTEXM_CORTEXM_H

#include "target/cpu/Architecture.h"

namespace perpend::target {
const Architecture &cortexm();
} // namespace perpend::target

#endif
