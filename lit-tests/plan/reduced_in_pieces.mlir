// RUN: shardc check %s
// RUN: shardc check --seed 1 %s
// RUN: shardc compile %s
// No collective combines the places of maxima: each device finds that of its piece, and those found are compared.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %i = stablehlo.iota dim = 1 : tensor<64x1024xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%a init: %least), (%i init: %zero) across dimensions = [1] : (tensor<64x1024xf32>, tensor<64x1024xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
    reducer(%x: tensor<f32>, %y: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
    %1 = stablehlo.compare GT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.compare EQ, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.compare LT, %j, %k, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.and %2, %3 : tensor<i1>
    %5 = stablehlo.or %1, %4 : tensor<i1>
    %6 = stablehlo.select %1, %x, %y : tensor<i1>, tensor<f32>
    %7 = stablehlo.select %5, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %6, %7 : tensor<f32>, tensor<i32>
  }
  return %0#1 : tensor<64xi32>
}
