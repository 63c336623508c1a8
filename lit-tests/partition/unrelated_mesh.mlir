// RUN: not shardc opt --passes partition %s
// The second argument's own mesh puts the devices in another order: no axis of @mesh says which device holds what.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["p"=4], device_ids=[0, 3, 1, 2]>, [{"p"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return %a, %a : tensor<8xf32>, tensor<8xf32>
}
