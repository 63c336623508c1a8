// RUN: shardc opt --passes import,propagate,plan %s
// RUN: shardc check --interpret %s
// The place of the least element of a matrix that is sharded both ways, counted along its rows: each device finds that
// of its shard, by rows first, since the first of several NaNs counts.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<256x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<i32> {
  %flat = stablehlo.reshape %a : (tensor<256x256xf32>) -> tensor<65536xf32>
  %i = stablehlo.iota dim = 0 : tensor<65536xi32>
  %most = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%flat init: %most), (%i init: %zero) across dimensions = [0] : (tensor<65536xf32>, tensor<65536xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    reducer(%x: tensor<f32>, %y: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
    %1 = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.compare NE, %x, %x, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.or %1, %2 : tensor<i1>
    %4 = stablehlo.compare EQ, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %j, %k, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %4, %5 : tensor<i1>
    %7 = stablehlo.or %3, %6 : tensor<i1>
    %8 = stablehlo.select %3, %x, %y : tensor<i1>, tensor<f32>
    %9 = stablehlo.select %7, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %8, %9 : tensor<f32>, tensor<i32>
  }
  return %0#1 : tensor<i32>
}
