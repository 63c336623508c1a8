// RUN: shardc opt --passes plan,partition --groups axes %s
// Groups along axes of the mesh, and along a part of one, stay as small as they are on any number of devices, and so do the pairs of a
// permute, for which the specification has no such words.
sdy.mesh @mesh = <["x"=2, "y"=4]>

func.func @main(%a: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}, tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(1)2}, {}]>}, tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(2)2, "y":(1)2}, {}]>}) {
  %0 = sdy.all_gather [{"x"}, {}] %a out_sharding=<@mesh, [{}, {"y"}]> : tensor<16x16xf32>
  %1 = sdy.all_gather [{"y":(2)2}, {}] %b out_sharding=<@mesh, [{"y":(1)2}, {}]> : tensor<16x16xf32>
  %2 = sdy.collective_permute %b out_sharding=<@mesh, [{"y":(2)2, "y":(1)2}, {}]> : tensor<16x16xf32>
  return %0, %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}
