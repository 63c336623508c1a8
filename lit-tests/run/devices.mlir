// RUN: not shardc run --interpret %s
// RUN: not shardc run --interpret --devices 15,14,13,12 %s
// RUN: not shardc run --interpret --devices 4,5,6,7,8,9,10,11 %s
// RUN: not shardc run --interpret --devices 3,2,1,3 %s
// The program's devices 0 to 3 are those of the list, in its order: the last one fails.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<1xi32>) {
    %p = stablehlo.partition_id : tensor<ui32>
    %q = stablehlo.constant dense<2> : tensor<ui32>
    %m = stablehlo.maximum %p, %q : tensor<ui32>
    "check.expect_eq"(%m, %q) : (tensor<ui32>, tensor<ui32>) -> ()
    sdy.return %b : tensor<1xi32>
  } : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
