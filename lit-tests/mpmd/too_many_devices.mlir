// RUN: not shardc compile %s
// A mesh with more devices than are supported is refused before its devices are numbered.
func.func @main(%x: tensor<4x8xi32>) -> tensor<4x8xi32> attributes {topology = #mpmd.topology<<"a": <["x"=4294967296]>>, <"b": <["x"=2]>>>} {
  return %x : tensor<4x8xi32>
}
