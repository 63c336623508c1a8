// RUN: shardc opt --passes plan %s
// Axes of 4, 6 and 5 devices change dimensions one by one, and then their order: a gather of everything would cost more.
sdy.mesh @mesh = <["a"=4, "b"=6, "c"=5]>
func.func @main(%x: tensor<480x480xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", "a":(2)2}, {"c", "a":(1)2}]>}) -> (tensor<480x480xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"c", "a"}, {"b":(2)3, "b":(1)2}]>}) {
  return %x : tensor<480x480xf32>
}
