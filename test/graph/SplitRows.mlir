// Where near memory does not hold what lies between kernels for one image, they run for some of its rows, and compute
// twice what windows read of the rows beside them.
// RUN: perpend-opt --graph-fuse-kernels --graph-split-batches=near-bytes=20000 %s | FileCheck %s
// RUN: perpend-opt --graph-fuse-kernels --graph-split-batches=near-bytes=1000000 %s | FileCheck --check-prefix=WHOLE %s
// RUN: same-values %s "graph-fuse-kernels,graph-split-batches{near-bytes=20000}"
// RUN: same-values %s "graph-fuse-kernels,graph-split-batches{near-bytes=20000},tile-build-blocks,tile-schedule-blocks{target=znver5},tile-flatten-blocks,host-plan-memory"

// WHOLE-LABEL: func.func @main
// WHOLE-NOT: graph.slice
// WHOLE: return

// CHECK-LABEL: func.func @main
// CHECK: graph.slice {{.*}} <[0, 0, 0]> {{.*}} : tensor<62x16x8xf32> -> tensor<13x16x8xf32>
// CHECK: graph.call_kernel @[[A0:[a-z0-9_]+]]({{.*}} -> tensor<1x12x16x16xf32>
// CHECK: graph.call_kernel @[[B0:[a-z0-9_]+]]({{.*}} -> tensor<1x10x16x16xf32>
// CHECK: graph.slice {{.*}} <[7, 0, 0]> {{.*}} -> tensor<16x16x8xf32>
// CHECK: graph.call_kernel @[[A1:[a-z0-9_]+]]({{.*}} -> tensor<1x14x16x16xf32>
// CHECK: graph.call_kernel @[[B1:[a-z0-9_]+]]({{.*}} -> tensor<1x10x16x16xf32>
// CHECK: graph.slice {{.*}} <[17, 0, 0]> {{.*}} -> tensor<14x16x8xf32>
// CHECK: graph.call_kernel @[[A2:[a-z0-9_]+]]({{.*}} -> tensor<1x13x16x16xf32>
// CHECK: graph.call_kernel @[[B2:[a-z0-9_]+]]({{.*}} -> tensor<1x11x16x16xf32>
// The second image runs the same kernels.
// CHECK: graph.slice {{.*}} <[31, 0, 0]> {{.*}} -> tensor<13x16x8xf32>
// CHECK: graph.call_kernel @[[A0]](
// CHECK: graph.call_kernel @[[B0]](
// CHECK: graph.call_kernel @[[A1]](
// CHECK: graph.call_kernel @[[B1]](
// CHECK: graph.call_kernel @[[A2]](
// CHECK: graph.call_kernel @[[B2]](
// CHECK: graph.concat {{.*}} {graph.assembled} {{.*}} -> tensor<62x16x16xf32>
// A border above is only in front of the first band.
// CHECK: func.func private @[[A0]](
// CHECK-NEXT: graph.conv {{.*}} pad [1, 1]
// CHECK: func.func private @[[A1]](
// CHECK-NEXT: graph.conv {{.*}} pad [0, 1]
// CHECK: func.func private @[[A2]](
// CHECK-NEXT: graph.conv {{.*}} pad [0, 1]
// CHECK: func.func private @[[B0]](
// CHECK-NEXT: graph.conv {{.*}} pad [2, 2]
// CHECK: func.func private @[[B1]](
// CHECK-NEXT: graph.conv {{.*}} pad [0, 2]
// CHECK: func.func private @[[B2]](
// CHECK-NEXT: graph.conv {{.*}} pad [0, 2]
func.func @main(%x: tensor<2x31x16x8xf32>, %v: tensor<3x3x8x16xf32>, %w: tensor<3x3x16x16xf32>, %b: tensor<16xf32>) -> tensor<2x8x8x16xf32> {
  %a = graph.conv %x, %v strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last : (tensor<2x31x16x8xf32>, tensor<3x3x8x16xf32>) -> tensor<2x31x16x16xf32>
  %c = graph.broadcast %b dims [3] : tensor<16xf32> -> tensor<2x31x16x16xf32>
  %d = graph.map (%a, %c) : (tensor<2x31x16x16xf32>, tensor<2x31x16x16xf32>) -> tensor<2x31x16x16xf32> {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    graph.yield %s : f32
  }
  %e = graph.conv %d, %w strides [1, 1] pad [2, 2] dilations [2, 2] input_dilation [1, 1] groups 1 channels_last : (tensor<2x31x16x16xf32>, tensor<3x3x16x16xf32>) -> tensor<2x31x16x16xf32>
  %f = graph.map (%d, %e) : (tensor<2x31x16x16xf32>, tensor<2x31x16x16xf32>) -> tensor<2x31x16x16xf32> {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    graph.yield %s : f32
  }
  %g = graph.window_reduce max %f window [1, 3, 3, 1] strides [1, 2, 2, 1] pad [0, 1, 1, 0] dilations [1, 1, 1, 1] : tensor<2x31x16x16xf32> -> tensor<2x16x8x16xf32>
  %h = graph.conv %g, %w strides [2, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last : (tensor<2x16x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<2x8x8x16xf32>
  return %h : tensor<2x8x8x16xf32>
}
