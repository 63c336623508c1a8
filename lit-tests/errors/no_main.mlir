// RUN: not shardc compile %s
func.func @f() {
  return
}
