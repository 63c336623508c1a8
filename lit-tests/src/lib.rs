//! Lit tests: one idea per `.mlir` file, with its snapshot beside it; the harness is `tests/lit.rs`.
