// RUN: shardc compile %s
// RUN: shardc check --interpret %s
// Collectives and device numbers inside a fragment are those of its mesh: a loop on devices 3 and 1, whose positions are 0 and 1.
#topology = #mpmd.topology<<"m": <["x"=2], device_ids=[3, 1]>>, <"n": <["x"=1], device_ids=[0]>>>
func.func @main(%x: tensor<5x4xi32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<4xi32> attributes {topology = #topology} {
  %0 = mpmd.named_computation<"sums"> (%x) (%y: tensor<5x4xi32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %sums = stablehlo.constant dense<0> : tensor<5xi32>
    %2:2 = stablehlo.while(%i = %zero, %s = %sums) : tensor<i32>, tensor<5xi32>
     cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %4 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.reduce(%y init: %i) applies stablehlo.add across dimensions = [1] : (tensor<5x4xi32>, tensor<i32>) -> tensor<5xi32>
      %5 = stablehlo.add %s, %4 : tensor<5xi32>
      %6 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %6, %5 : tensor<i32>, tensor<5xi32>
    }
    %3 = stablehlo.slice %2#1 [1:5] : (tensor<5xi32>) -> tensor<4xi32>
    mpmd.return %3 : tensor<4xi32>
  } : (tensor<5x4xi32>) -> tensor<4xi32>
  %1 = mpmd.named_computation<"last"> (%0) (%y: tensor<4xi32>) {
    %2 = stablehlo.reverse %y, dims = [0] : tensor<4xi32>
    mpmd.return %2 : tensor<4xi32>
  } : (tensor<4xi32>) -> tensor<4xi32>
  return %1 : tensor<4xi32>
}
