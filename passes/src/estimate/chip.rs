//! The TPU generations as data: one row per chip, everything per chip and in SI units. GPUs are rows of `gpus`.
//!
//! Sources, cited by key on the figures: **B1** the book jax-ml/scaling-book (commit 0819a7d8, `file:line`), **B2**,
//! **B3** its later editions, **JAX** jax/_src/pallas/mosaic/tpu_info.py (per TensorCore there, multiplied here),
//! **GC** Google Cloud's TPU pages. Where sources differ the book's table is preferred: its link figures are 90 % of
//! the nominal ones, which is what transfers reach.

use std::sync::{Mutex, PoisonError};

use super::gpus::GPUS;
use super::kernels::KernelCost;
use super::precision::Precision;
use super::reached::{MXU_128, MXU_256, Reached};

/// One generation of TPUs or GPUs. All rates and capacities are per chip.
#[derive(Debug, PartialEq)]
pub struct Chip {
    /// The name written in targets.
    pub name: &'static str,
    /// Other names accepted in targets.
    pub aliases: &'static [&'static str],
    /// The costs of kernels that a description of the chip states.
    pub kernels: &'static [KernelCost],
    /// The generation's number; layouts changed with generation 7.
    pub generation: u32,
    /// Peak dense matmul rate in bf16, FLOP/s.
    pub bf16_flops: f64,
    /// Peak int8 rate in OP/s, where the chip has a separate one.
    pub int8_flops: Option<f64>,
    /// Peak int4 rate in OP/s, where the chip has a separate one.
    pub int4_flops: Option<f64>,
    /// Peak fp8 rate in FLOP/s, where the chip has a separate one.
    pub fp8_flops: Option<f64>,
    /// HBM capacity in bytes.
    pub hbm_bytes: u64,
    /// HBM bandwidth in bytes/s.
    pub hbm_bandwidth: f64,
    /// Copies between the memory of one chip and its host's, bytes/s in each direction: what PCIe or another link to
    /// the host has nominally.
    pub host_bandwidth: f64,
    /// VMEM capacity in bytes, all cores together.
    pub vmem_bytes: u64,
    /// The MXU is a square systolic array of this side; both weight dimensions pad to it.
    pub mxu_side: u64,
    /// How the chips of a slice are joined.
    pub fabric: Fabric,
    /// Bandwidth of one link in one direction, bytes/s: of a torus, one ICI link, of which an axis with a ring has two;
    /// of a switch, all that one chip may send.
    pub link_bandwidth: f64,
    /// Seconds one hop takes.
    pub hop_latency: f64,
    /// Bytes/s that one chip may send to other slices, over the network between them.
    pub network_bandwidth: f64,
    /// Seconds until the first byte arrives in another slice.
    pub network_latency: f64,
    /// Dimensions of a slice: 2 or 3 of a torus, 1 of a switch.
    pub torus_rank: usize,
    /// Which dimensions of a slice have wraparound links.
    pub wrap_rule: WrapRule,
    /// Shape of a full pod; 1 beyond the chip's dimensions.
    pub pod: [u64; 3],
    /// Chips in a full pod, the largest slice.
    pub pod_chips: u64,
    /// Shape of the chips behind one host.
    pub host: [u64; 3],
    /// Devices a program sees per chip when it addresses chiplets one by one, else 1.
    pub chiplets: u64,
    /// One-way bandwidth between two chiplets of a chip, bytes/s; unused where `chiplets` is 1.
    pub chiplet_bandwidth: f64,
    /// What programs reach of these rates; `None` without measurements.
    pub reached: Option<&'static Reached>,
}

/// How the chips of a slice are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fabric {
    /// Links to the neighbors along each dimension.
    Torus,
    /// A switch that every chip has the same bandwidth to.
    Switch,
}

