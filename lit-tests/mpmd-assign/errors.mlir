// RUN: not shardc opt --passes mpmd-assign{assign=f@c} %s
// RUN: not shardc opt --passes mpmd-assign{assign=f} %s
// RUN: not shardc opt --passes mpmd-assign{assign=g@a} %s
// RUN: not shardc opt --passes mpmd-assign{assign=f@b} %s
// A mesh that isn't there, an entry without a mesh, a name that is on no mesh, and an argument whose sharding doesn't fit the mesh
// that it comes to be on.
func.func @main(%x: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}, {}]>}) -> tensor<4x6xf32> attributes {topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["y"=2]>>>} {
  %0 = mpmd.named_computation<"f"> (%x) (%y: tensor<4x6xf32>) {
    mpmd.return %y : tensor<4x6xf32>
  } : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
