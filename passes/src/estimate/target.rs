//! The machine that a program is priced for: the `flat` model, the `cpu` of a host, a named slice of a TPU pod such as
//! `v5e:4x2` or `v5p:4x4x4`, an island of GPUs such as `h100:8`, or several of them that a network connects, such as
//! `2xv5e:16x16` or `4xh100:8`.
//!
//! `flat` is the default. It has no topology: a ring for every collective, a fixed start-up, no overlap; its
//! communication and FLOP costs can be checked by hand. A slice is a box of chips with lines or rings of links along
//! its dimensions, an island a set of GPUs behind one switch.

use super::chip::{Chip, Fabric, HOST_BANDWIDTH};
use super::custom::Custom;
use super::kernels::KernelCost;
use super::targets::{Targets, shortened};
use std::fmt;

/// The trip count assumed for a loop whose trip count is unknown.
pub const UNKNOWN_TRIP_COUNT: u64 = 8;

/// The machine a program is priced for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Target {
    /// No topology: each collective runs on a separate ring.
    Flat(Flat),
    /// A box of chips of one generation, or several such boxes.
    Slice(Slice),
    /// A number of boxes of chips, each of the default shape for its share of a mesh's devices.
    Chip(&'static Chip, u64),
    /// A custom cost model.
    Custom(Custom),
}

/// The topology-free model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flat {
    /// The start-up seconds of every collective.
    pub latency: f64,
    /// Ring bandwidth per device, bytes/s.
    pub bandwidth: f64,
    /// Matmul rate per device, FLOP/s, for every element type.
    pub flops: f64,
    /// Memory bandwidth per device, bytes/s.
    pub memory_bandwidth: f64,
    /// Memory per device, bytes.
    pub memory_bytes: u64,
    /// Copies between a device's memory and its host's, bytes/s in each direction.
    pub host_bandwidth: f64,
    /// The costs of kernels that a description of the machine states.
    pub kernels: &'static [KernelCost],
}

impl Flat {
    /// Devices that share the cores of one processor, as JAX makes several of a host: collectives wait for threads to
    /// be woken and copy within one memory. Of the size that was measured with XLA on a few cores; of what plans depend
    /// on, how dear a collective is beside arithmetic, it says more than any accelerator's figures would. The host's
    /// memory is the same, so that a copy reads and writes it.
    pub const CPU: Flat = Flat {
        latency: 1e-4,
        bandwidth: 1e9,
        flops: 2e10,
        memory_bandwidth: 1e10,
        memory_bytes: 16 << 30,
        host_bandwidth: 1e10 / 2.0,
        kernels: &[],
    };
}

impl Default for Flat {
    fn default() -> Flat {
        Flat {
            latency: 1e-6,
            bandwidth: 90e9,
            flops: 2e14,
            memory_bandwidth: 1e12,
            memory_bytes: 16 << 30,
            host_bandwidth: HOST_BANDWIDTH,
            kernels: &[],
        }
    }
}

/// A box of chips, or several equal boxes that a network connects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// The generation.
    pub chip: &'static Chip,
    /// Chips along each dimension; 1 beyond the chip's torus rank.
    pub dims: [u64; 3],
    /// The number of boxes.
    pub slices: u64,
}

/// The limit on the chips of all slices together, which is also the limit on a mesh's devices that are examined one by
/// one.
pub const MOST_CHIPS: u64 = 1 << 20;

/// The reason why the text of a target is rejected, and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetError {
    /// The error.
    pub message: String,
    /// The accepted forms.
    pub help: String,
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.help)
    }
}

impl std::error::Error for TargetError {}

impl Target {
    /// Reads `flat`, `cpu`, `CHIP` or `CHIP:AxB` / `CHIP:AxBxC` of the built-in chips, `N` of them as `NxCHIP:AxB`;
    /// [`Targets`] reads an embedder's too.
    ///
    /// # Errors
    /// An unknown chip, a malformed slice, a wrong number of dimensions, or more chips than a pod has.
    pub fn parse(text: &str) -> Result<Target, TargetError> {
        Targets::standard().parse(text)
    }
}