/// When a dimension of a slice closes to a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrapRule {
    /// A dimension wraps only when it is exactly 16 long (B1 tpus.md:143,147,195).
    SixteenLong,
    /// Every dimension wraps when the slice is made of whole 4x4x4 cubes, none otherwise (B1 tpus.md:143,195).
    WholeCubes,
    /// Only a full pod wraps; no source describes smaller slices, so they are assumed to be lines.
    WholePod,
    /// These dimensions wrap where they have more than two chips.
    Stated([bool; 3]),
}

impl WrapRule {
    /// Which of the dimensions wrap, for a slice of shape `dims` of a pod of shape `pod`.
    pub fn wraps(self, dims: [u64; 3], pod: [u64; 3]) -> [bool; 3] {
        match self {
            WrapRule::SixteenLong => dims.map(|size| size == 16),
            WrapRule::WholeCubes => [dims.iter().all(|size| size.is_multiple_of(4)); 3],
            WrapRule::WholePod => [dims == pod, dims == pod, false],
            WrapRule::Stated(wraps) => std::array::from_fn(|dim| wraps[dim] && dims[dim] > 2),
        }
    }
}

/// Chips and names that were described at run time. Targets are copied everywhere, so they refer to their chip; equal
/// descriptions share one, so that memory is bounded by how many different ones there are.
static DESCRIBED: Mutex<(Vec<&'static Chip>, Vec<&'static str>)> = Mutex::new((Vec::new(), Vec::new()));

impl Chip {
    /// This chip, kept until the program ends.
    pub fn interned(self) -> &'static Chip {
        let mut described = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = described.0.iter().find(|&&chip| *chip == self) {
            return known;
        }
        let chip: &'static Chip = Box::leak(Box::new(self));
        described.0.push(chip);
        chip
    }

    /// A name, kept until the program ends.
    pub fn interned_name(name: &str) -> &'static str {
        let mut described = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = described.1.iter().find(|&&known| known == name) {
            return known;
        }
        let name: &'static str = Box::leak(name.into());
        described.1.push(name);
        name
    }

    /// The chip of that name or alias, if there is one.
    pub fn named(name: &str) -> Option<&'static Chip> {
        CHIPS.iter().chain(&GPUS).find(|chip| chip.is_called(name))
    }

    /// Whether this is its name or one of its other names, also as JAX's `device_kind` says it: `TPU v5 lite`.
    pub fn is_called(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let makers = ["tpu ", "nvidia ", "amd instinct "];
        let short = makers.iter().find_map(|maker| name.strip_prefix(maker)).unwrap_or(&name);
        self.name == name || self.name == short || self.aliases.iter().any(|&alias| alias == name || alias == short)
    }

    /// The shape of a small slice, for messages.
    pub(super) fn example_shape(&self) -> String {
        match self.torus_rank {
            1 => self.pod[0].to_string(),
            2 => "4x4".to_owned(),
            _ => "4x4x4".to_owned(),
        }
    }

    /// Peak matmul rate in FLOP/s for a precision class; a class that the chip has no rate for runs at the next wider
    /// one's.
    pub fn peak_flops(&self, precision: Precision) -> f64 {
        match precision {
            Precision::Int4 => self.int4_flops.or(self.int8_flops).unwrap_or(self.bf16_flops),
            Precision::Int8 => self.int8_flops.unwrap_or(self.bf16_flops),
            Precision::Fp8 => self.fp8_flops.unwrap_or(self.bf16_flops),
            Precision::Bf16 | Precision::F32 => self.bf16_flops,
            Precision::F32High => self.bf16_flops / 3.0,
            Precision::F32Highest => self.bf16_flops / 6.0,
        }
    }
}

impl Chip {
    /// Returns the seconds of a permute of `bytes` that takes `seconds(bytes)` at the nominal rates.
    pub(super) fn permute_seconds(&self, bytes: f64, seconds: impl Fn(f64) -> f64) -> f64 {
        match self.reached {
            Some(reached) => reached.permute_seconds(bytes, self.hop_latency, seconds),
            None => seconds(bytes),
        }
    }
}

/// Copies between a chip's memory and its host's where nothing is published, an assumption: PCIe of the third
/// generation with 16 lanes, or of the fourth with 8, bytes/s in each direction.
pub const HOST_BANDWIDTH: f64 = 16e9;

