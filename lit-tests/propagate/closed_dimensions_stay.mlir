// RUN: shardc opt --passes propagate %s
// A closed dimension takes no further axis; an open one does.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %closed: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %open: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.add %a, %closed : tensor<8xf32>
  %1 = stablehlo.add %a, %open : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
