//! Pointwise ops: one row each, the scalar operation says it all.
