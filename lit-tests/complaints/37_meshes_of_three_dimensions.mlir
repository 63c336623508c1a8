// RUN: shardc check --interpret %s
// RUN: shardc cost %s
// Asked for: meshes of more than one dimension (llvm/llvm-project#128801).
sdy.mesh @mesh = <["x"=2, "y"=3, "z"=2]>
func.func @main(%a: tensor<24x48x48xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {"z"}]>}) -> (tensor<24x48x48xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"x", "y"}, {}]>}, tensor<48xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 2] : (tensor<24x48x48xi32>, tensor<i32>) -> tensor<48xi32>
  return %a, %0 : tensor<24x48x48xi32>, tensor<48xi32>
}
