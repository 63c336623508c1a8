// RUN: shardc compile %s
// RUN: shardc cost --target v5p:2x2x1 %s
// RUN: shardc diff --target v5p:2x2x1 %s %s
// RUN: shardc check %s
// A result that is wanted in another memory than it is in is copied there; what only goes through stays, and a donated argument's buffer is the host's.
sdy.mesh @mesh = <["d"=4]>
func.func @main(%a: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}, %m: tensor<1024x1024xf32> {jax.buffer_donor = true, mhlo.memory_kind = "unpinned_host", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<1024x1024xf32> {mhlo.memory_kind = "pinned_host"}, tensor<1024x1024xf32> {mhlo.memory_kind = "unpinned_host"}, tensor<1024x1024xf32> {mhlo.memory_kind = "device"}) {
  %0 = stablehlo.negate %a : tensor<1024x1024xf32>
  return %0, %m, %m : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