impl Default for Target {
    fn default() -> Target {
        Target::Flat(Flat::default())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Flat(flat) if *flat == Flat::CPU => f.write_str("cpu"),
            Target::Flat(_) => f.write_str("flat"),
            Target::Slice(slice) => slice.fmt(f),
            Target::Chip(chip, 1) => f.write_str(chip.name),
            Target::Chip(chip, slices) => write!(f, "{slices}x{}", chip.name),
            Target::Custom(model) => f.write_str(model.0.name()),
        }
    }
}

impl Slice {
    /// Parses the shape `AxB` or `AxBxC` of slices of `chip`, or the size of an island.
    pub(super) fn parse(chip: &'static Chip, shape: &str, slices: u64) -> Result<Slice, TargetError> {
        let (name, example) = (chip.name, chip.example_shape());
        let limits = || match chip.fabric {
            Fabric::Torus => TargetError {
                message: format!("`{}` is not the shape of a {name} slice", shortened(shape)),
                help: format!(
                    "{} dimensions of at least 1, as in `{name}:{example}`; {}; several slices are `2x{name}:{example}`",
                    chip.torus_rank,
                    largest_slice(chip)
                ),
            },
            Fabric::Switch => TargetError {
                message: format!("`{}` is not the size of a {name} island", shortened(shape)),
                help: format!(
                    "from 1 to {example}, as in `{name}:{example}`; several islands are `2x{name}:{example}`"
                ),
            },
        };
        let mut dims = [1; 3];
        let mut count = 0;
        for size in shape.split('x') {
            // Plain digits only: `parse` alone would accept a sign.
            if count == chip.torus_rank || size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(limits());
            }
            dims[count] = size.parse().map_err(|_| limits())?;
            count += 1;
        }
        let chips = dims.iter().try_fold(1, |chips: u64, &size| chips.checked_mul(size));
        let fits = chips.is_some_and(|chips| (1..=chip.pod_chips).contains(&chips));
        // Optical switches connect the cubes of 3D chips in any arrangement; a 2D pod is a fixed rectangle.
        let inside = chip.torus_rank == 3 || (0..3).all(|dim| dims[dim] <= chip.pod[dim]);
        if count != chip.torus_rank || !fits || !inside {
            return Err(limits());
        }
        let all = dims.iter().product::<u64>().checked_mul(slices);
        if !all.is_some_and(|all| (1..=MOST_CHIPS).contains(&all)) {
            return Err(TargetError {
                message: format!("`{slices}` is not a number of slices"),
                help: format!("from 1, as in `2x{name}:{example}`; at most {MOST_CHIPS} chips in all"),
            });
        }
        Ok(Slice { chip, dims, slices })
    }

    /// Returns the sizes of a slice's own dimensions, one to three of them.
    pub fn shape(&self) -> &[u64] {
        &self.dims[..self.chip.torus_rank]
    }

    /// Returns the number of chips in all slices.
    pub fn chips(&self) -> u64 {
        self.slices * self.dims.iter().product::<u64>()
    }

    /// Returns the number of hosts that the slices need.
    pub fn hosts(&self) -> u64 {
        self.slices * self.dims.iter().zip(self.chip.host).map(|(&size, host)| size.div_ceil(host)).product::<u64>()
    }

    /// Returns which dimensions have wraparound links; `false` beyond the torus rank.
    pub fn wraps(&self) -> [bool; 3] {
        self.chip.wrap_rule.wraps(self.dims, self.chip.pod)
    }

    /// Returns the links along each dimension on the shortest path between two chips, given by their coordinates.
    pub fn hops(&self, from: [u64; 3], to: [u64; 3]) -> [u64; 3] {
        let wraps = self.wraps();
        std::array::from_fn(|dim| {
            let straight = from[dim].abs_diff(to[dim]);
            if wraps[dim] { straight.min(self.dims[dim].saturating_sub(straight)) } else { straight }
        })
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.slices > 1 {
            write!(f, "{}x", self.slices)?;
        }
        write!(f, "{}:", self.chip.name)?;
        for (dim, size) in self.shape().iter().enumerate() {
            if dim > 0 {
                f.write_str("x")?;
            }
            write!(f, "{size}")?;
        }
        Ok(())
    }
}

