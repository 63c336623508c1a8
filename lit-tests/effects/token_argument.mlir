// RUN: shardc compile %s
// RUN: shardc compile --emit manual %s
// RUN: shardc opt --passes compile-gspmd %s
// RUN: shardc check --interpret %s
// RUN: shardc cost %s
// A token goes through @main and a loop beside a sharded value, as JAX writes ordered effects. It has no data.
sdy.mesh @mesh = <["a"=8]>
func.func @main(%t: !stablehlo.token {jax.token = true}, %x: tensor<32x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> (!stablehlo.token {jax.token = true}, tensor<32x6xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %token = %t, %y = %x) : tensor<i32>, !stablehlo.token, tensor<32x6xf32>
  cond {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %more = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.tanh %y : tensor<32x6xf32>
    %both:2 = stablehlo.optimization_barrier %token, %z : !stablehlo.token, tensor<32x6xf32>
    stablehlo.return %next, %both#0, %both#1 : tensor<i32>, !stablehlo.token, tensor<32x6xf32>
  }
  return %0#1, %0#2 : !stablehlo.token, tensor<32x6xf32>
}
