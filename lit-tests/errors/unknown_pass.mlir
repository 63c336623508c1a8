// RUN: not shardc opt --passes import,partitoin %s
func.func @main() {
  return
}
