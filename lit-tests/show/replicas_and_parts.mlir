// RUN: shardc show --after none %s
// Devices with commas between hold the same elements, with plus signs parts of a sum.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%copies: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %sum: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced={"y"}>},
    %maximum: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=max{"x"}>},
    %scalar: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>},
    %free: tensor<8xf32>) {
  return
}
