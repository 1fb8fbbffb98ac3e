// Short rows that vectors do not divide: elements in vectors of 8, 4, and 2. Exponentials that are summed are kept first,
// and cheap reductions of rows below 16 are unrolled. Rows of whole vectors, and long ones, are left to LLVM.
// RUN: perpend inspect %s --schedules --target x86-64-v3 | FileCheck %s
// RUN: perpend check %s --against interpreter --target x86-64-v3
// RUN: perpend check %s --against interpreter --target x86-64

// CHECK: schedule @reduce_sub_exp_log
// CHECK: get_block "map"
// CHECK: get_loops %reduce
// CHECK-NEXT: unroll
// CHECK-NEXT: get_loops %map
// CHECK-NEXT: loop_partition %{{.*}}, [8, _]
// CHECK-COUNT-2: vectorize
// CHECK: get_loops %reduce_1
// CHECK-NEXT: unroll
// CHECK-NEXT: get_loops %map_1
// CHECK-NEXT: loop_partition %{{.*}}, [8, _]
// CHECK-COUNT-2: vectorize

// CHECK: schedule @reduce_sub_exp_div
// CHECK-NOT: unroll
// CHECK: loop_partition %{{.*}}, [24, _]
// CHECK: loop_partition %{{.*}}, [4, _]
// CHECK: split %{{.*}}, [_, 2]
// CHECK-NOT: unroll

