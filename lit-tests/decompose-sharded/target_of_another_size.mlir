// RUN: not shardc opt --passes import,propagate,decompose-sharded{target=v5e:2x4} %s
// Whether a decomposition saves time depends on the machine, which must have a device for each of the mesh.
sdy.mesh @mesh = <["x"=3]>
func.func @main(%a: tensor<255xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<255xi32> {
  return %a : tensor<255xi32>
}
