// RUN: not shardc opt --passes propagate %s
// Members of a sharding group have one shape.
sdy.mesh @mesh = <["x"=2]>
func.func @main(
    %a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<8xf32>) -> tensor<8x16xf32> {
  sdy.sharding_group %a group_id=0 : tensor<8x16xf32>
  sdy.sharding_group %b group_id=0 : tensor<8xf32>
  return %a : tensor<8x16xf32>
}