/// About 1 us per ICI hop on every generation (B1 sharding.md:323,535, tpus.md:254).
const HOP_LATENCY: f64 = 1e-6;

/// Seconds until the first byte arrives in another slice. Nothing is published for TPUs; this is what a message between
/// hosts of one data center takes.
const NETWORK_LATENCY: f64 = 10e-6;

/// Every TPU a target can name, oldest first.
///
/// v2 and v3 are priced as one device per chip although JAX shows their two cores as two devices: nothing is published
/// about the path between those cores.
pub static CHIPS: [Chip; 7] = [
    Chip {
        name: "v2",
        aliases: &[],
        kernels: &[],
        generation: 2,
        bf16_flops: 46e12, // JAX; B1 profiling.md:228
        int8_flops: None,
        int4_flops: None,
        fp8_flops: None,
        hbm_bytes: 16_000_000_000,      // JAX
        hbm_bandwidth: 716e9,           // JAX
        host_bandwidth: HOST_BANDWIDTH, // assumed
        vmem_bytes: 2 * (16 << 20),     // JAX
        mxu_side: 128,                  // B1 tpus.md:90
        fabric: Fabric::Torus,
        link_bandwidth: 60e9, // B1 profiling.md:240
        hop_latency: HOP_LATENCY,
        network_bandwidth: 6.25e9, // B1 tpus.md:197: 25e9 per host of 4 chips
        network_latency: NETWORK_LATENCY,
        torus_rank: 2, // B1 tpus.md:133
        wrap_rule: WrapRule::WholePod,
        pod: [16, 16, 1], // uncertain: in none of the sources; limits slices and closes rings only at this size
        pod_chips: 256,
        host: [2, 2, 1], // B1 sharding.md:158 counts 8 cores, two to a chip
        chiplets: 1,
        chiplet_bandwidth: 0.0,
        reached: Some(&MXU_128),
    },
    Chip {
        name: "v3",
        aliases: &[],
        kernels: &[],
        generation: 3,
        bf16_flops: 140e12,       // B1 tpus.md:179; GC says 123e12
        int8_flops: Some(140e12), // B1 tpus.md:179: no faster than bf16
        int4_flops: None,
        fp8_flops: None,
        hbm_bytes: 32_000_000_000,      // B1 tpus.md:179
        hbm_bandwidth: 900e9,           // B1 tpus.md:179
        host_bandwidth: HOST_BANDWIDTH, // assumed
        vmem_bytes: 2 * (16 << 20),     // JAX
        mxu_side: 128,                  // B1 tpus.md:334
        fabric: Fabric::Torus,
        link_bandwidth: 100e9, // B1 tpus.md:189, uncertain: above its successors
        hop_latency: HOP_LATENCY,
        network_bandwidth: 3.125e9, // B1 tpus.md:197: 25e9 per host of 8 chips
        network_latency: NETWORK_LATENCY,
        torus_rank: 2, // B1 tpus.md:133
        wrap_rule: WrapRule::WholePod,
        pod: [32, 32, 1], // B1 tpus.md:179
        pod_chips: 1024,
        host: [4, 2, 1], // B1 tpus.md:179
        chiplets: 1,
        chiplet_bandwidth: 0.0,
        reached: Some(&MXU_128),
    },
    Chip {
        name: "v4p",
        aliases: &["v4"],
        kernels: &[],
        generation: 4,
        bf16_flops: 275e12,       // B1 tpus.md:180
        int8_flops: Some(275e12), // B1 tpus.md:180
        int4_flops: None,
        fp8_flops: None,
        hbm_bytes: 32_000_000_000,  // B1 tpus.md:180
        hbm_bandwidth: 1.2e12,      // B1 tpus.md:180
        host_bandwidth: 16e9,       // B1 tpus.md:129
        vmem_bytes: 2 * (16 << 20), // JAX
        mxu_side: 128,              // B1 tpus.md:334
        fabric: Fabric::Torus,
        link_bandwidth: 45e9, // B1 tpus.md:190
        hop_latency: HOP_LATENCY,
        network_bandwidth: 6.25e9, // B1 tpus.md:197: 25e9 per host of 4 chips
        network_latency: NETWORK_LATENCY,
        torus_rank: 3, // B1 tpus.md:133,139
        wrap_rule: WrapRule::WholeCubes,
        pod: [16, 16, 16], // B1 tpus.md:139,180
        pod_chips: 4096,
        host: [2, 2, 1], // B1 tpus.md:180
        chiplets: 1,
        chiplet_bandwidth: 0.0,
        reached: Some(&MXU_128),
    },
    Chip {
        name: "v5p",
        aliases: &["v5"], // JAX: the device_kind of a v5p is "TPU v5"
        kernels: &[],
        generation: 5,
        bf16_flops: 459e12,        // B1 tpus.md:181
        int8_flops: Some(918e12),  // B1 tpus.md:181
        int4_flops: Some(1.84e15), // JAX
        fp8_flops: Some(459e12),   // GC
        hbm_bytes: 96_000_000_000, // B1 tpus.md:181
        hbm_bandwidth: 2.8e12,     // B1 tpus.md:181
        host_bandwidth: 16e9,      // B2 tpus specs; B1 tpus.md:197 has 15e9
        vmem_bytes: 128 << 20,     // JAX
        mxu_side: 128,             // B1 tpus.md:334
        fabric: Fabric::Torus,
        link_bandwidth: 90e9, // B1 tpus.md:191
        hop_latency: HOP_LATENCY,
        network_bandwidth: 6.25e9, // B2 tpus specs
        network_latency: NETWORK_LATENCY,
        torus_rank: 3, // B1 tpus.md:133,139
        wrap_rule: WrapRule::WholeCubes,
        pod: [16, 20, 28], // B1 tpus.md:139,181
        pod_chips: 8960,
        host: [2, 2, 1], // B1 tpus.md:181
        chiplets: 1,
        chiplet_bandwidth: 0.0,
        reached: Some(&MXU_128),
    },
    Chip {
        name: "v5e",
        aliases: &["v5litepod", "v5lite", "v5 lite"],
        kernels: &[],
        generation: 5,
        bf16_flops: 197e12,       // B1 tpus.md:182
        int8_flops: Some(394e12), // B1 tpus.md:182
        int4_flops: Some(788e12), // JAX
        fp8_flops: None,
        hbm_bytes: 16_000_000_000, // B1 tpus.md:182
        hbm_bandwidth: 810e9,      // B1 tpus.md:182; its prose has 820e9
        host_bandwidth: 16e9,      // B2 tpus specs; B1 tpus.md:197 has 15e9
        vmem_bytes: 128 << 20,     // B1 tpus.md:95
        mxu_side: 128,             // B1 tpus.md:90,334
        fabric: Fabric::Torus,
        link_bandwidth: 45e9, // B1 tpus.md:192
        hop_latency: HOP_LATENCY,
        network_bandwidth: 3.125e9, // B2 tpus specs
        network_latency: NETWORK_LATENCY,
        torus_rank: 2, // B1 tpus.md:133,147
        wrap_rule: WrapRule::SixteenLong,
        pod: [16, 16, 1], // B1 tpus.md:147,182
        pod_chips: 256,
        host: [4, 2, 1], // B1 tpus.md:182
        chiplets: 1,
        chiplet_bandwidth: 0.0,
        reached: Some(&MXU_128),
    },
    Chip {
        name: "v6e",
        aliases: &["v6 lite", "trillium"],
        kernels: &[],
        generation: 6,
        bf16_flops: 920e12,        // B1 tpus.md:183; GC says 918e12
        int8_flops: Some(1.84e15), // B1 tpus.md:183
        int4_flops: Some(3.68e15), // JAX
        fp8_flops: Some(920e12),   // JAX
        hbm_bytes: 32_000_000_000, // B1 tpus.md:183
        hbm_bandwidth: 1.6e12,     // B1 tpus.md:183
        host_bandwidth: 32e9,      // B1 tpus.md:197
        vmem_bytes: 128 << 20,     // JAX
        mxu_side: 256,             // B1 tpus.md:90,169,336
        fabric: Fabric::Torus,
        link_bandwidth: 90e9, // B1 tpus.md:193
        hop_latency: HOP_LATENCY,
        network_bandwidth: 12.5e9, // B2 tpus specs
        network_latency: NETWORK_LATENCY,
        torus_rank: 2, // B1 tpus.md:133,147
        wrap_rule: WrapRule::SixteenLong,
        pod: [16, 16, 1], // B1 tpus.md:147,183
        pod_chips: 256,
        host: [4, 2, 1], // B1 tpus.md:183
        chiplets: 1,
        chiplet_bandwidth: 0.0,
        reached: Some(&MXU_256),
    },
    Chip {
        name: "v7x",
        aliases: &["tpu7x", "ironwood"],
        kernels: &[],
        generation: 7,
        bf16_flops: 2.3e15, // B3 tpus table
        int8_flops: None,   // JAX: no int8 matmul
        int4_flops: None,
        fp8_flops: Some(4.61e15),   // GC
        hbm_bytes: 192_000_000_000, // B3 tpus table
        hbm_bandwidth: 7.4e12,      // B3 tpus table
        host_bandwidth: 32e9,       // assumed: nothing is published, as much as a v6e
        vmem_bytes: 128 << 20,      // JAX
        mxu_side: 256,              // JAX
        fabric: Fabric::Torus,
        link_bandwidth: 90e9, // B3 tpus table
        hop_latency: HOP_LATENCY,
        network_bandwidth: 12.5e9, // B3 tpus
        network_latency: NETWORK_LATENCY,
        torus_rank: 3, // GC
        wrap_rule: WrapRule::WholeCubes,
        pod: [4, 4, 576], // B3 tpus table
        pod_chips: 9216,
        host: [2, 2, 1], // B3 tpus table
        chiplets: 2,     // GC: two chiplets, shown to JAX as two devices
        // GC tpu7x: die-to-die is six times as fast as one ICI link, assumed here to hold per direction and for the
        // book's link figure.
        chiplet_bandwidth: 6.0 * 90e9,
        reached: Some(&MXU_256),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check_wraps(chip: &str, dims: [u64; 3], expected: [bool; 3]) {
        let chip = Chip::named(chip).unwrap();
        assert_eq!(chip.wrap_rule.wraps(dims, chip.pod), expected, "{} {dims:?}", chip.name);
    }

    #[test]
    fn wraparound() {
        check_wraps("v6e", [8, 16, 1], [false, true, false]);
        check_wraps("v4", [2, 4, 4], [false; 3]);
        check_wraps("v4", [4, 8, 12], [true; 3]);
        check_wraps("v3", [32, 32, 1], [true, true, false]);
        check_wraps("v3", [16, 32, 1], [false; 3]);
    }

    #[test]
    fn a_missing_rate_falls_back_to_the_wider_class() {
        let peak = |chip: &str, precision| Chip::named(chip).unwrap().peak_flops(precision);
        assert_eq!(peak("v7x", Precision::Int8), 2.3e15);
        assert_eq!(peak("v7x", Precision::Fp8), 4.61e15);
        assert_eq!(peak("v3", Precision::Int4), 140e12);
        assert_eq!(peak("v5e", Precision::Fp8), 197e12);
        assert_eq!(peak("v5p", Precision::F32), 459e12);
        assert_eq!(peak("v5p", Precision::F32Highest), 76.5e12);
    }

    #[test]
    fn pods_hold_the_chips_they_are_said_to() {
        for chip in CHIPS.iter().chain(&GPUS) {
            assert_eq!(chip.pod.iter().product::<u64>(), chip.pod_chips, "{}", chip.name);
            assert_eq!(chip.pod.iter().filter(|&&size| size > 1).count(), chip.torus_rank, "{}", chip.name);
        }
    }
}
