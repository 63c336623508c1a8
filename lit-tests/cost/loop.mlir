// RUN: shardc cost %s
// What is in a loop counts as often as the loop runs.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %acc = %a) : tensor<i32>, tensor<1024x1024xf32>
  cond {
    %limit = stablehlo.constant dense<12> : tensor<i32>
    %c = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %p = stablehlo.dot_general %acc, %acc, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    stablehlo.return %next, %p : tensor<i32>, tensor<1024x1024xf32>
  }
  return %w#1 : tensor<1024x1024xf32>
}
