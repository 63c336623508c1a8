// RUN: shardc opt --json %s
// RUN: shardc opt --json=last %s
// With --json standard output has one line of JSON alone, which then has the program; --json=last puts it behind the text.
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
