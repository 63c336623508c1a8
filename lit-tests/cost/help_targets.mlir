// RUN: shardc help targets
// What --target takes, with the figures of each chip and the names of clouds.
func.func @main() {
  return
}