// CHECK: schedule @reduce_sub_exp_div
// CHECK-NOT: loop_partition
// CHECK-NOT: unroll
// CHECK: parallel
// CHECK: schedule
func.func @main(%x0: tensor<40x12xf32> {graph.name = "x0"}, %x1: tensor<40x31xf32> {graph.name = "x1"}, %x2: tensor<40x16xf32> {graph.name = "x2"}, %x3: tensor<40x12xf32> {graph.name = "x3"})
    -> (tensor<40x12xf32>, tensor<40x31xf32>, tensor<40x16xf32>, tensor<40x12xf32>) {
  %m0 = graph.reduce max %x0 dims [1] : tensor<40x12xf32> -> tensor<40xf32>
  %mc0 = graph.reshape %m0 : tensor<40xf32> -> tensor<40x1xf32>
  %mcb0 = graph.broadcast %mc0 dims [0, 1] : tensor<40x1xf32> -> tensor<40x12xf32>
  %d0 = graph.map (%x0, %mcb0) : (tensor<40x12xf32>, tensor<40x12xf32>) -> tensor<40x12xf32> {
  ^bb0(%p: f32, %q: f32):
    %v = arith.subf %p, %q : f32
    graph.yield %v : f32
  }
  %e0 = graph.map (%d0) : (tensor<40x12xf32>) -> tensor<40x12xf32> {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    graph.yield %v : f32
  }
  %s0 = graph.reduce sum %e0 dims [1] : tensor<40x12xf32> -> tensor<40xf32>
  %sc0 = graph.reshape %s0 : tensor<40xf32> -> tensor<40x1xf32>
  %scb0 = graph.broadcast %sc0 dims [0, 1] : tensor<40x1xf32> -> tensor<40x12xf32>
  %y0 = graph.map (%d0, %scb0) : (tensor<40x12xf32>, tensor<40x12xf32>) -> tensor<40x12xf32> {
  ^bb0(%p: f32, %q: f32):
    %l = math.log %q : f32
    %v = arith.subf %p, %l : f32
    graph.yield %v : f32
  }
  %m1 = graph.reduce max %x1 dims [1] : tensor<40x31xf32> -> tensor<40xf32>
  %mc1 = graph.reshape %m1 : tensor<40xf32> -> tensor<40x1xf32>
  %mcb1 = graph.broadcast %mc1 dims [0, 1] : tensor<40x1xf32> -> tensor<40x31xf32>
  %d1 = graph.map (%x1, %mcb1) : (tensor<40x31xf32>, tensor<40x31xf32>) -> tensor<40x31xf32> {
  ^bb0(%p: f32, %q: f32):
    %v = arith.subf %p, %q : f32
    graph.yield %v : f32
  }
  %e1 = graph.map (%d1) : (tensor<40x31xf32>) -> tensor<40x31xf32> {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    graph.yield %v : f32
  }
  %s1 = graph.reduce sum %e1 dims [1] : tensor<40x31xf32> -> tensor<40xf32>
  %sc1 = graph.reshape %s1 : tensor<40xf32> -> tensor<40x1xf32>
  %scb1 = graph.broadcast %sc1 dims [0, 1] : tensor<40x1xf32> -> tensor<40x31xf32>
  %y1 = graph.map (%e1, %scb1) : (tensor<40x31xf32>, tensor<40x31xf32>) -> tensor<40x31xf32> {
  ^bb0(%p: f32, %q: f32):
    %v = arith.divf %p, %q : f32
    graph.yield %v : f32
  }
  %m2 = graph.reduce max %x2 dims [1] : tensor<40x16xf32> -> tensor<40xf32>
  %mc2 = graph.reshape %m2 : tensor<40xf32> -> tensor<40x1xf32>
  %mcb2 = graph.broadcast %mc2 dims [0, 1] : tensor<40x1xf32> -> tensor<40x16xf32>
  %d2 = graph.map (%x2, %mcb2) : (tensor<40x16xf32>, tensor<40x16xf32>) -> tensor<40x16xf32> {
  ^bb0(%p: f32, %q: f32):
    %v = arith.subf %p, %q : f32
    graph.yield %v : f32
  }
  %e2 = graph.map (%d2) : (tensor<40x16xf32>) -> tensor<40x16xf32> {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    graph.yield %v : f32
  }
  %s2 = graph.reduce sum %e2 dims [1] : tensor<40x16xf32> -> tensor<40xf32>
  %sc2 = graph.reshape %s2 : tensor<40xf32> -> tensor<40x1xf32>
  %scb2 = graph.broadcast %sc2 dims [0, 1] : tensor<40x1xf32> -> tensor<40x16xf32>
  %y2 = graph.map (%e2, %scb2) : (tensor<40x16xf32>, tensor<40x16xf32>) -> tensor<40x16xf32> {
  ^bb0(%p: f32, %q: f32):
    %v = arith.divf %p, %q : f32
    graph.yield %v : f32
  }
  %m3 = graph.reduce max %x3 dims [1] : tensor<40x12xf32> -> tensor<40xf32>
  %mc3 = graph.reshape %m3 : tensor<40xf32> -> tensor<40x1xf32>
  %mcb3 = graph.broadcast %mc3 dims [0, 1] : tensor<40x1xf32> -> tensor<40x12xf32>
  %d3 = graph.map (%x3, %mcb3) : (tensor<40x12xf32>, tensor<40x12xf32>) -> tensor<40x12xf32> {
  ^bb0(%p: f32, %q: f32):
    %v = arith.subf %p, %q : f32
    graph.yield %v : f32
  }
  %e3 = graph.map (%d3) : (tensor<40x12xf32>) -> tensor<40x12xf32> {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    graph.yield %v : f32
  }
  %s3 = graph.reduce sum %e3 dims [1] : tensor<40x12xf32> -> tensor<40xf32>
  %sc3 = graph.reshape %s3 : tensor<40xf32> -> tensor<40x1xf32>
  %scb3 = graph.broadcast %sc3 dims [0, 1] : tensor<40x1xf32> -> tensor<40x12xf32>
  %y3 = graph.map (%e3, %scb3) : (tensor<40x12xf32>, tensor<40x12xf32>) -> tensor<40x12xf32> {
  ^bb0(%p: f32, %q: f32):
    %v = arith.divf %p, %q : f32
    graph.yield %v : f32
  }
  return %y0, %y1, %y2, %y3 : tensor<40x12xf32>, tensor<40x31xf32>, tensor<40x16xf32>, tensor<40x12xf32>
}
