// RUN: shardc run --interpret %s
// RUN: shardc opt --passes partition %s | shardc run --interpret -
// Twelve elements on two manual by four free devices, by hand: eight shards of two outside, four shards of two of each
// half's six inside. The second half's first device holds elements eight and nine outside, and six and seven inside.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main() -> (tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %a = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", "y"}]>]>} : tensor<12xi32>
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x"} (%b: tensor<6xi32>) {
    %3 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>} : tensor<6xi32>
    %4 = stablehlo.multiply %b, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>} : tensor<6xi32>
    sdy.return %4 : tensor<6xi32>
  } : (tensor<12xi32>) -> tensor<12xi32>
  %1 = sdy.all_gather [{"x", "y"}] %0 out_sharding=<@mesh, [{}]> : tensor<12xi32>
  %2 = stablehlo.slice %1 [4:12] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<12xi32>) -> tensor<8xi32>
  return %2 : tensor<8xi32>
}
