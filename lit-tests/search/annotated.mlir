// RUN: shardc search --target v5e:2x2 --show 0 %s
// RUN: shardc search --target v5e:2x2 --show 0 --free %s
// RUN: not shardc search --target v5e:2x2 --mesh a=4 %s
// What the user says stays, and so does the mesh; --free drops both.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<4096x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %up: tensor<1024x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0] : (tensor<4096x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"x"}]> : tensor<4096x4096xbf16>
  return %1 : tensor<4096x4096xbf16>
}
