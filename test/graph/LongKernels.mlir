// Kernels have so little code that compilers, which take the square of its length, are done soon: what goes on is another
// kernel, which reads what the one before has stored. That holds for chains of rows, too.
// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck %s
// RUN: perpend check %s --against interpreter --symbol n=0
// RUN: perpend check %s --against interpreter --symbol n=1
// RUN: perpend check %s --against interpreter --symbol n=13

#n8 = #graph.shape<["n", 8]>
#n = #graph.shape<["n"]>

// CHECK-LABEL: func.func @main
// CHECK: %[[B:.*]] = graph.call_kernel @[[TWO:.*]](%arg0)
// CHECK: %[[D:.*]] = graph.call_kernel @[[TWO]](%[[B]])
// CHECK: %[[ROWS:.*]] = graph.call_kernel @[[REST:.*]](%[[D]])
// CHECK: return %[[ROWS]]
// CHECK: func.func private @[[REST]]
// CHECK: graph.reduce max
func.func @main(%a: tensor<?x8xf32, #n8> {graph.name = "a"}) -> tensor<?x8xf32, #n8> {
  %b = graph.map (%a) : (tensor<?x8xf32, #n8>) -> tensor<?x8xf32, #n8> {
  ^bb0(%x: f32):
    %s0 = math.sin %x : f32
    %s1 = math.sin %s0 : f32
    %s2 = math.sin %s1 : f32
    %s3 = math.sin %s2 : f32
    %s4 = math.sin %s3 : f32
    %s5 = math.sin %s4 : f32
    %s6 = math.sin %s5 : f32
    %s7 = math.sin %s6 : f32
    %s8 = math.sin %s7 : f32
    %s9 = math.sin %s8 : f32
    %s10 = math.sin %s9 : f32
    %s11 = math.sin %s10 : f32
    %s12 = math.sin %s11 : f32
    %s13 = math.sin %s12 : f32
    %s14 = math.sin %s13 : f32
    graph.yield %s14 : f32
  }
  %c = graph.map (%b) : (tensor<?x8xf32, #n8>) -> tensor<?x8xf32, #n8> {
  ^bb0(%x: f32):
    %s0 = math.sin %x : f32
    %s1 = math.sin %s0 : f32
    %s2 = math.sin %s1 : f32
    %s3 = math.sin %s2 : f32
    %s4 = math.sin %s3 : f32
    %s5 = math.sin %s4 : f32
    %s6 = math.sin %s5 : f32
    %s7 = math.sin %s6 : f32
    %s8 = math.sin %s7 : f32
    %s9 = math.sin %s8 : f32
    %s10 = math.sin %s9 : f32
    %s11 = math.sin %s10 : f32
    %s12 = math.sin %s11 : f32
    %s13 = math.sin %s12 : f32
    %s14 = math.sin %s13 : f32
    graph.yield %s14 : f32
  }
  %d = graph.map (%c) : (tensor<?x8xf32, #n8>) -> tensor<?x8xf32, #n8> {
  ^bb0(%x: f32):
    %s0 = math.sin %x : f32
    %s1 = math.sin %s0 : f32
    %s2 = math.sin %s1 : f32
    %s3 = math.sin %s2 : f32
    %s4 = math.sin %s3 : f32
    %s5 = math.sin %s4 : f32
    %s6 = math.sin %s5 : f32
    %s7 = math.sin %s6 : f32
    %s8 = math.sin %s7 : f32
    %s9 = math.sin %s8 : f32
    %s10 = math.sin %s9 : f32
    %s11 = math.sin %s10 : f32
    %s12 = math.sin %s11 : f32
    %s13 = math.sin %s12 : f32
    %s14 = math.sin %s13 : f32
    graph.yield %s14 : f32
  }
  %e = graph.map (%d) : (tensor<?x8xf32, #n8>) -> tensor<?x8xf32, #n8> {
  ^bb0(%x: f32):
    %s0 = math.sin %x : f32
    %s1 = math.sin %s0 : f32
    %s2 = math.sin %s1 : f32
    %s3 = math.sin %s2 : f32
    %s4 = math.sin %s3 : f32
    %s5 = math.sin %s4 : f32
    %s6 = math.sin %s5 : f32
    %s7 = math.sin %s6 : f32
    %s8 = math.sin %s7 : f32
    %s9 = math.sin %s8 : f32
    %s10 = math.sin %s9 : f32
    %s11 = math.sin %s10 : f32
    %s12 = math.sin %s11 : f32
    %s13 = math.sin %s12 : f32
    %s14 = math.sin %s13 : f32
    graph.yield %s14 : f32
  }
  %f = graph.map (%e) : (tensor<?x8xf32, #n8>) -> tensor<?x8xf32, #n8> {
  ^bb0(%x: f32):
    %s0 = math.sin %x : f32
    %s1 = math.sin %s0 : f32
    %s2 = math.sin %s1 : f32
    %s3 = math.sin %s2 : f32
    %s4 = math.sin %s3 : f32
    %s5 = math.sin %s4 : f32
    %s6 = math.sin %s5 : f32
    %s7 = math.sin %s6 : f32
    %s8 = math.sin %s7 : f32
    %s9 = math.sin %s8 : f32
    %s10 = math.sin %s9 : f32
    %s11 = math.sin %s10 : f32
    %s12 = math.sin %s11 : f32
    %s13 = math.sin %s12 : f32
    %s14 = math.sin %s13 : f32
    graph.yield %s14 : f32
  }
  %0 = graph.reduce max %f dims [1] : tensor<?x8xf32, #n8> -> tensor<?xf32, #n>
  %1 = graph.broadcast %0 dims [0] : tensor<?xf32, #n> -> tensor<?x8xf32, #n8>
  %2 = graph.map (%f, %1) : (tensor<?x8xf32, #n8>, tensor<?x8xf32, #n8>) -> tensor<?x8xf32, #n8> {
  ^bb0(%x: f32, %y: f32):
    %s = arith.subf %x, %y : f32
    graph.yield %s : f32
  }
  return %2 : tensor<?x8xf32, #n8>
}
