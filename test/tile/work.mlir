// A kernel is divided into as many units as there is work for, and a part of it that is worth a thread (grain) is as many
// units as take some microseconds.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver5 %s | FileCheck %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks %s | FileCheck --check-prefix=GIVEN %s

// 2704 * 64 * 64 multiplications take 0.2 ms. The cache has both panels, but not all of the result: few rows for both,
// each worth a thread. Of panels that it has not, eight blocks of all rows for each.
// CHECK: @large({{.*}} tile.schedule = {grain = 1 : i64}, {{.*}} = split %i0, [_, 16, 8]"
func.func private @large(%a: tensor<2704x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<2704x64xf32> attributes {tile.kernel} {
  %0 = tile.matmul %a, %w : (tensor<2704x64xf32>, tensor<2x64x32xf32>) -> tensor<2704x64xf32>
  return %0 : tensor<2704x64xf32>
}

// 8 * 16 * 32 multiplications take 0.08 us: fifty times as much would be worth it.
// CHECK: @small({{.*}} tile.schedule = {grain = {{[0-9]+}} : i64}, {{.*}} = split %i0, [_, 8]"
func.func private @small(%a: tensor<8x16xf32>, %w: tensor<1x16x32xf32>) -> tensor<8x32xf32> attributes {tile.kernel} {
  %0 = tile.matmul %a, %w : (tensor<8x16xf32>, tensor<1x16x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// The units of what has no sum are its rule's, and their cost is that of its blocks.
// CHECK: @strided({{.*}} tile.schedule = {grain = {{[0-9][0-9]+}} : i64}
func.func private @strided(%a: tensor<16x64x64xf32>) -> tensor<64x64x16xf32> attributes {tile.kernel} {
  %0 = graph.transpose %a [1, 2, 0] : tensor<16x64x64xf32> -> tensor<64x64x16xf32>
  return %0 : tensor<64x64x16xf32>
}
// CHECK: @ordered({{.*}} tile.schedule = {grain = {{[0-9][0-9]+}} : i64}
func.func private @ordered(%a: tensor<16x64x64xf32>) -> tensor<64x16x64xf32> attributes {tile.kernel} {
  %0 = graph.transpose %a [1, 0, 2] : tensor<16x64x64xf32> -> tensor<64x16x64xf32>
  return %0 : tensor<64x16x64xf32>
}

// A table is read where its rows are taken, not as a whole.
// CHECK: @table({{.*}} tile.schedule = {grain = {{[0-9][0-9]+}} : i64}
func.func private @table(%a: tensor<100000x64xf32>, %i: tensor<16xi64>) -> tensor<16x64xf32> attributes {tile.kernel} {
  %0 = graph.gather %a[%i] axis 0 : (tensor<100000x64xf32>, tensor<16xi64>) -> tensor<16x64xf32>
  return %0 : tensor<16x64xf32>
}

// Columns that are added up, as many at once as registers take.
// CHECK: @columns({{.*}} tile.schedule = {grain = 1 : i64}, {{.*}} = split %ax0, [_, 10, 16]"
func.func private @columns(%a: tensor<1000x200000xf32>) -> tensor<200000xf32> attributes {tile.kernel} {
  %0 = graph.reduce sum %a dims [0] : tensor<1000x200000xf32> -> tensor<200000xf32>
  return %0 : tensor<200000xf32>
}

// A grain that is given stays.
// GIVEN: @blocks({{.*}} tile.schedule = {grain = 3 : i64}
func.func private @blocks(%a: tensor<16x64x64xf32>) -> tensor<64x64x16xf32>
    attributes {tile.kernel, tile.schedule = {grain = 3 : i64}} {
  %0 = graph.transpose %a [1, 2, 0] : tensor<16x64x64xf32> -> tensor<64x64x16xf32>
  return %0 : tensor<64x64x16xf32>
}
// GIVEN: @estimated({{.*}} tile.schedule = {grain = {{[1-9][0-9]+}} : i64}
func.func private @estimated(%a: tensor<3x64xf32>) -> tensor<3x64xf32> attributes {tile.kernel} {
  %0 = graph.scan sum %a dim 0 : tensor<3x64xf32> -> tensor<3x64xf32>
  return %0 : tensor<3x64xf32>
}
