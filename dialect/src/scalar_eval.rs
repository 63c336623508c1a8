//! What each scalar operation computes.
