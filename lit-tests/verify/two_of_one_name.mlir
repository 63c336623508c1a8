// RUN: not shardc opt %s
func.func @main() {
  return
}
func.func @main() {
  return
}
