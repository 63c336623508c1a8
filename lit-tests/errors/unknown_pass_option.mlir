// RUN: not shardc opt --passes import{fast=true} %s
func.func @main() {
  return
}
