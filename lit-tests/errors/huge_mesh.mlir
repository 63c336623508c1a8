// RUN: not shardc opt %s
sdy.mesh @mesh = <["x"=1024, "y"=1024]>
func.func @main() {
  return
}
