// RUN: not shardc opt --passes import,propagate,decompose-sharded{target=v5e:2x4} %s
// Whether a decomposition saves time depends on the machine, which must have a device for each of the mesh.
sdy.mesh @mesh = <["x"=16]>
func.func @main(%a: tensor<1048576xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<1048576xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%b: tensor<i32>, %c: tensor<i32>):
    %1 = stablehlo.compare LT, %b, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<1048576xi32>) -> tensor<1048576xi32>
  return %0 : tensor<1048576xi32>
}
