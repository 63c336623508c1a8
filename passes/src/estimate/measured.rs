//! A machine of equal devices whose figures were measured: rates of products by element type, start-ups of steps, ops
//! and products, and for each kind of collective its start-up and bandwidth.
//!
//! A file describes it (`[flat]` with more keys than [`Flat`] has), and `shardc calibrate` writes such a file.

use std::sync::{Mutex, PoisonError};

use super::collective::{CollectiveKind, CollectiveLoad};
use super::custom::CostModel;
use super::kernels::KernelCost;
use super::precision::Precision;
use super::roofline::Matmul;
use super::target::Flat;

/// A machine without topology, with figures that [`Flat`] has no field for.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The name of the target.
    pub name: String,
    /// The figures for whatever has no figure of its own.
    pub flat: Flat,
    /// Rates of products.
    pub products: ProductRates,
    /// Seconds that a step takes in addition to its ops.
    pub step_latency: f64,
    /// Seconds that every op takes in addition to its arithmetic and its memory traffic.
    pub op_latency: f64,
    /// Seconds that a product takes in addition to its arithmetic.
    pub product_latency: f64,
    /// Memory in which small values stay between ops.
    pub cache: Option<CacheRate>,
    /// The kinds of collectives that have figures of their own.
    pub collectives: Vec<(CollectiveKind, LinkRate)>,
    /// Whether collectives overlap arithmetic.
    pub overlap: bool,
}

/// FLOP/s of products by their element types; `None` is the rate of the next wider type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProductRates {
    /// 4-bit integers.
    pub int4: Option<f64>,
    /// 8-bit integers.
    pub int8: Option<f64>,
    /// 8-bit floats.
    pub fp8: Option<f64>,
    /// bf16 and f16.
    pub bf16: Option<f64>,
    /// f32.
    pub f32: Option<f64>,
    /// f64, and integers of more than 8 bits.
    pub f64: Option<f64>,
}

/// A fast memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheRate {
    /// The traffic of an op, in bytes, up to which it has this rate.
    pub bytes: f64,
    /// Bytes/s, reads and writes together.
    pub bandwidth: f64,
}

/// What a collective takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkRate {
    /// Seconds before the first byte.
    pub latency: f64,
    /// Bytes/s of a ring, per device.
    pub bandwidth: f64,
}

/// Machines that files described. Targets are copied everywhere, so they refer to their machine; equal descriptions
/// share one.
static DESCRIBED: Mutex<Vec<&'static Measured>> = Mutex::new(Vec::new());

impl Measured {
    /// This machine, kept until the program ends.
    pub fn interned(self) -> &'static Measured {
        let mut described = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = described.iter().find(|&&machine| *machine == self) {
            return known;
        }
        let machine: &'static Measured = Box::leak(Box::new(self));
        described.push(machine);
        machine
    }

    /// The figures of a kind of collective. A kind without figures has those of a kind that moves bytes alike.
    fn link(&self, kind: CollectiveKind) -> LinkRate {
        let alike = match kind {
            CollectiveKind::RaggedAllToAll => CollectiveKind::AllToAll,
            CollectiveKind::CollectiveReduce => CollectiveKind::CollectiveBroadcast,
            kind => kind,
        };
        let of = |kind| self.collectives.iter().find(|row| row.0 == kind).map(|row| row.1);
        let rest = LinkRate { latency: self.flat.latency, bandwidth: self.flat.bandwidth };
        of(kind).or_else(|| of(alike)).unwrap_or(rest)
    }
}

impl CostModel for Measured {
    fn name(&self) -> &str {
        &self.name
    }

    fn collective_seconds(&self, load: &CollectiveLoad) -> f64 {
        let LinkRate { latency, bandwidth } = self.link(load.kind);
        Flat { latency, bandwidth, ..self.flat }.collective_seconds(load)
    }

    fn peak_flops(&self, precision: Precision) -> f64 {
        let ProductRates { int4, int8, fp8, bf16, f32, f64 } = self.products;
        let rate = match precision {
            Precision::Int4 => int4.or(int8),
            Precision::Int8 => int8,
            Precision::Fp8 => fp8.or(bf16),
            Precision::Bf16 => bf16,
            Precision::F32 | Precision::F32High => f32,
            Precision::F32Highest => f64,
        };
        rate.unwrap_or(self.flat.flops)
    }

