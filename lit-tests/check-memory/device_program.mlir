// RUN: shardc compile %s | shardc cost --memory 10KiB -
// RUN: not shardc opt --passes 'check-memory{memory=10KiB over-memory=deny}' %s
// What a per-device program holds is looked at as it is; a global program, as if one device held it all.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.negate %a : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
