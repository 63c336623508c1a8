// RUN: not shardc opt %s
// Two resources of one name: which one is meant?
func.func @main() -> tensor<1xf32> {
  %0 = stablehlo.constant dense_resource<a> : tensor<1xf32>
  return %0 : tensor<1xf32>
}
{-# dialect_resources: { builtin: { a: "0x0400000000000040", a: "0x040000000000803F" } } #-}
