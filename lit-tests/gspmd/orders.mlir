// RUN: shardc opt --passes gspmd %s
// Axes in another order than the mesh's, parts of axes, partial sums, and a mesh whose devices are listed in an order of
// their own.
sdy.mesh @mesh = <["x"=4, "y"=2]>
sdy.mesh @listed = <["x"=4, "y"=2], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
sdy.mesh @one = <[], device_ids=[3]>
func.func @main(
    %whole: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>},
    %swapped: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>},
    %second: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
    %minor: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}, {}]>},
    %parts: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2, "y"}, {"x":(1)2}]>},
    %in_an_order: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@listed, [{"x"}, {}]>},
    %replicated: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
    %summed: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x", "y"}>},
    %summed_by_some: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>},
    %sharded_and_summed: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}], unreduced={"x":(1)2}>},
    %of_one: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) {
  return
}
