//! One idea per `.mlir` file, its snapshot beside it; the harness is `tests/lit.rs`.
