// RUN: shardc opt %s
// Every part a sharding can have: open, closed and empty dimensions, priorities, parts of axes, replicated and
// unreduced axes.
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=8]>
func.func @main(
  %open: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>},
  %closed: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>},
  %priority: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p1, {"y", ?}p2]>},
  %part: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(2)2}, {"z":(1)2, "x"}]>},
  %replicated: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], replicated={"x", "z"}>},
  %unreduced: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"y"}>},
  %maximum: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=max{"y"}>},
  %scalar: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
  return
}
