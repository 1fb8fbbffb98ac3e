// RUN: perpend-opt --graph-place-states --graph-fuse-kernels --graph-schedule-updates --tile-build-blocks --tile-schedule-blocks=target=znver5 --tile-flatten-blocks --host-plan-memory %s | FileCheck %s

// A state has the rows that any entry reads: 14 of one and 6 of the other, none and 6, all and 6.
// CHECK-DAG: host.state @s0 "both" : !host.place<[64, 4] x f32> growing 0 reads 14
// CHECK-DAG: host.state @s1 "one" : !host.place<[64, 4] x f32> growing 0 reads 6
// CHECK-DAG: host.state @s2 "all" : !host.place<[64, 4] x f32> growing 0{{$}}
func.func @first(
    %x: tensor<1x4xf32>,
    %both: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "both", graph.capacity = 64 : i64},
    %one: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "one", graph.capacity = 64 : i64},
    %all: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "all", graph.capacity = 64 : i64})
    -> (tensor<4xf32>, tensor<4xf32>,
        tensor<?x4xf32, #graph.shape<["length + 1", 4]>> {graph.state = "both"},
        tensor<?x4xf32, #graph.shape<["length + 1", 4]>> {graph.state = "one"},
        tensor<?x4xf32, #graph.shape<["length + 1", 4]>> {graph.state = "all"}) {
  %0 = graph.concat %both, %x axis 0 : (tensor<?x4xf32, #graph.shape<["length", 4]>>, tensor<1x4xf32>) -> tensor<?x4xf32, #graph.shape<["length + 1", 4]>>
  %1 = graph.concat %one, %x axis 0 : (tensor<?x4xf32, #graph.shape<["length", 4]>>, tensor<1x4xf32>) -> tensor<?x4xf32, #graph.shape<["length + 1", 4]>>
  %2 = graph.concat %all, %x axis 0 : (tensor<?x4xf32, #graph.shape<["length", 4]>>, tensor<1x4xf32>) -> tensor<?x4xf32, #graph.shape<["length + 1", 4]>>
  %rows = graph.slice %0 <["8*floordiv(max(0, length - 7), 8)", "0"]> [1, 1] : tensor<?x4xf32, #graph.shape<["length + 1", 4]>> -> tensor<?x4xf32, #graph.shape<["length + 1 - 8*floordiv(max(0, length - 7), 8)", 4]>>
  %a = graph.reduce sum %rows dims [0] : tensor<?x4xf32, #graph.shape<["length + 1 - 8*floordiv(max(0, length - 7), 8)", 4]>> -> tensor<4xf32>
  %b = graph.reduce sum %2 dims [0] : tensor<?x4xf32, #graph.shape<["length + 1", 4]>> -> tensor<4xf32>
  return %a, %b, %0, %1, %2
      : tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32, #graph.shape<["length + 1", 4]>>, tensor<?x4xf32, #graph.shape<["length + 1", 4]>>, tensor<?x4xf32, #graph.shape<["length + 1", 4]>>
}
func.func @second(
    %x: tensor<1x4xf32>,
    %both: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "both", graph.capacity = 64 : i64},
    %one: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "one", graph.capacity = 64 : i64},
    %all: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "all", graph.capacity = 64 : i64})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
        tensor<?x4xf32, #graph.shape<["length + 1", 4]>> {graph.state = "both"},
        tensor<?x4xf32, #graph.shape<["length + 1", 4]>> {graph.state = "one"},
        tensor<?x4xf32, #graph.shape<["length + 1", 4]>> {graph.state = "all"}) {
  %0 = graph.concat %both, %x axis 0 : (tensor<?x4xf32, #graph.shape<["length", 4]>>, tensor<1x4xf32>) -> tensor<?x4xf32, #graph.shape<["length + 1", 4]>>
  %1 = graph.concat %one, %x axis 0 : (tensor<?x4xf32, #graph.shape<["length", 4]>>, tensor<1x4xf32>) -> tensor<?x4xf32, #graph.shape<["length + 1", 4]>>
  %2 = graph.concat %all, %x axis 0 : (tensor<?x4xf32, #graph.shape<["length", 4]>>, tensor<1x4xf32>) -> tensor<?x4xf32, #graph.shape<["length + 1", 4]>>
  %r0 = graph.slice %0 <["max(0, length - 6)", "0"]> [1, 1] : tensor<?x4xf32, #graph.shape<["length + 1", 4]>> -> tensor<?x4xf32, #graph.shape<["length + 1 - max(0, length - 6)", 4]>>
  %r1 = graph.slice %1 <["max(0, length - 6)", "0"]> [1, 1] : tensor<?x4xf32, #graph.shape<["length + 1", 4]>> -> tensor<?x4xf32, #graph.shape<["length + 1 - max(0, length - 6)", 4]>>
  %r2 = graph.slice %2 <["max(0, length - 6)", "0"]> [1, 1] : tensor<?x4xf32, #graph.shape<["length + 1", 4]>> -> tensor<?x4xf32, #graph.shape<["length + 1 - max(0, length - 6)", 4]>>
  %a = graph.reduce sum %r0 dims [0] : tensor<?x4xf32, #graph.shape<["length + 1 - max(0, length - 6)", 4]>> -> tensor<4xf32>
  %b = graph.reduce sum %r1 dims [0] : tensor<?x4xf32, #graph.shape<["length + 1 - max(0, length - 6)", 4]>> -> tensor<4xf32>
  %c = graph.reduce sum %r2 dims [0] : tensor<?x4xf32, #graph.shape<["length + 1 - max(0, length - 6)", 4]>> -> tensor<4xf32>
  return %a, %b, %c, %0, %1, %2
      : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32, #graph.shape<["length + 1", 4]>>, tensor<?x4xf32, #graph.shape<["length + 1", 4]>>, tensor<?x4xf32, #graph.shape<["length + 1", 4]>>
}
