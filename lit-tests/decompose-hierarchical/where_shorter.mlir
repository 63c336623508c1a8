// RUN: shardc cost --plan greedy --target 2xv5e:2x2 %s
// RUN: shardc opt --passes 'planned{search=greedy target=2xv5e:2x2},partition,schedule{target=2xv5e:2x2}' %s | shardc cost --target 2xv5e:2x2 -
// Gradients of two layers, summed over two slices: while a sum is on the network, chips of a slice reduce and scatter the other.
// Each takes as long in stages as whole (second command), and gathers wait until somebody reads them.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%x: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = stablehlo.multiply %x, %y : tensor<4096x4096xbf16>
  %2 = stablehlo.dot_general %1, %y, contracting_dims = [0] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %0, %2 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}
