//! Names of clouds for slices and machines, as data.
//!
//! A name such as `v5litepod-8` has a count but no shape; the cloud gives it a default shape. Sources: **GC** Google
//! Cloud's TPU pages (v2 to tpu7x, "Configurations"), and the clouds' pages on machines with GPUs.

use super::chip::{Chip, Fabric};
use super::target::Slice;

/// TPUs whose names count TensorCores, of which a chip has two (GC): `v4-16` is eight chips.
const COUNTED_IN_CORES: [&str; 5] = ["v2", "v3", "v4p", "v5p", "v7x"];

/// The clouds' machines with one island of GPUs.
pub const MACHINES: [(&str, &str); 12] = [
    ("a2-highgpu-8g", "a100-40gb:8"),
    ("a2-ultragpu-8g", "a100:8"),
    ("a3-highgpu-8g", "h100:8"),
    ("a3-megagpu-8g", "h100:8"),
    ("a3-ultragpu-8g", "h200:8"),
    ("a4-highgpu-8g", "b200:8"),
    ("p4d.24xlarge", "a100-40gb:8"),
    ("p4de.24xlarge", "a100:8"),
    ("p5.48xlarge", "h100:8"),
    ("p5e.48xlarge", "h200:8"),
    ("p5en.48xlarge", "h200:8"),
    ("p6-b200.48xlarge", "b200:8"),
];

/// Returns the number of units that a cloud counts per chip.
pub fn counted_per_chip(chip: &Chip) -> u64 {
    if COUNTED_IN_CORES.contains(&chip.name) { 2 } else { 1 }
}

/// Returns the shape of the slice that a cloud calls `CHIP-COUNT`; `None` if it has none of that size.
pub(super) fn default_shape(chip: &Chip, count: u64) -> Option<String> {
    let each = counted_per_chip(chip);
    let chips =
        count.is_multiple_of(each).then_some(count / each).filter(|&chips| chips > 0 && chips <= chip.pod_chips)?;
    match (chip.fabric, chip.torus_rank, chips) {
        (Fabric::Switch, ..) => Some(chips.to_string()),
        (_, 3, 4) => Some("2x2x1".to_owned()),
        (_, 3, 6144) => Some("16x16x24".to_owned()),
        // GC v5p: 16x16x24 is the largest slice that can be scheduled.
        (_, 3, chips) if chips > 6144 => None,
        (_, rank, chips) if chips.is_power_of_two() && chips >= 1 << rank || rank == 2 && chips == 1 => {
            let twos = u64::from(chips.trailing_zeros());
            // The last dimensions are the longest.
            let dims = (0..rank as u64).map(|dim| 1u64 << ((twos + dim) / rank as u64));
            Some(dims.map(|size| size.to_string()).collect::<Vec<_>>().join("x"))
        }
        _ => None,
    }
}

/// The slices of the default shape that have `devices` devices in all, `slices` of them; `None` if the cloud has no
/// such shape. GPUs that exceed one island become several full islands.
pub(super) fn slices_of(chip: &'static Chip, slices: u64, devices: u64) -> Option<Slice> {
    let chips = devices.is_multiple_of(slices * chip.chiplets).then_some(devices / slices / chip.chiplets)?;
    let (slices, chips) = match chip.fabric {
        Fabric::Switch if chips > chip.pod_chips && chips.is_multiple_of(chip.pod_chips) => {
            (slices.checked_mul(chips / chip.pod_chips)?, chip.pod_chips)
        }
        _ => (slices, chips),
    };
    let shape = match chips {
        1 => vec!["1"; chip.torus_rank].join("x"),
        _ => default_shape(chip, chips.checked_mul(counted_per_chip(chip))?)?,
    };
    Slice::parse(chip, &shape, slices).ok()
}

/// The counts for which a cloud has a default shape, smallest first.
pub fn default_counts(chip: &Chip) -> Vec<u64> {
    let counts =
        (1..=chip.pod_chips * counted_per_chip(chip)).filter(|n| n.is_power_of_two() || n.is_multiple_of(3072));
    counts.filter(|&count| default_shape(chip, count).is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_get_slices_of_the_default_shape() {
        let check = |chip: &str, slices: u64, devices: u64, expected: Option<&str>| {
            let slice = slices_of(Chip::named(chip).unwrap(), slices, devices);
            assert_eq!(slice.map(|s| s.to_string()).as_deref(), expected, "{chip}, {slices}, {devices}");
        };
        check("v5e", 1, 8, Some("v5e:2x4"));
        check("v5e", 1, 1, Some("v5e:1x1"));
        check("v5e", 1, 6, None);
        check("v5e", 2, 16, Some("2xv5e:2x4"));
        check("v5e", 2, 7, None);
        check("v5p", 1, 64, Some("v5p:4x4x4"));
        check("v5p", 1, 1, Some("v5p:1x1x1"));
        // Two devices to a chip.
        check("v7x", 1, 8, Some("v7x:2x2x1"));
        check("v7x", 1, 3, None);
        check("a100", 1, 5, Some("a100:5"));
        check("h100", 1, 32, Some("4xh100:8"));
        check("h100", 2, 32, Some("4xh100:8"));
        check("h100", 1, 12, None);
    }

    #[test]
    fn counts_without_shapes_are_the_default_ones_of_clouds() {
        let check = |chip: &str, shapes: &[(u64, &str)]| {
            let chip = Chip::named(chip).unwrap();
            for &(count, shape) in shapes {
                assert_eq!(default_shape(chip, count).as_deref(), Some(shape), "{}-{count}", chip.name);
            }
        };
        // GC v5e, v6e.
        let two =
            [(1, "1x1"), (4, "2x2"), (8, "2x4"), (16, "4x4"), (32, "4x8"), (64, "8x8"), (128, "8x16"), (256, "16x16")];
        check("v5e", &two);
        check("v6e", &two);
        // GC v4, v5p.
        check("v4", &[(8, "2x2x1"), (16, "2x2x2"), (32, "2x2x4"), (64, "2x4x4"), (128, "4x4x4"), (256, "4x4x8")]);
        check("v5p", &[(512, "4x8x8"), (1024, "8x8x8"), (2048, "8x8x16"), (8192, "16x16x16"), (12288, "16x16x24")]);
        // GC v2, v3.
        check("v2", &[(8, "2x2"), (32, "4x4"), (128, "8x8"), (512, "16x16")]);
        check("v3", &[(64, "4x8"), (1024, "16x32"), (2048, "32x32")]);
        check("h100", &[(8, "8"), (3, "3")]);
        for (chip, count) in [("v5e", 0), ("v5e", 2), ("v5e", 12), ("v5e", 512), ("v4", 7), ("v4", 4), ("h100", 16)] {
            assert_eq!(default_shape(Chip::named(chip).unwrap(), count), None, "{chip}-{count}");
        }
        assert_eq!(default_counts(Chip::named("v5e").unwrap()), [1, 4, 8, 16, 32, 64, 128, 256]);
        assert_eq!(default_counts(Chip::named("v5p").unwrap()).last(), Some(&12288));
    }
}
