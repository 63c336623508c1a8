// RUN: shardc check --interpret %s
// RUN: shardc compile --emit stablehlo %s
// What a loop carries stays on eight devices though ten rows don't divide; the sum of each step hides what pads them.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<10x300xi32>, %w: tensor<300x300xi32>) -> (tensor<10x300xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<300xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %none = stablehlo.constant dense<0> : tensor<300xi32>
  %r:3 = stablehlo.while(%i = %zero, %x = %a, %s = %none) : tensor<i32>, tensor<10x300xi32>, tensor<300xi32>
   cond {
    %go = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<10x300xi32>, tensor<300x300xi32>) -> tensor<10x300xi32>
    %p = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10x300xi32>, tensor<i32>) -> tensor<300xi32>
    %q = stablehlo.add %s, %p : tensor<300xi32>
    stablehlo.return %n, %y, %q : tensor<i32>, tensor<10x300xi32>, tensor<300xi32>
  }
  return %r#1, %r#2 : tensor<10x300xi32>, tensor<300xi32>
}
