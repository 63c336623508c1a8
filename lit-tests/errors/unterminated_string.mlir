// RUN: not shardc opt %s
module attributes {name = "never closed} {
  func.func @main() {
    return
  }
}
