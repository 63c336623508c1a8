// RUN: not shardc compile %s
// RUN: shardc opt --passes propagate %s
// A fragment of what nobody knows is no computation that propagation may take apart.
sdy.mesh @mesh = <["x"=2]>
module {
  func.func @main(%x: !other.type) -> !other.type {
    %0 = mpmd.fragment<mesh="a", origin=[]> (%x) (%y: tensor<4x8xi32>) {
      %1 = stablehlo.negate %y : tensor<4x8xi32>
      mpmd.return %1 : tensor<4x8xi32>
    } : (!other.type) -> !other.type
    return %0 : !other.type
  }
}