    fn memory_bandwidth(&self) -> f64 {
        self.flat.memory_bandwidth
    }

    fn memory_bytes(&self) -> u64 {
        self.flat.memory_bytes
    }

    fn host_bandwidth(&self) -> f64 {
        self.flat.host_bandwidth
    }

    fn matmul_seconds(&self, matmul: &Matmul, precision: Precision) -> f64 {
        let flops = matmul.flops() as f64;
        if flops == 0.0 { 0.0 } else { self.product_latency + flops / self.peak_flops(precision) }
    }

    /// Without a jump at the size of the cache, so that less traffic never takes longer.
    fn memory_seconds(&self, bytes: f64) -> f64 {
        let slow = |bytes: f64| bytes / self.flat.memory_bandwidth;
        match self.cache {
            Some(cache) => bytes.min(cache.bytes) / cache.bandwidth + slow((bytes - cache.bytes).max(0.0)),
            None => slow(bytes),
        }
    }

    fn op_latency(&self) -> f64 {
        self.op_latency
    }

    fn step_latency(&self) -> f64 {
        self.step_latency
    }

    fn kernels(&self) -> &'static [KernelCost] {
        self.flat.kernels
    }

    fn overlaps_communication(&self) -> bool {
        self.overlap
    }
}

#[cfg(test)]
mod tests {
    use super::super::custom::prove;
    use super::*;

    fn machine() -> Measured {
        let flat = Flat { latency: 1e-3, bandwidth: 1e9, flops: 5e9, memory_bandwidth: 1e9, ..Flat::CPU };
        let products = ProductRates { bf16: Some(1e9), f32: Some(2e9), ..ProductRates::default() };
        let collectives = vec![(CollectiveKind::AllReduce, LinkRate { latency: 1e-4, bandwidth: 3e9 })];
        let cache = Some(CacheRate { bytes: 1e6, bandwidth: 1e10 });
        Measured {
            name: "m".to_owned(),
            flat,
            products,
            step_latency: 1e-5,
            op_latency: 1e-6,
            product_latency: 2e-6,
            cache,
            collectives,
            overlap: false,
        }
    }

    #[test]
    fn what_has_no_figure_of_its_own_has_the_common_one() {
        let m = machine();
        assert_eq!(prove(&m), Ok(()));
        let rates = [Precision::Bf16, Precision::Fp8, Precision::F32, Precision::F32Highest, Precision::Int4];
        assert_eq!(rates.map(|p| m.peak_flops(p)), [1e9, 1e9, 2e9, 5e9, 5e9]);
        let load = |kind| CollectiveLoad::new(kind, 3e6, 3e6, 2);
        assert_eq!(m.collective_seconds(&load(CollectiveKind::AllReduce)), 1e-4 + 3e6 * (1.0 / 3e9));
        assert_eq!(m.collective_seconds(&load(CollectiveKind::AllToAll)), 1e-3 + 1.5e6 * (1.0 / 1e9));
        let matmul = Matmul { batch: 1, rows: 10, contracting: 10, columns: 10 };
        assert_eq!(m.matmul_seconds(&matmul, Precision::F32), 2e-6 + 2000.0 / 2e9);
    }

    #[test]
    fn traffic_beyond_the_cache_is_slow() {
        let m = machine();
        assert_eq!(m.memory_seconds(5e5), 5e-5);
        assert_eq!(m.memory_seconds(3e6), 1e-4 + 2e-3);
        assert_eq!(Measured { cache: None, ..m }.memory_seconds(3e6), 3e-3);
    }

    #[test]
    fn equal_descriptions_are_one_machine() {
        let other = Measured { name: "other".to_owned(), ..machine() };
        for _ in 0..2 {
            assert_eq!((machine().interned(), other.clone().interned()), (&machine(), &other));
        }
        let described = DESCRIBED.lock().unwrap();
        let count = |of: &Measured| described.iter().filter(|machine| **machine == of).count();
        assert_eq!((count(&machine()), count(&other)), (1, 1));
    }
}
