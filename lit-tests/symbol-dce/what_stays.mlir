// RUN: shardc opt --passes symbol-dce %s
// Public functions and meshes stay though nothing here names them: other modules may.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
func.func @other(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
func.func private @lost(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
