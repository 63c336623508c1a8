// RUN: shardc check %s
// RUN: shardc run --interpret %s
// RUN: shardc compile %s
// Two gathers inside a loop are sent together, and the results are those of each alone.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<4x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<4x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x2xi32>, tensor<4x3xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %x = %a, %y = %b) : tensor<i32>, tensor<4x2xi32>, tensor<4x3xi32>
  cond {
    %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %p = sdy.sharding_constraint %x <@mesh, [{}, {}]> : tensor<4x2xi32>
    %q = sdy.sharding_constraint %y <@mesh, [{}, {}]> : tensor<4x3xi32>
    %r = stablehlo.reverse %p, dims = [0] : tensor<4x2xi32>
    %s = stablehlo.reverse %q, dims = [0] : tensor<4x3xi32>
    %t = sdy.sharding_constraint %r <@mesh, [{"x"}, {}]> : tensor<4x2xi32>
    %u = sdy.sharding_constraint %s <@mesh, [{"x"}, {}]> : tensor<4x3xi32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %t, %u : tensor<i32>, tensor<4x2xi32>, tensor<4x3xi32>
  }
  return %0#1, %0#2 : tensor<4x2xi32>, tensor<4x3xi32>
}
