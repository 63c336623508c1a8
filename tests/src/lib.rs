//! The tests of this package live in its tests folder; what several of them share is here.

pub mod oracle;
