//! Runs an executable. A [`session`] has the memory of all devices and starts a thread for each of them; [`steps`] is
//! what such a thread does, step by step, and [`parallel`] divides large steps among more threads. [`memory`] is the
//! memory of one device, and [`trace`] records the times of steps.

pub(super) mod memory;
mod parallel;
pub(super) mod session;
mod steps;
pub(super) mod trace;
