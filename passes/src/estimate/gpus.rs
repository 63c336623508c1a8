//! GPUs as data: an island of them behind one switch is a slice, and a network connects islands.
//!
//! Sources in addition to those of `chip`: **NV**, **AMD** the vendors' data sheets, dense rates. The rates of an
//! island's switch and of the network are as in jax-ml/scaling-book's chapter on GPUs: what one GPU may send, and for
//! the network, a GPU's share of what its island may send.

use super::chip::{Chip, Fabric, WrapRule};
use super::reached::{AMPERE, BLACKWELL, HOPPER};

/// Seconds of a message within an island and between islands (PyTorch DTensor, _collective_utils.py).
const SWITCH_LATENCY: f64 = 0.6e-6;
const NETWORK_LATENCY: f64 = 2.7e-6;

/// The values that the rows share: an H100 in an island of eight.
const H100: Chip = Chip {
    name: "h100",
    aliases: &["h100-80gb", "h100 80gb hbm3"],
    kernels: &[],
    generation: 0,
    bf16_flops: 990e12,         // B1 applied-inference.md:99, B2 gpus.md
    int8_flops: Some(1.979e15), // NV
    int4_flops: None,
    fp8_flops: Some(1.979e15),     // NV
    hbm_bytes: 80_000_000_000,     // B2 gpus.md
    hbm_bandwidth: 3.35e12,        // B1 roofline.md:94,235
    host_bandwidth: 64e9,          // NV H100: PCIe of the fifth generation, 128e9 in both directions
    vmem_bytes: 132 * (228 << 10), // NV: shared memory of all multiprocessors
    mxu_side: 16,                  // tensor cores multiply tiles of 16 by 16
    fabric: Fabric::Switch,
    link_bandwidth: 450e9, // B2 gpus.md
    hop_latency: SWITCH_LATENCY,
    network_bandwidth: 400e9 / 8.0, // B2 gpus.md: 400e9 of a node
    network_latency: NETWORK_LATENCY,
    torus_rank: 1,
    wrap_rule: WrapRule::Stated([false; 3]),
    pod: [8, 1, 1], // B2 gpus.md
    pod_chips: 8,
    host: [8, 1, 1],
    chiplets: 1,
    chiplet_bandwidth: 0.0,
    reached: Some(&HOPPER),
};

const A100: Chip = Chip {
    name: "a100",
    aliases: &["a100-80gb", "a100-sxm4-80gb"],
    bf16_flops: 312e12,             // NV A100
    int8_flops: Some(624e12),       // NV A100
    int4_flops: Some(1248e12),      // NV A100
    fp8_flops: None,                // NV A100: no fp8
    hbm_bytes: 80_000_000_000,      // NV A100
    hbm_bandwidth: 2.039e12,        // NV A100: SXM, 80 GB
    host_bandwidth: 32e9,           // NV A100: PCIe of the fourth generation, 64e9 in both directions
    vmem_bytes: 108 * (164 << 10),  // NV A100: shared memory of all multiprocessors
    link_bandwidth: 300e9,          // NV A100: 600e9 of NVLink, both directions
    network_bandwidth: 200e9 / 8.0, // NV DGX A100: 200 Gb/s for each GPU
    reached: Some(&AMPERE),
    ..H100
};

const B200: Chip = Chip {
    name: "b200",
    aliases: &[],
    bf16_flops: 2.25e15,           // B2 gpus.md
    int8_flops: Some(4.5e15),      // NV
    fp8_flops: Some(4.5e15),       // NV
    hbm_bytes: 192_000_000_000,    // B2 gpus.md
    hbm_bandwidth: 8e12,           // B2 gpus.md
    vmem_bytes: 148 * (228 << 10), // NV
    link_bandwidth: 900e9,         // B2 gpus.md
    reached: Some(&BLACKWELL),
    ..H100
};

/// Every GPU a target can name, oldest first.
pub static GPUS: [Chip; 7] = [
    Chip {
        name: "a100-40gb",
        aliases: &["a100-sxm4-40gb"],
        hbm_bytes: 40_000_000_000, // NV A100
        hbm_bandwidth: 1.555e12,   // NV A100: SXM, 40 GB
        ..A100
    },
    A100,
    H100,
    Chip {
        name: "h200",
        aliases: &["h200-141gb"],
        hbm_bytes: 141_000_000_000, // NV H200
        hbm_bandwidth: 4.8e12,      // NV H200
        ..H100
    },
    Chip {
        name: "mi300x",
        aliases: &["mi300", "mi300x oam"],
        bf16_flops: 1.3074e15,        // AMD MI300X
        int8_flops: Some(2.6149e15),  // AMD MI300X
        fp8_flops: Some(2.6149e15),   // AMD MI300X
        hbm_bytes: 192_000_000_000,   // AMD MI300X
        hbm_bandwidth: 5.3e12,        // AMD MI300X
        vmem_bytes: 304 * (64 << 10), // AMD CDNA 3: local data share of all compute units
        // AMD MI300X platform: a link of 128e9, both directions, to each of the seven others; collectives use all.
        link_bandwidth: 7.0 * 64e9,
        network_bandwidth: 400e9 / 8.0, // AMD MI300X platform: a 400 Gb/s card for each GPU
        reached: None,
        ..H100
    },
    B200,
    Chip {
        name: "gb200",
        aliases: &["gb200_nvl72", "gb200-nvl72"],
        host_bandwidth: 900e9 / 4.0, // NV GB200: NVLink-C2C, 900e9 in both directions, of a processor to two GPUs
        network_bandwidth: 3.6e12 / 72.0, // B2 gpus.md: 3.6e12 of an island
        pod: [72, 1, 1],             // B2 gpus.md
        pod_chips: 72,
        host: [4, 1, 1], // NV: two boards of one processor and two GPUs
        ..B200
    },
];
