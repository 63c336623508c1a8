// RUN: shardc opt --emit-bytecode %s | shardc opt
// RUN: shardc compile --emit-bytecode --locations %s | shardc opt --locations
// RUN: not shardc opt --emit-bytecode --json %s
// RUN: not shardc opt --emit-bytecode --split-input-file=func %s
// RUN: not shardc compile --emit linalg --emit-bytecode %s
// RUN: not shardc opt --emit-bytecode-version=6 %s
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %some = stablehlo.constant dense<[[1, -2], [3, 400]]> : tensor<2x2xi32>
  %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32> loc("model.py":7:3)
  return %sum : tensor<4xf32> loc(callsite("f"("model.py":9:1) at fused<"m">["a", unknown]))
}
