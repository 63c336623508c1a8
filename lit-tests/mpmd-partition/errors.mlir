// RUN: not shardc opt --passes mpmd-partition %s
// RUN: not shardc compile %s
// An op between fragments that is on no mesh.
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
func.func @main(%x: tensor<4xf32>) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.assign %x : (tensor<4xf32>) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%y: tensor<4xf32>) {
    mpmd.return %y : tensor<4xf32>
  } : (!m) -> !m
  return %1 : !m
}
