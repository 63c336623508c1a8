//! GPUs as data: an island of them behind one switch is a slice, and islands are joined by a network.
//!
//! Sources beside those of `chip`: **NV** the vendor's data sheets, dense rates. An island's switch and the network are
//! what jax-ml/scaling-book's chapter on GPUs counts: what one GPU may send, and of the network its share of what its
//! island may send.

use super::chip::{Chip, Fabric, WrapRule};

/// Seconds of a message within an island and between islands (PyTorch DTensor, _collective_utils.py).
const SWITCH_LATENCY: f64 = 0.6e-6;
const NETWORK_LATENCY: f64 = 2.7e-6;

/// What the rows have in common: an H100 in an island of eight.
const H100: Chip = Chip {
    name: "h100",
    aliases: &[],
    generation: 0,
    bf16_flops: 990e12,         // B1 applied-inference.md:99, B2 gpus.md
    int8_flops: Some(1.979e15), // NV
    int4_flops: None,
    fp8_flops: Some(1.979e15),     // NV
    hbm_bytes: 80_000_000_000,     // B2 gpus.md
    hbm_bandwidth: 3.35e12,        // B1 roofline.md:94,235
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
};

const B200: Chip = Chip {
    name: "b200",
    bf16_flops: 2.25e15,           // B2 gpus.md
    int8_flops: Some(4.5e15),      // NV
    fp8_flops: Some(4.5e15),       // NV
    hbm_bytes: 192_000_000_000,    // B2 gpus.md
    hbm_bandwidth: 8e12,           // B2 gpus.md
    vmem_bytes: 148 * (228 << 10), // NV
    link_bandwidth: 900e9,         // B2 gpus.md
    ..H100
};

/// Every GPU a target can name, oldest first.
pub static GPUS: [Chip; 3] = [
    H100,
    B200,
    Chip {
        name: "gb200",
        aliases: &["gb200_nvl72"],
        network_bandwidth: 3.6e12 / 72.0, // B2 gpus.md: 3.6e12 of an island
        pod: [72, 1, 1],                  // B2 gpus.md
        pod_chips: 72,
        host: [4, 1, 1], // NV: two boards of one processor and two GPUs
        ..B200
    },
];
