//! Custom cost models: the interface of a target, and the properties that a model must have.
//!
//! The plan compares sums of these seconds and relies on moving less never taking longer. [`prove`] tests a model for
//! that, over all kinds of collectives and sizes from zero to terabytes.

use std::fmt;

use dialect::op::CollectiveKind;

use super::chip::HOST_BANDWIDTH;
use super::collective::CollectiveLoad;
use super::kernels::KernelCost;
use super::precision::Precision;
use super::roofline::Matmul;

/// Prices of a machine that is neither flat nor a box of chips. All methods are pure: equal arguments give equal
/// results. See [`prove`] for the other properties of a model.
pub trait CostModel: fmt::Debug + Send + Sync {
    /// Returns its name; two models with the same name count as equal.
    fn name(&self) -> &str;

    /// Returns the seconds of a collective. A group of one device sends nothing, which takes no time, except for a
    /// permute, whose group is unknown.
    fn collective_seconds(&self, load: &CollectiveLoad) -> f64;

    /// Returns the matmul rate of a device, FLOP/s.
    fn peak_flops(&self, precision: Precision) -> f64;

    /// Returns the memory bandwidth of a device, bytes/s.
    fn memory_bandwidth(&self) -> f64;

    /// Returns the memory of a device, bytes.
    fn memory_bytes(&self) -> u64;

    /// Copies between a device's memory and its host's, bytes/s in each direction; by default [`HOST_BANDWIDTH`].
    fn host_bandwidth(&self) -> f64 {
        HOST_BANDWIDTH
    }

    /// Seconds of the arithmetic of a matmul of local shards.
    fn matmul_seconds(&self, matmul: &Matmul, precision: Precision) -> f64 {
        matmul.flops() as f64 / self.peak_flops(precision)
    }

    /// Seconds of this many bytes of memory traffic, reads and writes together.
    fn memory_seconds(&self, bytes: f64) -> f64 {
        bytes / self.memory_bandwidth()
    }

    /// Seconds that an op takes in addition to its arithmetic and its memory traffic.
    fn op_latency(&self) -> f64 {
        0.0
    }

    /// Seconds that a step takes in addition to its ops.
    fn step_latency(&self) -> f64 {
        0.0
    }

    /// Returns the costs of kernels that the machine's description states.
    fn kernels(&self) -> &'static [KernelCost] {
        &[]
    }

    /// Returns whether collectives overlap arithmetic.
    fn overlaps_communication(&self) -> bool {
        false
    }
}

