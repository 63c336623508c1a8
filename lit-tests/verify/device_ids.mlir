// RUN: not shardc opt %s
sdy.mesh @mesh = <["x"=4], device_ids=[0, 1, 1, 3]>
func.func @main() {
  return
}
