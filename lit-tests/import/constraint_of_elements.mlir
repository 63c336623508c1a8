// RUN: shardc opt --passes import %s
// RUN: shardc check %s
// JAX constrains all it sums in a partly manual region, the elements that are added too: of them it says nothing.
sdy.mesh @mesh = <["d"=2, "t"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"t"}]>}) -> tensor<4x8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"d", ?}, {?}]>] out_shardings=[<@mesh, [{?}, {?}]>] manual_axes={"d"} (%b: tensor<4x8xf32>) {
    %1 = "stablehlo.all_reduce"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %2 = stablehlo.add %x, %y : tensor<f32>
      %3 = sdy.sharding_constraint %2 <@mesh, []> : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    sdy.return %1 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
