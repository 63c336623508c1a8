//! The result of an estimate: totals, every collective and copy, and when each op runs.

use dialect::ir::Op;
use dialect::memory::MemorySpace;
use dialect::op::Collective;

use super::roofline::Work;

/// What a run costs.
#[derive(Clone, Debug, Default)]
pub struct Estimate {
    /// Seconds of arithmetic and memory traffic.
    pub compute_seconds: f64,
    /// Seconds of collectives.
    pub communication_seconds: f64,
    /// Seconds from start to end.
    pub step_seconds: f64,
    /// FLOPs of products and convolutions on one device.
    pub flops: f64,
    /// Bytes one device reads and writes in its memory.
    pub memory_traffic: f64,
    /// Seconds of copies between the device's memory and the host's.
    pub host_copy_seconds: f64,
    /// Seconds that the step is longer because of these copies.
    pub host_exposed_seconds: f64,
    /// Seconds of the step that slices or islands wait for the slowest one.
    pub waiting_seconds: f64,
    /// Peak memory in which one device holds its values, in bytes, as laid out by
    /// [`Buffers`](dialect::buffers::Buffers).
    pub peak_bytes: f64,
    /// Peak memory in which the host holds one device's values, in bytes.
    pub host_peak_bytes: f64,
    /// Every collective, in the order of the program.
    pub collectives: Vec<Communication>,
    /// Every copy between the device's memory and the host's, in the order of the program.
    pub host_copies: Vec<HostCopy>,
    /// Loops whose trips are unknown, which count [`UNKNOWN_TRIP_COUNT`](super::target::UNKNOWN_TRIP_COUNT) times.
    pub guessed_loops: u64,
    /// The calls of kernels whose arithmetic is unknown, in the order of the program; only their memory traffic counts.
    pub unpriced: Vec<Unpriced>,
    /// The ranges of the figures; `None` if they weren't computed, or if nothing is known about the chip.
    pub ranges: Option<Ranges>,
    /// When each op runs; for a loop, its first trip.
    pub timeline: Vec<Event>,
}

impl Estimate {
    /// Seconds during which a device neither computes nor waits for other slices.
    pub fn exposed_seconds(&self) -> f64 {
        (self.step_seconds - self.waiting_seconds - self.compute_seconds).max(0.0)
    }
}

/// One collective op.
#[derive(Clone, Debug)]
pub struct Communication {
    /// The op.
    pub op: Op,
    /// What it does.
    pub collective: Collective,
    /// Bytes of operands per device.
    pub operand_bytes: u64,
    /// Bytes of results per device.
    pub result_bytes: u64,
    /// Devices that take part together; 2 for a permute.
    pub group: usize,
    /// Seconds of one execution.
    pub seconds: f64,
    /// Executions.
    pub count: u64,
    /// Whether a loop around it has unknown trips, so that `count` is a guess.
    pub guessed: bool,
}

/// One copy between a device's memory and its host's.
#[derive(Clone, Copy, Debug)]
pub struct HostCopy {
    /// The op that copies.
    pub op: Op,
    /// The memory that it copies to.
    pub to: MemorySpace,
    /// Bytes of each device.
    pub bytes: u64,
    /// Seconds of one execution.
    pub seconds: f64,
    /// Executions.
    pub count: u64,
}

/// A call of a kernel whose arithmetic is unknown.
#[derive(Clone, Copy, Debug)]
pub struct Unpriced {
    /// The op.
    pub op: Op,
    /// Bytes of memory traffic of one execution.
    pub bytes: f64,
    /// Executions.
    pub count: u64,
}

/// The least and the most that comparisons let one expect of a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

/// The ranges of an estimate's figures, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ranges {
    /// Of [`Estimate::step_seconds`].
    pub step: Range,
    /// Of [`Estimate::compute_seconds`].
    pub compute: Range,
    /// Of [`Estimate::exposed_seconds`].
    pub exposed: Range,
}

/// What of a device an op keeps busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// Arithmetic and memory traffic.
    Compute,
    /// Links to other devices.
    Communication,
    /// The link to the host, for copies to this memory.
    Host(MemorySpace),
}

impl Stream {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Communication => "communication",
            Self::Host(MemorySpace::Host) => "to the host",
            Self::Host(MemorySpace::Device) => "from the host",
        }
    }

    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Compute, Self::Communication, Self::Host(MemorySpace::Host), Self::Host(MemorySpace::Device)];
}

/// One op on the timeline.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The op.
    pub op: Op,
    /// Where it runs.
    pub stream: Stream,
    /// Seconds from the start of the program.
    pub start: f64,
    /// How long it takes.
    pub seconds: f64,
    /// What it does in that time.
    pub work: Work,
    /// How often the op runs.
    pub count: u64,
}
