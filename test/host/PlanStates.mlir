// RUN: perpend-opt --graph-place-states --graph-fuse-kernels --graph-schedule-updates --tile-build-blocks --tile-schedule-blocks=target=znver5 --tile-flatten-blocks --host-plan-memory %s | FileCheck %s
// RUN: same-values %s "graph-place-states,graph-fuse-kernels,graph-schedule-updates,tile-build-blocks,tile-schedule-blocks{target=znver5},tile-flatten-blocks,host-plan-memory"

// CHECK-DAG: host.segment @w0 at {{[0-9]+}} = dense<1.000000e+00> : tensor<2xf32>
// CHECK-DAG: host.state @s0 "rows" : !host.place<[16, 4] x f32> growing 0
// CHECK-DAG: host.state @s1 "across" : !host.place<[3, 8] x f32>
// CHECK-DAG: host.state @s2 "mean" : !host.place<[2] x f32> initially @w0
// CHECK: host.entry @main(%[[X:.*]]: {{.*}}, %[[ROWS:.*]]: !host.place<[length, 4] x f32> {host.state = @s0}, %[[ACROSS:.*]]: !host.place<[3, 8] x f32> {host.state = @s1}, %[[MEAN:.*]]: !host.place<[2] x f32> {host.state = @s2},
// CHECK-SAME: %[[Y:.*]]: {{.*}}, %[[MORE:.*]]: !host.place<[length + n, 4] x f32> {host.in_place, host.state = @s0}, %[[WRITTEN:.*]]: !host.place<[3, 8] x f32> {host.in_place, host.state = @s1}, %[[NEXT:.*]]: !host.place<[2] x f32> {host.state = @s2})
// CHECK: host.extent "length" of %[[ROWS]] dim 0
// The kernel computes the rows where they belong.
// CHECK: %[[ROW:.*]] = host.place %[[MORE]] [16*length] : !host.place<[length + n, 4] x f32> to <[n, 4] x f32>
// CHECK: host.launch @{{.*}}(%[[X]]) -> (%[[ROW]])
// A block across is copied by rows.
// CHECK: host.copy_rows [3] of %{{.*}} to %[[WRITTEN]] at [20] every [32]
// CHECK-NOT: host.copy
// What is computed as a whole has a second memory.
// CHECK: host.launch @{{.*}}(%[[MEAN]]) -> (%[[NEXT]])
func.func @main(%x: tensor<?x4xf32, #graph.shape<["n", 4]>> {graph.name = "x"},
                %rows: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "rows", graph.capacity = 16 : i64},
                %across: tensor<3x8xf32> {graph.state = "across"},
                %mean: tensor<2xf32> {graph.state = "mean", graph.initial = dense<1.0> : tensor<2xf32>})
    -> (tensor<4xf32> {graph.name = "y"}, tensor<?x4xf32, #graph.shape<["length + n", 4]>> {graph.state = "rows"},
        tensor<3x8xf32> {graph.state = "across"}, tensor<2xf32> {graph.state = "mean"}) {
  %row = graph.map (%x) : (tensor<?x4xf32, #graph.shape<["n", 4]>>) -> tensor<?x4xf32, #graph.shape<["n", 4]>> {
  ^bb0(%a: f32):
    %v = arith.negf %a : f32
    graph.yield %v : f32
  }
  %more = graph.concat %rows, %row axis 0 : (tensor<?x4xf32, #graph.shape<["length", 4]>>, tensor<?x4xf32, #graph.shape<["n", 4]>>) -> tensor<?x4xf32, #graph.shape<["length + n", 4]>>
  %y = graph.reduce sum %more dims [0] : tensor<?x4xf32, #graph.shape<["length + n", 4]>> -> tensor<4xf32>
  %column = graph.slice %across <["0", "1"]> [1, 1] : tensor<3x8xf32> -> tensor<3x2xf32>
  %written = graph.update %across, %column at <["5"]> axis 1 : (tensor<3x8xf32>, tensor<3x2xf32>) -> tensor<3x8xf32>
  %next = graph.map (%mean) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: f32):
    %v = arith.addf %a, %a : f32
    graph.yield %v : f32
  }
  return %y, %more, %written, %next : tensor<4xf32>, tensor<?x4xf32, #graph.shape<["length + n", 4]>>, tensor<3x8xf32>, tensor<2xf32>
}
