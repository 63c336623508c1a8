// RUN: shardc opt --passes partition %s
// Partial sums pass through a choice between two of them, and through a sum over another axis into the result.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%p: tensor<4xi1> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced={"y"}>}, %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced={"y"}>}) -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
  %zero = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={"x", "y"}>]>} dense<0.0> : tensor<f32>
  %0 = stablehlo.select %p, %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}], unreduced={"y"}>]>} : tensor<4xi1>, tensor<4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={"x", "y"}>]>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %2 = sdy.all_reduce {"x", "y"} %1 out_sharding=<@mesh, []> : tensor<f32>
  return %2 : tensor<f32>
}
