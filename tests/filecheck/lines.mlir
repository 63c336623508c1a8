// RUN: not shardc compile --diagnostics lines %s 2>&1 | FileCheck %s

// CHECK: lines.mlir:[[#@LINE+1]]:{{[0-9]+}}: error: the mesh has no axis "y"
func.func @other(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"y"}]>}) {
  return
}
