// RUN: shardc opt --passes symbol-dce %s
// A composite's decomposition and what a custom call names are used, inside a loop too.
func.func @main(%a: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<i32>) {
  %0:2 = stablehlo.while(%x = %a, %i = %n) : tensor<4xf32>, tensor<i32>
  cond {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.composite "my.twice" %x {decomposition = @twice} : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %2, %1 : tensor<4xf32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<i32>
}
func.func private @twice(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @lost(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
