// RUN: shardc check --interpret %s
// Asked for: random numbers that don't depend on how they are sharded (jax-ml/jax#40232, #17982, #13631).
sdy.mesh @mesh = <["x"=8]>
func.func @main(%key: tensor<2xui64>) -> (tensor<2xui64>, tensor<64x4xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<64x4xui32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0:2 = stablehlo.rng_bit_generator %key, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<64x4xui32>)
  %1:2 = stablehlo.rng_bit_generator %key, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<64x4xui32>)
  %low = stablehlo.constant dense<0.0> : tensor<f32>
  %high = stablehlo.constant dense<1.0> : tensor<f32>
  %shape = stablehlo.constant dense<64> : tensor<1xi64>
  %2 = stablehlo.rng %low, %high, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<64xf32>
  return %0#0, %0#1, %1#1, %2 : tensor<2xui64>, tensor<64x4xui32>, tensor<64x4xui32>, tensor<64xf32>
}
