// RUN: perpend-opt --cpu-lower-bfloat16 %s | FileCheck %s

// CHECK-LABEL: llvm.func @choose
// CHECK-SAME: (%{{.*}}: i1, %[[POINTER:.*]]: !llvm.ptr)
llvm.func @choose(%condition: i1, %pointer: !llvm.ptr) {
  // CHECK: %[[ONE:.*]] = llvm.mlir.constant(16256 : i16) : i16
  %one = llvm.mlir.constant(1.0 : bf16) : bf16
  // CHECK: llvm.mlir.constant(dense<[16256, -16384]> : vector<2xi16>) : vector<2xi16>
  %two = llvm.mlir.constant(dense<[1.0, -2.0]> : vector<2xbf16>) : vector<2xbf16>
  // CHECK: llvm.getelementptr %[[POINTER]][1] : (!llvm.ptr) -> !llvm.ptr, i16
  %next = llvm.getelementptr %pointer[1] : (!llvm.ptr) -> !llvm.ptr, bf16
  // CHECK: llvm.cond_br %{{.*}}, ^[[BLOCK:.*]](%[[ONE]] : i16), ^{{.*}}
  llvm.cond_br %condition, ^store(%one : bf16), ^load
^load:
  // CHECK: %[[LOADED:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i16
  %loaded = llvm.load %next : !llvm.ptr -> bf16
  // CHECK: llvm.br ^[[BLOCK]](%[[LOADED]] : i16)
  llvm.br ^store(%loaded : bf16)
^store(%chosen: bf16):
  // CHECK: llvm.store %{{.*}} : i16, !llvm.ptr
  llvm.store %chosen, %pointer : bf16, !llvm.ptr
  llvm.return
}
