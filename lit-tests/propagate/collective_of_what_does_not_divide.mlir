// RUN: shardc opt --passes propagate %s
// RUN: shardc opt --passes import %s
// RUN: shardc check --interpret %s
// What the user's own collectives read keeps the axes that don't divide it: results of calls and manual computations too.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func private @f(%a: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %0 = stablehlo.negate %a : tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
func.func @main(%a: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  %0 = call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = sdy.all_slice [{}, {"x"}] %0 out_sharding=<@mesh, [{"y"}, {"x"}]> : tensor<6x4xf32>
  %2 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y"}, {"x"}]>] out_shardings=[<@mesh, [{"y"}, {"x"}]>] manual_axes={"x"} (%b: tensor<6x2xf32>) {
    %4 = stablehlo.negate %b : tensor<6x2xf32>
    sdy.return %4 : tensor<6x2xf32>
  } : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %3 = sdy.all_gather [{}, {"x"}] %2 out_sharding=<@mesh, [{"y"}, {}]> : tensor<6x4xf32>
  return %1, %3 : tensor<6x4xf32>, tensor<6x4xf32>
}
