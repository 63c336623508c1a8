// RUN: not shardc opt
// RUN: not shardc optt %s
// RUN: not shardc opt --no-such-flag %s
// RUN: not shardc opt no_such_file.mlir
// RUN: not shardc opt errors
// RUN: not shardc errors/usage.mlir
func.func @main() {
  return
}
