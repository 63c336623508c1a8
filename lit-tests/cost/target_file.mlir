// RUN: shardc cost --target ../compiler/examples/torus.toml %s
// RUN: shardc cost --target ../compiler/examples/switch.toml %s
// RUN: not shardc cost --target cost/target_file.toml %s
// RUN: not shardc cost --target cost/no_such_file.toml %s
// On the torus 256 KiB are summed over rings of four chips, 50 GB/s each way round, and a megabyte is gathered over rings
// along both dimensions at once.
sdy.mesh @mesh = <["x"=4, "y"=4]>
func.func @main(%a: tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}, %b: tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}
