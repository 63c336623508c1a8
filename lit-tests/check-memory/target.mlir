// RUN: shardc compile --target v5e:2x2 %s
// RUN: not shardc cost --target v5e:2x2 --deny memory %s
// RUN: shardc explain --target v5e:2x2 %s
// RUN: shardc compile --target v5e:2x2 --allow memory %s
// RUN: shardc compile --target v5e:2x2 --memory 64GiB %s
// RUN: shardc compile %s
// 16 GiB on each device of 16 GB: a warning wherever the target is given, an error if asked for, nothing under a limit of the user's that is larger, and nothing without a target.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<131072x65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<131072x65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.negate %a : tensor<131072x65536xf32>
  return %0 : tensor<131072x65536xf32>
}
