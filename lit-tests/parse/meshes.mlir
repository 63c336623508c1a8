// RUN: shardc opt %s
// Meshes: by order, with their own order of devices, empty, and one device alone.
sdy.mesh @plain = <["x"=2, "y"=3]>
sdy.mesh @ordered = <["a"=3, "b"=2], device_ids=[0, 2, 4, 1, 3, 5]>
sdy.mesh @empty = <[]>
sdy.mesh @device_3 = <[], device_ids=[3]>
func.func @main() {
  return
}
