//! Collectives: what devices compute from each other's values, over any transport.
//!
//! Every collective is built on one operation: the devices of a group make their operands visible to each other until
//! all of them have read what they need. A [`Transport`] does that; a [`Plan`] says what is read. Every device of a
//! group combines operands in the order of the group, so results are bitwise the same on all of them.

mod channels;
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

pub use channels::Channels;
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
pub use wire::{Combination, Incoming, Outgoing, Route, State, Watched, Wire};

/// What a member of a group does with the operands of all members.
pub type Read<'a> = dyn FnMut(&[&[u8]]) + Send + 'a;

/// How devices read each other's bytes.
pub trait Transport: Sync {
    /// Makes `mine` visible to the devices of group `group` of collective `site`, and calls `read` with the bytes of
    /// all members in the order of the group, of which it may look at what `needs` says alone. Returns once nobody reads
    /// `mine` anymore. Fails if a device of the group has ended or failed, or if devices wait for each other forever.
    ///
    /// `read` must wait for nobody: it may be called by another member, which does all of the group's work.
    fn share(
        &self,
        device: usize,
        site: usize,
        group: usize,
        mine: &[u8],
        needs: &Needs<'_>,
        read: &mut Read<'_>,
    ) -> Result<(), String>;

    /// Combines the operands of a group in an order of its own, if it may: where that gives the same bits, or somebody has
    /// said that the order doesn't matter. Otherwise nothing happens.
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

    /// Announces that `device` takes part in no further collectives; `failure` is the reason if it failed.
    fn leave(&self, device: usize, failure: Option<&str>);
}

/// How operands are combined element by element.
pub struct Reduction<'a> {
    /// By what.
    pub op: ScalarOp,
    /// The type of their elements.
    pub element: ElementType,
    /// Combines rows of the operands into the last argument, where they follow each other.
    pub combine: fn(&[&[u8]], Rows, &mut [u8]),
    /// Where the result is scattered: the part of it that the member at this place of the group gets.
    pub scattered: Option<&'a dyn Fn(usize) -> Part>,
}

/// A collective of a program: its groups, and its op's name for messages.
#[derive(Clone, Debug)]
pub struct Site {
    /// `all_reduce`, …
    pub name: String,
    /// The groups of devices that exchange data.
    pub members: Arc<Members>,
}

/// When a thread waited for other devices, and how long.
pub type Wait = (Instant, Duration);

thread_local! {
    /// All waits of this thread, if somebody wants to know.
    static WAITS: RefCell<Option<Vec<Wait>>> = const { RefCell::new(None) };
}

/// Begins or ends to note down the waits of this thread, and returns those noted so far.
pub fn note_waits(on: bool) -> Vec<Wait> {
    WAITS.replace(on.then(Vec::new)).unwrap_or_default()
}

/// How long this thread has waited since it has noted its waits, and how often.
pub fn waited(since: usize) -> (Duration, usize) {
    WAITS.with_borrow(|waits| {
        let waits = waits.as_deref().unwrap_or_default();
        (waits[since.min(waits.len())..].iter().map(|wait| wait.1).sum(), waits.len())
    })
}

/// Runs what blocks this thread until other devices are there.
fn wait<T>(block: impl FnOnce() -> T) -> T {
    if WAITS.with_borrow(Option::is_none) {
        return block();
    }
    let start = Instant::now();
    let result = block();
    WAITS.with_borrow_mut(|waits| waits.as_mut().map(|waits| waits.push((start, start.elapsed()))));
    result
}
