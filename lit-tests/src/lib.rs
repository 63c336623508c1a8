//! The tests of this package live in its tests folder.
