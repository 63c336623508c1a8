//! Timed events of every device.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use dialect::ir::Op;

use crate::collective::{note_waits, waited};

/// The maximum number of events that are kept for one device; later events are only counted.
pub const MAX_EVENTS: usize = 1 << 20;

/// One run of a step of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The op of the step; for several ops in one kernel, the last.
    pub op: Op,
    /// The time since the start of the run.
    pub start: Duration,
    /// The duration. That of a loop or branch includes the steps inside.
    pub took: Duration,
    /// The part of the duration in which the device waited for others.
    pub waited: Duration,
}

/// The events of one device, in the order in which they ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Track {
    /// The first [`MAX_EVENTS`] events.
    pub events: Vec<Event>,
    /// The number of events after those.
    pub lost: u64,
    /// The waits for other devices: the time since the start of the run, and the duration.
    pub waits: Vec<(Duration, Duration)>,
}

/// Writes a track while its device runs.
pub(super) struct Recorder {
    begin: Instant,
    track: RefCell<Track>,
}

impl Recorder {
    /// Creates a recorder whose time begins at `begin`.
    pub(in crate::execute) fn new(begin: Instant) -> Self {
        Self { begin, track: RefCell::default() }
    }

    /// Starts recording. Must be called on the thread of the device.
    pub(in crate::execute) fn start(&self) {
        note_waits(true);
    }

    /// Runs a step of `op` and records it.
    pub(in crate::execute) fn step<T>(&self, op: Op, run: impl FnOnce() -> T) -> T {
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

    /// Returns the recorded track.
    pub(super) fn finish(self) -> Track {
        let mut track = self.track.into_inner();
        let waits = note_waits(false).into_iter().take(MAX_EVENTS);
        track.waits = waits.map(|(start, took)| (start.saturating_duration_since(self.begin), took)).collect();
        track
    }
}
