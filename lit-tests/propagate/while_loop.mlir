// RUN: shardc opt --passes propagate %s
// What goes into a loop comes out of it alike.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %n: tensor<i32>) -> tensor<8xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %w:2 = stablehlo.while(%i = %n, %acc = %a) : tensor<i32>, tensor<8xf32>
  cond {
    %c = stablehlo.compare GT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.subtract %i, %one : tensor<i32>
    %twice = stablehlo.add %acc, %acc : tensor<8xf32>
    stablehlo.return %next, %twice : tensor<i32>, tensor<8xf32>
  }
  return %w#1 : tensor<8xf32>
}
