// RUN: shardc cost --target v5lite %s
// RUN: shardc cost --target mi300x %s
// RUN: not shardc cost --target 3xh100 %s
// A chip without a shape is a slice of the cloud's default shape with the mesh's devices.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) -> (tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %0 = stablehlo.tanh %a : tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