fn largest_slice(chip: &Chip) -> String {
    if chip.torus_rank == 2 {
        format!("at most {}x{}", chip.pod[0], chip.pod[1])
    } else {
        format!("at most {} chips", chip.pod_chips)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_slice(text: &str, printed: &str, dims: [u64; 3]) {
        match Target::parse(text) {
            Ok(Target::Slice(slice)) => assert_eq!(slice.dims, dims, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
        assert_eq!(Target::parse(text).unwrap().to_string(), printed);
    }

    #[test]
    fn slices() {
        check_slice("v5e:4x2", "v5e:4x2", [4, 2, 1]);
        check_slice("v5e:16x16", "v5e:16x16", [16, 16, 1]);
        check_slice("v4:2x2x1", "v4p:2x2x1", [2, 2, 1]);
        check_slice("tpu7x:4x4x576", "v7x:4x4x576", [4, 4, 576]);
        check_slice("h100:8", "h100:8", [8, 1, 1]);
        check_slice("16xgb200_nvl72:72", "16xgb200:72", [72, 1, 1]);
        check_slice("1xv5e:4x4", "v5e:4x4", [4, 4, 1]);
        let Ok(Target::Slice(two)) = Target::parse("2xv5e:16x16") else { panic!() };
        assert_eq!((two.slices, two.chips(), two.hosts(), two.to_string().as_str()), (2, 512, 64, "2xv5e:16x16"));
        assert_eq!(Target::parse("flat").unwrap(), Target::default());
        assert_eq!(Target::default().to_string(), "flat");
    }

    #[test]
    fn errors_say_what_is_allowed() {
        let check =
            |text: &str, expected: &str| assert_eq!(Target::parse(text).unwrap_err().to_string(), expected, "{text}");
        let slice = |shape: &str| {
            format!(
                "`{shape}` is not the shape of a v5e slice (2 dimensions of at least 1, as in `v5e:4x4`; at most 16x16; \
                 several slices are `2xv5e:4x4`)"
            )
        };
        for shape in ["4x4x4", "4", "0x4", "32x8", "", "4x", "-4x4", "+4x4", "4X4", "99999999999999999999999x2"] {
            check(&format!("v5e:{shape}"), &slice(shape));
        }
        let island = |size: &str| {
            format!(
                "`{size}` is not the size of a h100 island (from 1 to 8, as in `h100:8`; several islands are `2xh100:8`)"
            )
        };
        ["16", "0", "4x2", "8x1"].into_iter().for_each(|size| check(&format!("h100:{size}"), &island(size)));
        for slices in ["0", "65536"] {
            let number = format!("`{slices}` is not a number of slices");
            check(
                &format!("{slices}xv5e:4x8"),
                &format!("{number} (from 1, as in `2xv5e:4x4`; at most 1048576 chips in all)"),
            );
        }
        for unknown in ["-2xv5e:4x4", "x:4x4", "xv5e:4x4", "2x2xv5e:4x4", "99999999999999999999xv5e:4x4"] {
            assert!(Target::parse(unknown).unwrap_err().message.starts_with("unknown target"), "{unknown}");
        }
        check(
            "v5p:32x32x32",
            "`32x32x32` is not the shape of a v5p slice (3 dimensions of at least 1, as in `v5p:4x4x4`; at most 8960 chips; \
             several slices are `2xv5p:4x4x4`)",
        );
        check(
            "v9:4x4",
            "unknown target `v9:4x4` (`flat`, `cpu`, or a chip and its slice as in `v5e:4x4` or \
             `h100:8`, several as in `2xv5e:16x16`; chips: v2, v3, v4p, v5p, v5e, v6e, v7x, a100-40gb, a100, h100, h200, mi300x, \
             b200, gb200; 'shardc help targets' describes them)",
        );
        assert!(Target::parse("v5p:4294967296x4294967296x4294967296").is_err());
        assert!(Target::parse(&"é".repeat(100)).unwrap_err().message.len() < 120);
    }

    #[test]
    fn hosts_and_hops() {
        let Ok(Target::Slice(pod)) = Target::parse("v5e:16x8") else { panic!() };
        assert_eq!((pod.chips(), pod.hosts()), (128, 16));
        let Ok(Target::Slice(part)) = Target::parse("v5e:2x3") else { panic!() };
        assert_eq!((part.chips(), part.hosts()), (6, 2));
        // The dimension of 16 wraps, the other doesn't.
        assert_eq!(pod.hops([0, 0, 0], [15, 7, 0]), [1, 7, 0]);
    }
}
