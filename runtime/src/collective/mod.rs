//! Collectives: what devices compute from each other's values, over any transport.
//!
//! Every collective is made of one thing: a group of devices shows its operands to each other until all of them have
//! read what they need. A [`Transport`] does that, [`Plan`] says what is read. Every device of a group combines in
//! order of the group, so that results are bitwise the same on all of them.

mod channels;
mod members;
mod plan;
mod reduce;
mod shared;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use channels::Channels;
pub use members::Members;
pub use plan::Plan;
pub use shared::Shared;

/// How devices see each other's bytes.
pub trait Transport: Sync {
    /// Shows `mine` to the devices of group `group` of collective `site`, and calls `read` with everyone's bytes in
    /// order of the group. Returns when nobody reads `mine` any more. An error when a device of the group ended or
    /// failed, or when devices wait for each other forever.
    fn share(
        &self,
        device: usize,
        site: usize,
        group: usize,
        mine: &[u8],
        read: &mut dyn FnMut(&[&[u8]]),
    ) -> Result<(), String>;

    /// `device` will take part in nothing more; with `failure`, because of it.
    fn leave(&self, device: usize, failure: Option<&str>);
}

/// A collective of a program: its groups, and the op's name for messages.
#[derive(Clone, Debug)]
pub struct Site {
    /// `all_reduce`, …
    pub name: String,
    /// Devices that share.
    pub members: Arc<Members>,
}
