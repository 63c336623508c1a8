// RUN: shardc explain --tries 0 %s
// RUN: shardc explain --tries 0 --trip-count 100 %s
// RUN: shardc cost %s
// RUN: shardc opt --passes import{trip-count=100} %s
// A loop whose condition doesn't tell its iterations counts as 8, which is said to be a guess.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%n: tensor<i32>, %x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x64xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8x64xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%y init: %t) applies stablehlo.add across dimensions = [0] : (tensor<8x64xf32>, tensor<f32>) -> tensor<64xf32>
    %b = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<64xf32>) -> tensor<8x64xf32>
    stablehlo.return %j, %b : tensor<i32>, tensor<8x64xf32>
  }
  return %0#1 : tensor<8x64xf32>
}
