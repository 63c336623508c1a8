//! Collectives: functions of the values of several devices, over any transport.
//!
//! Every collective is built on one operation: the devices of a group make their operands visible to each other until
//! all of them have read what they need. A [`Transport`] implements this operation, and a [`Plan`] chooses the bytes to
//! read. Every device of a group combines operands in the order of the group, so results are bitwise the same on all of
//! them.

mod members;
mod part;
mod plan;
mod ranks;
mod reduce;
mod shared;
#[cfg(test)]
mod tests;
mod wire;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dialect::ir::ElementType;
use dialect::scalar::ScalarOp;
pub use members::Members;
pub use part::{Needs, Part};
#[cfg(feature = "jit")]
pub(crate) use plan::Combiner;
pub use plan::Plan;
pub use ranks::{Ranks, Scratch};
pub use reduce::Rows;
pub use shared::Shared;
pub use wire::{Combination, Incoming, Outgoing, Route, State, Watched, Wire, World};

/// A function that reads the operands of all members of a group.
pub type Read<'a> = dyn FnMut(&[&[u8]]) + Send + 'a;

/// A way for devices to read each other's bytes.
pub trait Transport: Sync {
    /// Makes `mine` visible to the devices of group `group` of collective `site`, and calls `read` with the bytes of
    /// all members in the order of the group. `read` may only look at the parts in `needs`. Returns after the last
    /// member has read `mine`. Fails if a device of the group has ended or failed, or if devices wait for each other
    /// forever.
    ///
    /// `read` must not wait for another device, because another member may call it while it does the work of the whole
    /// group.
    fn share(
        &self,
        device: usize,
        site: usize,
        group: usize,
        mine: &[u8],
        needs: &Needs<'_>,
        read: &mut Read<'_>,
    ) -> Result<(), String>;

    /// Combines the operands of a group in an order that the transport chooses. Returns `None` and does nothing if the
    /// transport can't, or if the order could change the result and the caller hasn't allowed that.
    fn combine(
        &self,
        _device: usize,
        _site: usize,
        _group: usize,
        _operand: &[u8],
        _how: &Reduction<'_>,
        _result: &mut [u8],
    ) -> Option<Result<(), String>> {
        None
    }

    /// Announces that `device` takes part in no further collectives. `failure` is the reason if the device failed.
    fn leave(&self, device: usize, failure: Option<&str>);
}

/// How the operands of a reduction are combined, element by element.
pub struct Reduction<'a> {
    /// The operation.
    pub op: ScalarOp,
    /// The type of the operands' elements.
    pub element: ElementType,
    /// Combines rows of the operands into the last argument, where the combined rows are contiguous.
    pub combine: fn(&[&[u8]], Rows, &mut [u8]),
    /// For a scattered result: returns the part of the result that the member at this position of the group gets.
    pub scattered: Option<&'a dyn Fn(usize) -> Part>,
}

/// A collective of a program: its groups, and the name of its op for messages.
#[derive(Clone, Debug)]
pub struct Site {
    /// The op's name: `all_reduce`, …
    pub name: String,
    /// The groups of devices that exchange data.
    pub members: Arc<Members>,
}

/// The start and the duration of one wait for other devices.
pub type Wait = (Instant, Duration);

thread_local! {
    /// All waits of this thread, if they are recorded.
    static WAITS: RefCell<Option<Vec<Wait>>> = const { RefCell::new(None) };
}

/// Starts or stops recording the waits of this thread, and returns the waits recorded so far.
pub fn note_waits(on: bool) -> Vec<Wait> {
    WAITS.replace(on.then(Vec::new)).unwrap_or_default()
}

/// Returns the total duration of the recorded waits from number `since` on, and the number of all recorded waits.
pub fn waited(since: usize) -> (Duration, usize) {
    WAITS.with_borrow(|waits| {
        let waits = waits.as_deref().unwrap_or_default();
        (waits[since.min(waits.len())..].iter().map(|wait| wait.1).sum(), waits.len())
    })
}

/// Runs `block`, which blocks this thread until other devices have arrived, and records the wait.
fn wait<T>(block: impl FnOnce() -> T) -> T {
    if WAITS.with_borrow(Option::is_none) {
        return block();
    }
    let start = Instant::now();
    let result = block();
    WAITS.with_borrow_mut(|waits| waits.as_mut().map(|waits| waits.push((start, start.elapsed()))));
    result
}
