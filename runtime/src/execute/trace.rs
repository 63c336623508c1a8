//! What every device did when.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use dialect::ir::Op;

use crate::collective::{note_waits, waited};

/// The most events that are kept of one device; those after them are counted.
pub const MAX_EVENTS: usize = 1 << 20;

/// One run of a step of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The op that it runs; of several ops in one kernel, the last.
    pub op: Op,
    /// From the start of the run on.
    pub start: Duration,
    /// How long it took. A loop's or branch's contains what runs in it.
    pub took: Duration,
    /// How long of that the device waited for others.
    pub waited: Duration,
}

/// The events of one device, in the order in which they ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Track {
    /// The first [`MAX_EVENTS`] of them.
    pub events: Vec<Event>,
    /// How many came after those.
    pub lost: u64,
    /// When it waited for other devices, from the start of the run on, and how long.
    pub waits: Vec<(Duration, Duration)>,
}

/// Writes a track while its device runs.
pub(super) struct Recorder {
    begin: Instant,
    track: RefCell<Track>,
}

impl Recorder {
    /// A recorder whose time begins at `begin`.
    pub(super) fn new(begin: Instant) -> Self {
        Self { begin, track: RefCell::default() }
    }

    /// Begins, on the thread of the device.
    pub(super) fn start(&self) {
        note_waits(true);
    }

    /// Runs a step of `op` and records it.
    pub(super) fn step<T>(&self, op: Op, run: impl FnOnce() -> T) -> T {
        let (start, (_, waits)) = (self.begin.elapsed(), waited(usize::MAX));
        let result = run();
        let event = Event { op, start, took: self.begin.elapsed() - start, waited: waited(waits).0 };
        let track = &mut *self.track.borrow_mut();
        if track.events.len() < MAX_EVENTS {
            track.events.push(event);
        } else {
            track.lost += 1;
        }
        result
    }

    /// What was recorded.
    pub(super) fn finish(self) -> Track {
        let mut track = self.track.into_inner();
        let waits = note_waits(false).into_iter().take(MAX_EVENTS);
        track.waits = waits.map(|(start, took)| (start.saturating_duration_since(self.begin), took)).collect();
        track
    }
}
