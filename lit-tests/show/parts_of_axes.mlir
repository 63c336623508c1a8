// RUN: shardc show --after none %s
// Parts of one axis, and a mesh with its own order of devices.
sdy.mesh @mesh = <["x"=8]>
sdy.mesh @swapped = <["x"=2, "y"=4], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(4)2}, {"x":(1)4}]>},
    %b: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@swapped, [{"x"}, {"y"}]>}) {
  return
}
