// RUN: shardc opt --passes propagate %s
// Eight elements don't divide by "j", so %a keeps but a part of it; %b keeps all, since a collective counts on it.
sdy.mesh @mesh = <["i"=4, "j"=22]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"j"}, {"i"}]>}, %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"j"}, {"i"}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.sine %a : tensor<8x8xf32>
  %1 = sdy.all_gather [{}, {"i"}] %b out_sharding=<@mesh, [{"j"}, {}]> : tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
