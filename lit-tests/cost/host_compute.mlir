// RUN: shardc cost --target v5e:2x2 %s
// What the host computes shares no kernel with the device: what it reads is copied to it, and its result, which no copy is asked for, is read over the link.
sdy.mesh @mesh = <["d"=4]>
func.func @main(%a: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) {
  %0 = stablehlo.sine %a {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : tensor<1024x1024xf32>
  %1 = stablehlo.negate %0 {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : tensor<1024x1024xf32>
  %2 = stablehlo.cosine %1 : tensor<1024x1024xf32>
  return %2 : tensor<1024x1024xf32>
}
