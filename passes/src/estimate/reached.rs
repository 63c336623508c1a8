//! What programs reach of a chip's nominal rates, as data: one row per class of chips.
//!
//! The figures are fitted to published measurements by `tests/bench/measured/fit_collectives.py` (130 collectives) and
//! `fit_steps.py` (86 training steps), which also state the errors on chips that the fit leaves out. The share of the
//! memory bandwidth is what the TPU's compiler assumes of fused loops (`tests/oracles/tpu_v5e.csv`: 409 to 437 of 540
//! bytes a cycle).

use super::collective::{
    CollectiveKind, CollectiveLoad, any_permute_seconds, broadcast_seconds, exchange_seconds, gather_by_switch,
    gather_over_links, through_levels,
};
use super::group::{Group, Level};

/// Shares of nominal rates, and what collectives take besides sending bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// The share of the peak rate that large products reach.
    pub products: f64,
    /// The same of large products of f32 in one pass: the TPU's compiler estimates 1.05 to 2.2 times the cycles of
    /// bf16, 1.5 on average (`tests/oracles/tpu_v5e.csv`).
    pub f32_products: f64,
    /// The bytes of operands and result from which a product of f32 is large, as a multiple of the size of VMEM: one of
    /// 4,096 by 4,096 by 4,096, 192 MiB, takes as long as one of bf16.
    pub vmem_share: f64,
    /// The share that grouped products, those of experts, reach.
    pub grouped: f64,
    /// The share of the peak rate that products inside called kernels reach, those of attention.
    pub kernels: f64,
    /// The share of the memory bandwidth.
    pub memory: f64,
    /// The share of the bandwidth of links between chips of a slice or an island.
    pub links: f64,
    /// What collectives inside slices or islands take.
    pub collectives: Collectives,
    /// Seconds for each element of a copy between two layouts: 27 cycles for 1,024 elements of any type, as the TPU's
    /// compiler estimates.
    pub layout_copy: f64,
    /// How much longer a step takes for each doubling of the number of slices or islands, as a share of the step: they
    /// wait for the slowest one.
    pub waiting: f64,
}

/// What collectives take besides sending bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Collectives {
    /// On links of a torus.
    Torus {
        /// Seconds to start.
        start: f64,
        /// Seconds for each participant after the first, if the data goes around all of them in one ring.
        hop: f64,
        /// Seconds for each participant of a line after its first, if the data goes along one line after the other.
        line_step: f64,
    },
    /// By NCCL, which takes the fastest of its protocols.
    Nccl {
        /// Seconds to start inside an island, by the protocol that starts first.
        start: f64,
        /// The same between islands.
        network_start: f64,
        /// The share of the bandwidth of the network.
        network: f64,
        /// The share of the links' bandwidth at which a switch adds; `None` if it doesn't add.
        switch_sum: Option<f64>,
    },
}

/// NCCL's protocols LL, LL128 and Simple: how long each takes to start, relative to the first, and the share of the
/// bandwidth that it reaches.
const PROTOCOLS: [(f64, f64); 3] = [(1.0, 0.234), (1.29, 0.627), (3.40, 1.0)];

/// TPUs whose MXU has a side of 128.
pub(super) const MXU_128: Reached = Reached {
    products: 0.935,
    f32_products: 0.935 / 1.5,
    vmem_share: 1.6,
    grouped: 0.55,
    kernels: 0.445,
    memory: 0.8,
    links: 0.97,
    collectives: Collectives::Torus { start: 4.95e-6, hop: 1.54e-6, line_step: 7.9e-6 },
    layout_copy: 27.0 / 1024.0 / 1.5e9,
    waiting: 0.0255,
};

/// TPUs whose MXU has a side of 256.
pub(super) const MXU_256: Reached = Reached { products: 0.79, f32_products: 0.79 / 1.5, kernels: 0.94, ..MXU_128 };

/// GPUs of the Hopper generation.
pub(super) const HOPPER: Reached = Reached {
    products: 0.69,
    f32_products: 0.69,
    kernels: 0.66,
    layout_copy: 0.0,
    links: 0.77,
    collectives: Collectives::Nccl { start: 21.6e-6, network_start: 134e-6, network: 0.956, switch_sum: Some(0.605) },
    ..MXU_128
};

/// GPUs of the Ampere generation, whose switches don't add.
pub(super) const AMPERE: Reached = Reached {
    products: 0.84,
    f32_products: 0.84,
    kernels: 0.70,
    collectives: Collectives::Nccl { start: 47.5e-6, network_start: 134e-6, network: 0.956, switch_sum: None },
    ..HOPPER
};

/// GPUs of the Blackwell generation; the share of products is that of Hopper, because no step is published.
pub(super) const BLACKWELL: Reached = Reached {
    collectives: Collectives::Nccl { start: 16.1e-6, network_start: 134e-6, network: 0.956, switch_sum: Some(0.48) },
    ..HOPPER
};

