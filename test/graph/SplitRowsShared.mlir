// The first band of an image has the border above, the last one that below, and those between have none: they run the
// same kernels. What windows read of the rows beside a band overlaps.
// RUN: perpend-opt --graph-fuse-kernels --graph-split-batches=near-bytes=12500 %s | FileCheck %s
// RUN: same-values %s "graph-fuse-kernels,graph-split-batches{near-bytes=12500}"

// CHECK-LABEL: func.func @main
// CHECK: graph.slice %{{.*}} <[0, 0, 0]> {{.*}} -> tensor<10x16x8xf32>
// CHECK: graph.call_kernel @[[FIRSTA:[a-z0-9_]+]]({{.*}} -> tensor<1x9x16x16xf32>
// CHECK: graph.call_kernel @[[FIRSTB:[a-z0-9_]+]]({{.*}} -> tensor<1x8x16x8xf32>
// CHECK: graph.slice %{{.*}} <[6, 0, 0]> {{.*}} -> tensor<12x16x8xf32>
// CHECK: graph.call_kernel @[[MIDDLEA:[a-z0-9_]+]]({{.*}} -> tensor<1x10x16x16xf32>
// CHECK: graph.call_kernel @[[MIDDLEB:[a-z0-9_]+]]({{.*}} -> tensor<1x8x16x8xf32>
// CHECK: graph.slice %{{.*}} <[14, 0, 0]> {{.*}} -> tensor<12x16x8xf32>
// CHECK: graph.call_kernel @[[MIDDLEA]]({{.*}} -> tensor<1x10x16x16xf32>
// CHECK: graph.call_kernel @[[MIDDLEB]]({{.*}} -> tensor<1x8x16x8xf32>
// CHECK: graph.slice %{{.*}} <[22, 0, 0]> {{.*}} -> tensor<10x16x8xf32>
// CHECK: graph.call_kernel @[[LASTA:[a-z0-9_]+]]({{.*}} -> tensor<1x9x16x16xf32>
// CHECK: graph.call_kernel @[[LASTB:[a-z0-9_]+]]({{.*}} -> tensor<1x8x16x8xf32>
// CHECK-NOT: graph.call_kernel
// CHECK: graph.concat {{.*}} {graph.assembled} : (tensor<8x16x8xf32>, tensor<8x16x8xf32>, tensor<8x16x8xf32>, tensor<8x16x8xf32>)
// CHECK: func.func private @[[FIRSTA]](
// CHECK-NEXT: graph.conv {{.*}} pad [1, 1] {{.*}} : (tensor<1x10x16x8xf32>, {{.*}}) -> tensor<1x9x16x16xf32>
// CHECK: func.func private @[[MIDDLEA]](
// CHECK-NEXT: graph.conv {{.*}} pad [0, 1] {{.*}} : (tensor<1x12x16x8xf32>, {{.*}}) -> tensor<1x10x16x16xf32>
// CHECK: func.func private @[[LASTA]](
// CHECK-NEXT: graph.conv {{.*}} pad [0, 1] {{.*}} : (tensor<1x10x16x8xf32>, {{.*}}) -> tensor<1x9x16x16xf32>
// CHECK: func.func private @[[FIRSTB]](
// CHECK-NEXT: graph.conv {{.*}} pad [1, 1] {{.*}} : (tensor<1x9x16x16xf32>, {{.*}}) -> tensor<1x8x16x8xf32>
// CHECK: func.func private @[[MIDDLEB]](
// CHECK-NEXT: graph.conv {{.*}} pad [0, 1] {{.*}} : (tensor<1x10x16x16xf32>, {{.*}}) -> tensor<1x8x16x8xf32>
// CHECK: func.func private @[[LASTB]](
// CHECK-NEXT: graph.conv {{.*}} pad [0, 1] {{.*}} : (tensor<1x9x16x16xf32>, {{.*}}) -> tensor<1x8x16x8xf32>
func.func @main(%x: tensor<1x32x16x8xf32>, %v: tensor<3x3x8x16xf32>, %w: tensor<3x3x16x8xf32>) -> tensor<1x32x16x8xf32> {
  %a = graph.conv %x, %v strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last : (tensor<1x32x16x8xf32>, tensor<3x3x8x16xf32>) -> tensor<1x32x16x16xf32>
  %b = graph.conv %a, %w strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last : (tensor<1x32x16x16xf32>, tensor<3x3x16x8xf32>) -> tensor<1x32x16x8xf32>
  return %b : tensor<1x32x16x8xf32>
}
