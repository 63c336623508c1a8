// RUN: shardc check --interpret %s
// RUN: shardc compile %s
// Asked for: an update of sharded doubles at a 64-bit index compiles, whatever type a device's number has (openxla/xla#24186).
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<16xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %u: tensor<2xf64>, %i: tensor<i64>) -> (tensor<16xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<16xf64>, tensor<2xf64>, tensor<i64>) -> tensor<16xf64>
  return %0 : tensor<16xf64>
}
