// RUN: shardc cost --target 2xv5e:4x2 %s
// RUN: shardc cost --target 2xh100:8 %s
// RUN: shardc cost --target ../compiler/examples/cluster.toml %s
// RUN: shardc explain --target 2xv5e:4x2 %s
// RUN: not shardc cost --target 2xv5e:2x2 %s
// RUN: not shardc cost --target 0xv5e:4x4 %s
// RUN: not shardc cost --target h100:16 %s
// RUN: not shardc cost --target cost/slices.toml %s
// Two slices (or islands) sum a gradient of 32 MiB over all their devices: each slice reduces and scatters it among its own, the
// network sums a part for each chip, and each slice gathers. Over the axis that lies inside, the network is not needed.
sdy.mesh @mesh = <["data"=2, "model"=8]>
func.func @main(%a: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data", "model"}]>}, %b: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}]>}, %c: tensor<1024x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) -> (tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<1024x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = stablehlo.tanh %c : tensor<1024x4096xbf16>
  return %0, %1 : tensor<4096x4096xbf16>, tensor<1024x4096xbf16>
}
