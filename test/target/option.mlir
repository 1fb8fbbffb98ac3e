// A pass takes a machine by name; what Targets.def does not know is refused with the names it does.
// RUN: not perpend-opt %s --tile-schedule-blocks=target=znver55 2>&1 | FileCheck %s
// RUN: perpend-opt %s --pass-pipeline='builtin.module(tile-schedule-blocks{target=x86-64-v3,+avxvnni})' --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=TEXT

// CHECK: unknown target 'znver55'
// CHECK: hint: did you mean 'znver5'?
// TEXT: tile-schedule-blocks{target=x86-64-v3,+avxvnni}
