// RUN: shardc opt %s
// A warning doesn't keep the program from being printed.
sdy.mesh @small = <["x"=4]>
sdy.mesh @large = <["x"=8]>
func.func @main() {
  return
}
