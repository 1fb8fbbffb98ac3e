// One row reads its weights once: in half the bytes, where they are those of f16 or bf16. Many rows are bound by arithmetic.
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v3 %s | FileCheck %s
// RUN: perpend-opt --tile-pack-operands=target=x86-64 %s | FileCheck %s --check-prefix=PLAIN

// CHECK-LABEL: func.func @one_row
// CHECK: tile.matmul %{{.*}}, %{{.*}} : (tensor<1x512xf32>, tensor<{{[0-9]+}}x512x{{[0-9]+}}xf16>) -> tensor<1x1024xf32>
// Without F16C, f16 is converted once; without a size of caches, nothing says that half the bytes of bf16 are less time.
// PLAIN-LABEL: func.func @one_row
// PLAIN: tile.matmul %{{.*}}, %{{.*}} : (tensor<1x512xf32>, tensor<{{[0-9]+}}x512x{{[0-9]+}}xf32>) -> tensor<1x1024xf32>
func.func @one_row(%x: tensor<1x512xf32>) -> tensor<1x1024xf32> {
  %w = graph.constant dense<0.5> : tensor<512x1024xf16> : tensor<512x1024xf16>
  %wide = graph.map (%w) : (tensor<512x1024xf16>) -> tensor<512x1024xf32> {
  ^bb0(%n: f16):
    %m = arith.extf %n : f16 to f32
    graph.yield %m : f32
  }
  %y = graph.contract %x, %wide batch [] x [] over [1] x [0] : (tensor<1x512xf32>, tensor<512x1024xf32>) -> tensor<1x1024xf32>
  return %y : tensor<1x1024xf32>
}

// CHECK-LABEL: func.func @one_row_of_bf16
// CHECK: tile.matmul %{{.*}}, %{{.*}} : (tensor<1x512xf32>, tensor<{{[0-9]+}}x512x{{[0-9]+}}xbf16>) -> tensor<1x1024xf32>
// PLAIN-LABEL: func.func @one_row_of_bf16
// PLAIN: tile.matmul %{{.*}}, %{{.*}} : (tensor<1x512xf32>, tensor<{{[0-9]+}}x512x{{[0-9]+}}xf32>) -> tensor<1x1024xf32>
func.func @one_row_of_bf16(%x: tensor<1x512xf32>) -> tensor<1x1024xf32> {
  %w = graph.constant dense<0.5> : tensor<512x1024xbf16> : tensor<512x1024xbf16>
  %wide = graph.map (%w) : (tensor<512x1024xbf16>) -> tensor<512x1024xf32> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %y = graph.contract %x, %wide batch [] x [] over [1] x [0] : (tensor<1x512xf32>, tensor<512x1024xf32>) -> tensor<1x1024xf32>
  return %y : tensor<1x1024xf32>
}

// CHECK-LABEL: func.func @many_rows
// CHECK: tile.matmul %{{.*}}, %{{.*}} : (tensor<512x512xf32>, tensor<{{[0-9]+}}x512x{{[0-9]+}}xf32>)
func.func @many_rows(%x: tensor<512x512xf32>, %w: tensor<512x1024xf16>) -> tensor<512x1024xf32> {
  %wide = graph.map (%w) : (tensor<512x1024xf16>) -> tensor<512x1024xf32> {
  ^bb0(%n: f16):
    %m = arith.extf %n : f16 to f32
    graph.yield %m : f32
  }
  %y = graph.contract %x, %wide batch [] x [] over [1] x [0] : (tensor<512x512xf32>, tensor<512x1024xf32>) -> tensor<512x1024xf32>
  return %y : tensor<512x1024xf32>
}
