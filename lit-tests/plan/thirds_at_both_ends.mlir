// RUN: shardc check --interpret %s
// A move of the planner gives x in thirds from the major end where the result has thirds at the minor end: no division of
// twelve devices has both.
sdy.mesh @mesh = <["x"=12]>
func.func @main(%a: tensor<72xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<72xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(4)3}]>}) {
  %3 = stablehlo.iota dim = 0 : tensor<72xi32>
  %7 = stablehlo.compare LT, %3, %a : (tensor<72xi32>, tensor<72xi32>) -> tensor<72xi1>
  %8 = stablehlo.select %7, %3, %3 : tensor<72xi1>, tensor<72xi32>
  return %8 : tensor<72xi32>
}