impl Reached {
    /// Returns whether switches add what devices send.
    pub(super) fn adds_in_switches(&self) -> bool {
        matches!(self.collectives, Collectives::Nccl { switch_sum: Some(_), .. })
    }

    /// Returns the seconds of a collective on slices or islands.
    pub(super) fn collective_seconds(&self, load: &CollectiveLoad, group: &Group) -> f64 {
        if group.size() <= 1 && load.kind != CollectiveKind::CollectivePermute {
            return 0.0;
        }
        match self.collectives {
            Collectives::Torus { start, hop, line_step } => {
                let bytes = load.bytes() / self.links;
                start
                    + match load.kind {
                        CollectiveKind::AllGather | CollectiveKind::ReduceScatter | CollectiveKind::AllReduce => {
                            load.rounds() * (steps(group, hop, line_step) + self.gather_seconds(bytes, group))
                        }
                        CollectiveKind::AllToAll | CollectiveKind::RaggedAllToAll => {
                            exchange_seconds(bytes * group.size() as f64, group)
                        }
                        CollectiveKind::CollectivePermute => any_permute_seconds(bytes, group),
                        CollectiveKind::CollectiveBroadcast | CollectiveKind::CollectiveReduce => {
                            broadcast_seconds(bytes, group)
                        }
                    }
            }
            Collectives::Nccl { start, network_start, network, switch_sum } => {
                let inside = group.island().map_or(0.0, |island| {
                    let sums = switch_sum.filter(|_| load.kind == CollectiveKind::AllReduce);
                    let seconds = match sums {
                        Some(share) => load.bytes() / (share * island.bandwidth),
                        None => sent(load, group.size(), island.participants, 1) / (self.links * island.bandwidth),
                    };
                    by_fastest_protocol(start, seconds)
                });
                let across = group.network().map_or(0.0, |switch| {
                    let members = group.island().map_or(1, |island| island.participants);
                    let bytes = sent(load, group.size(), switch.participants, members);
                    // A message between two GPUs has a single step.
                    let start = if group.size() > 2 { network_start } else { start };
                    by_fastest_protocol(start, bytes / (network * switch.bandwidth))
                });
                inside.max(across)
            }
        }
    }

    fn gather_seconds(&self, bytes: f64, group: &Group) -> f64 {
        through_levels(group, |level, inside| match level {
            Level::Links(lines) => gather_over_links(bytes / inside, lines),
            Level::Switch(switch) => gather_by_switch(bytes * self.links / inside, switch),
        })
    }

    /// Returns the seconds of a permute of `bytes` that would take `seconds(bytes)` at the nominal rates; nothing if
    /// nothing is sent.
    pub(super) fn permute_seconds(&self, bytes: f64, hop_latency: f64, seconds: impl Fn(f64) -> f64) -> f64 {
        let start = match self.collectives {
            // The time to start includes the first link.
            Collectives::Torus { start, .. } => start - hop_latency,
            Collectives::Nccl { start, .. } => start,
        };
        match seconds(bytes / self.links) {
            0.0 => 0.0,
            nominal => nominal + start.max(0.0),
        }
    }
}

/// Returns the seconds in which data passes the participants of a group: around all of them, or along one line after
/// the other.
fn steps(group: &Group, hop: f64, line_step: f64) -> f64 {
    let lines = || group.lines().iter().chain(group.chiplets());
    let participants: f64 = lines().map(|line| line.participants as f64).product();
    let along_lines: f64 = lines().map(|line| (line.participants - 1) as f64).sum();
    (hop * (participants - 1.0)).min(line_step * along_lines)
}

/// Returns the bytes that a device sends to `participants` of one level, of which each stands for `members` devices.
fn sent(load: &CollectiveLoad, devices: u64, participants: u64, members: u64) -> f64 {
    let others = |n: u64| 1.0 - 1.0 / n as f64;
    match load.kind {
        // NCCL's rings pass through all devices.
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter | CollectiveKind::AllReduce => {
            load.rounds() * load.bytes() * others(devices) / members as f64
        }
        CollectiveKind::AllToAll | CollectiveKind::RaggedAllToAll => load.bytes() * others(participants),
        CollectiveKind::CollectivePermute | CollectiveKind::CollectiveBroadcast | CollectiveKind::CollectiveReduce => {
            load.bytes()
        }
    }
}

