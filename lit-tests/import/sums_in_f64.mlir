// RUN: shardc opt --passes import %s
// RUN: shardc run --interpret %s
// A product of f32 whose algorithm asks for sums in f64 is one of f64: here a sum in f32 would lose the 1.
func.func @main() -> tensor<f32> {
  %a = stablehlo.constant dense<[1.0e8, 1.0, -1.0e8]> : tensor<3xf32>
  %b = stablehlo.constant dense<1.0> : tensor<3xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f64, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
