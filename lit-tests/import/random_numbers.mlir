// RUN: shardc opt --passes import %s
// RUN: shardc check --interpret %s
// rng is written as bits of a counter and arithmetic, so that what is replicated is the same on every device of any runtime.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %k: tensor<i8>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<2x8xi8> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %least = stablehlo.constant dense<-100> : tensor<i8>
  %vector = stablehlo.constant dense<8> : tensor<1xi64>
  %matrix = stablehlo.constant dense<[2, 8]> : tensor<2xi64>
  %0 = stablehlo.rng %zero, %one, %vector, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
  %1 = stablehlo.add %0, %a : tensor<8xf32>
  %2 = stablehlo.rng %least, %k, %matrix, distribution = UNIFORM : (tensor<i8>, tensor<i8>, tensor<2xi64>) -> tensor<2x8xi8>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<2x8xi8>
}
