// RUN: shardc opt --split-input-file= %s
// An empty marker divides nothing, as in LLVM: the line between the functions is a comment.
func.func @first() {
  return
}
// -----
func.func @second() {
  return
}