fn by_fastest_protocol(start: f64, seconds: f64) -> f64 {
    PROTOCOLS.iter().map(|(factor, share)| factor * start + seconds / share).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use dialect::sharding::AxisPart;

    use super::super::{Machine, Precision, Target};
    use super::*;

    fn machine(target: &str, devices: u64) -> Machine {
        Machine::new(Target::parse(target).unwrap(), &[devices]).unwrap()
    }

    /// Checks the modelled seconds of a collective over all devices against published ones.
    fn check(target: &str, kind: CollectiveKind, bytes: f64, measured: f64, within: f64) {
        let devices: u64 = target.split(':').nth(1).unwrap().split('x').map(|n| n.parse::<u64>().unwrap()).product();
        let machine = machine(target, devices);
        let group = machine.group(&[AxisPart::whole(0, devices as u32)]);
        let (operand, result) = match kind {
            CollectiveKind::AllGather => (bytes / devices as f64, bytes),
            CollectiveKind::ReduceScatter => (bytes, bytes / devices as f64),
            _ => (bytes, bytes),
        };
        let modelled = machine.collective_seconds(kind, operand, result, &group);
        let ratio = modelled / measured;
        assert!((ratio - 1.0).abs() <= within, "{target} {kind:?} of {bytes} bytes: {modelled} of {measured}");
    }

    #[test]
    fn collectives_take_what_others_measured() {
        use CollectiveKind::{AllGather, AllReduce};
        // The sources are in tests/bench/measured/collectives.json.
        check("h200:8", AllReduce, 16384.0, 30.83e-6, 0.3);
        check("h200:8", AllReduce, 1_073_741_824.0, 4.05e-3, 0.05);
        check("h100:8", AllReduce, 8_589_934_592.0, 31.32e-3, 0.05);
        check("h100:8", AllGather, 8_589_934_592.0, 20.31e-3, 0.1);
        check("a100:8", AllReduce, 2_147_483_648.0, 16.24e-3, 0.05);
        check("gb200:72", AllReduce, 8_589_934_592.0, 20.3e-3, 0.05);
        check("v6e:16x16", AllReduce, 606_076_928.0, 5.121e-3, 0.25);
    }

    #[test]
    fn small_collectives_take_their_start() {
        let seconds = |target: &str, devices: u64, kind: CollectiveKind| {
            let machine = machine(target, devices);
            machine.collective_seconds(kind, 0.0, 0.0, &machine.group(&[AxisPart::whole(0, devices as u32)]))
        };
        assert_eq!(seconds("h100:8", 8, CollectiveKind::AllReduce), 21.6e-6);
        assert_eq!(seconds("4xh100:8", 32, CollectiveKind::AllReduce), 134e-6);
        // Around all 8 devices, twice.
        let ring = seconds("v5e:2x4", 8, CollectiveKind::AllReduce);
        assert!((ring - (4.95e-6 + 2.0 * 7.0 * 1.54e-6)).abs() < 1e-12, "{ring}");
        // Along three lines of 16: 45 steps are shorter than a ring of 4,096.
        let lines = seconds("v5p:16x16x16", 4096, CollectiveKind::AllGather);
        assert!((lines - (4.95e-6 + 45.0 * 7.9e-6)).abs() < 1e-12, "{lines}");
    }

    #[test]
    fn more_bytes_never_take_less() {
        for (target, devices) in [("v5e:4x4", 16), ("2xv5e:4x4", 32), ("h100:8", 8), ("4xh100:8", 32)] {
            let machine = machine(target, devices);
            let group = machine.group(&[AxisPart::whole(0, devices as u32)]);
            for kind in [
                CollectiveKind::AllGather,
                CollectiveKind::ReduceScatter,
                CollectiveKind::AllReduce,
                CollectiveKind::AllToAll,
                CollectiveKind::CollectivePermute,
                CollectiveKind::CollectiveBroadcast,
            ] {
                let seconds = |bytes: f64| machine.collective_seconds(kind, bytes, bytes, &group);
                for power in 0..40 {
                    let (less, more) = (seconds(2f64.powi(power)), seconds(2f64.powi(power + 1)));
                    assert!(less <= more && less > 0.0, "{target} {kind:?} of 2^{power}: {less}, {more}");
                }
            }
        }
    }

    #[test]
    fn steps_of_several_slices_wait() {
        let waiting = |target: &str| Machine::new(Target::parse(target).unwrap(), &[32]).unwrap().waiting_seconds(10.0);
        assert_eq!(waiting("v5e:4x8"), 0.0);
        assert!((waiting("8xv5e:2x2") - 10.0 * 3.0 * 0.0255).abs() < 1e-12);
    }

    #[test]
    fn products_reach_a_share_of_the_peak() {
        let v6e = machine("v6e:2x2", 4);
        assert_eq!(v6e.product_rate(Precision::Bf16, 1e12), 0.79 * 920e12);
        assert_eq!(v6e.product_rate(Precision::F32, 1e6), 0.79 * 920e12);
        assert_eq!(v6e.product_rate(Precision::F32, 1e12), 0.79 / 1.5 * 920e12);
        assert_eq!(v6e.grouped_rate(Precision::Bf16), 0.55 * 920e12);
        assert_eq!(machine("mi300x:8", 8).product_rate(Precision::Bf16, 1e12), 1.3074e15);
    }
}
