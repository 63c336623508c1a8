// RUN: shardc cost %s
// RUN: shardc cost --target v5e:4x2 %s
// RUN: shardc cost --json %s
// RUN: not shardc cost --target v9:4 %s
// RUN: not shardc cost --target v5e:3x1 %s
// A megabyte combined on four devices: 1 us and one and a half times the bytes at 90 GB/s.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<1024x512xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<512x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<1024x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1024x512xbf16>, tensor<512x1024xbf16>) -> tensor<1024x1024xbf16>
  return %0 : tensor<1024x1024xbf16>
}