/// A cost model as a target.
#[derive(Clone, Copy, Debug)]
pub struct Custom(pub &'static dyn CostModel);

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

const KINDS: [CollectiveKind; 8] = [
    CollectiveKind::AllGather,
    CollectiveKind::AllReduce,
    CollectiveKind::ReduceScatter,
    CollectiveKind::AllToAll,
    CollectiveKind::CollectivePermute,
    CollectiveKind::CollectiveBroadcast,
    CollectiveKind::CollectiveReduce,
    CollectiveKind::RaggedAllToAll,
];

const PRECISIONS: [Precision; 7] = [
    Precision::Int4,
    Precision::Int8,
    Precision::Fp8,
    Precision::Bf16,
    Precision::F32,
    Precision::F32High,
    Precision::F32Highest,
];

/// Tests the properties of a model that the plan relies on: finite, nonnegative seconds, no fewer for more bytes or
/// more arithmetic, none for a group of one, equal for equal arguments; positive rates and memory.
///
/// # Errors
/// Describes a violated property, with the arguments and the results.
pub fn prove(model: &dyn CostModel) -> Result<(), String> {
    let rate = |what: &str, value: f64| {
        if value.is_finite() && value > 0.0 {
            Ok(())
        } else {
            Err(format!("{what} is {value}, expected a positive finite number"))
        }
    };
    rate("memory_bandwidth()", model.memory_bandwidth())?;
    rate("host_bandwidth()", model.host_bandwidth())?;
    rate("memory_bytes()", model.memory_bytes() as f64)?;
    for (what, seconds) in [("op_latency()", model.op_latency()), ("step_latency()", model.step_latency())] {
        if !(seconds.is_finite() && seconds >= 0.0) {
            return Err(format!("{what} is {seconds}, expected seconds, at least 0"));
        }
    }
    growing(|n| model.memory_seconds(n as f64), (0..40).map(|p| (1u64 << p) - 1), "memory_seconds of N bytes")?;
    for precision in PRECISIONS {
        rate(&format!("peak_flops({precision:?})"), model.peak_flops(precision))?;
        growing(
            |n| {
                let matmul = Matmul { batch: 1, rows: n, contracting: 64, columns: 64 };
                model.matmul_seconds(&matmul, precision)
            },
            (0..40).map(|p| 1u64 << p),
            &format!("matmul_seconds({precision:?}) of N x 64 times 64 x 64"),
        )?;
    }
    for kind in KINDS {
        for devices in [1u64, 2, 3, 4, 7, 8, 16, 60, 256, 4096] {
            let load = |bytes: u64| {
                let (one, all) = (bytes as f64, (bytes * devices) as f64);
                let (operand, result) = match kind {
                    CollectiveKind::AllGather => (one, all),
                    CollectiveKind::ReduceScatter => (all, one),
                    _ => (one, one),
                };
                CollectiveLoad::new(kind, operand, result, devices)
            };
            let what = format!("collective_seconds of N bytes, {kind:?} among {devices}");
            growing(|n| model.collective_seconds(&load(n)), (0..40).map(|p| (1u64 << p) - 1), &what)?;
            let alone = devices == 1 && kind != CollectiveKind::CollectivePermute;
            let seconds = model.collective_seconds(&load(1 << 20));
            if alone && seconds != 0.0 {
                return Err(format!("{kind:?} among 1 device sends nothing and takes {seconds} s"));
            }
        }
    }
    Ok(())
}

/// Checks that `seconds` are finite, nonnegative, equal when computed again, and never fewer for larger sizes.
fn growing(seconds: impl Fn(u64) -> f64, sizes: impl Iterator<Item = u64>, what: &str) -> Result<(), String> {
    let mut before = (0, 0.0);
    for n in sizes {
        let (now, again) = (seconds(n), seconds(n));
        if !(now.is_finite() && now >= 0.0) {
            return Err(format!("{what}: {now} s for N = {n}"));
        }
        if now != again {
            return Err(format!("{what}: {now} s for N = {n}, but {again} s on a second call"));
        }
        if now < before.1 {
            return Err(format!("{what}: {now} s for N = {n}, less than the {} s for N = {}", before.1, before.0));
        }
        before = (n, now);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model whose seconds are a function of the bytes moved.
    #[derive(Debug)]
    struct By(fn(f64) -> f64, f64);

    impl CostModel for By {
        fn name(&self) -> &str {
            "by"
        }
        fn collective_seconds(&self, load: &CollectiveLoad) -> f64 {
            let alone = load.devices == 1 && load.kind != CollectiveKind::CollectivePermute;
            if alone { 0.0 } else { self.0(load.moved_bytes()) }
        }
        fn peak_flops(&self, _: Precision) -> f64 {
            self.1
        }
        fn memory_bandwidth(&self) -> f64 {
            1e12
        }
        fn memory_bytes(&self) -> u64 {
            1 << 30
        }
    }

    #[test]
    fn what_no_plan_could_rely_on_is_refused() {
        assert_eq!(prove(&By(|bytes| 1e-6 + bytes / 1e9, 1e14)), Ok(()));
        let refused = |model: By, says: &str| {
            let fault = prove(&model).expect_err(says);
            assert!(fault.contains(says), "{fault}");
        };
        refused(By(|bytes| bytes, 0.0), "expected a positive finite number");
        refused(By(|bytes| bytes, f64::NAN), "expected a positive finite number");
        refused(By(|bytes| -bytes - 1.0, 1e14), "-");
        refused(By(|bytes| 1.0 / bytes, 1e14), "inf s for N = 0");
        refused(By(|bytes| 1.0 / (bytes + 1.0), 1e14), "less than");
        refused(By(|bytes| if bytes > 1e9 { f64::NAN } else { 0.0 }, 1e14), "NaN s for N");
    }
}
