// RUN: shardc opt --passes propagate %s
// Members of a sharding group that begin differently: both places are shown.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(
    %a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> tensor<8x16xf32> {
  sdy.sharding_group %a group_id=0 : tensor<8x16xf32>
  sdy.sharding_group %b group_id=0 : tensor<8x16xf32>
  %0 = stablehlo.add %a, %b : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
