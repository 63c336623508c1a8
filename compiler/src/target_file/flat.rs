//! `[flat]`: devices that are all alike. Without figures by element type, by kind of collective, or of start-ups, it is
//! the flat model.

use passes::estimate::chip::HOST_BANDWIDTH;
use passes::estimate::measured::{CacheRate, LinkRate, ProductRates};
use passes::estimate::{CollectiveKind, Custom, Flat, KernelCost, Measured, Target};
use serde::Deserialize;
use toml::Spanned;

use super::{Fault, LinkTable, bytes, fault, rate, seconds};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlatTable {
    latency: Spanned<f64>,
    bandwidth: Spanned<f64>,
    flops: Spanned<f64>,
    memory_bandwidth: Spanned<f64>,
    memory_bytes: Spanned<f64>,
    host_bandwidth: Option<Spanned<f64>>,
    int4_flops: Option<Spanned<f64>>,
    int8_flops: Option<Spanned<f64>>,
    fp8_flops: Option<Spanned<f64>>,
    bf16_flops: Option<Spanned<f64>>,
    f32_flops: Option<Spanned<f64>>,
    f64_flops: Option<Spanned<f64>>,
    step_latency: Option<Spanned<f64>>,
    op_latency: Option<Spanned<f64>>,
    product_latency: Option<Spanned<f64>>,
    cache_bytes: Option<Spanned<f64>>,
    cache_bandwidth: Option<Spanned<f64>>,
    overlap: Option<bool>,
    collectives: Option<Collectives>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Collectives {
    all_gather: Option<LinkTable>,
    all_reduce: Option<LinkTable>,
    reduce_scatter: Option<LinkTable>,
    all_to_all: Option<LinkTable>,
    ragged_all_to_all: Option<LinkTable>,
    collective_permute: Option<LinkTable>,
    collective_broadcast: Option<LinkTable>,
    collective_reduce: Option<LinkTable>,
}

impl Collectives {
    fn rows(&self) -> [(CollectiveKind, &Option<LinkTable>); 8] {
        [
            (CollectiveKind::AllGather, &self.all_gather),
            (CollectiveKind::AllReduce, &self.all_reduce),
            (CollectiveKind::ReduceScatter, &self.reduce_scatter),
            (CollectiveKind::AllToAll, &self.all_to_all),
            (CollectiveKind::RaggedAllToAll, &self.ragged_all_to_all),
            (CollectiveKind::CollectivePermute, &self.collective_permute),
            (CollectiveKind::CollectiveBroadcast, &self.collective_broadcast),
            (CollectiveKind::CollectiveReduce, &self.collective_reduce),
        ]
    }
}

/// Returns the target that the table of a file describes.
pub(super) fn target_of(name: &str, table: &FlatTable, kernels: &'static [KernelCost]) -> Result<Target, Fault> {
    let optional = |given: &Option<Spanned<f64>>| given.as_ref().map(rate).transpose();
    let latency = |given: &Option<Spanned<f64>>| given.as_ref().map_or(Ok(0.0), seconds);
    let flat = Flat {
        latency: seconds(&table.latency)?,
        bandwidth: rate(&table.bandwidth)?,
        flops: rate(&table.flops)?,
        memory_bandwidth: rate(&table.memory_bandwidth)?,
        memory_bytes: bytes(&table.memory_bytes)?,
        host_bandwidth: optional(&table.host_bandwidth)?.unwrap_or(HOST_BANDWIDTH),
        kernels,
    };
    let products = ProductRates {
        int4: optional(&table.int4_flops)?,
        int8: optional(&table.int8_flops)?,
        fp8: optional(&table.fp8_flops)?,
        bf16: optional(&table.bf16_flops)?,
        f32: optional(&table.f32_flops)?,
        f64: optional(&table.f64_flops)?,
    };
    let mut collectives = Vec::new();
    for (kind, link) in table.collectives.iter().flat_map(Collectives::rows) {
        if let Some(link) = link {
            let link = LinkRate { latency: seconds(&link.latency)?, bandwidth: rate(&link.bandwidth)? };
            collectives.push((kind, link));
        }
    }
    let measured = Measured {
        name: name.to_owned(),
        flat,
        products,
        step_latency: latency(&table.step_latency)?,
        op_latency: latency(&table.op_latency)?,
        product_latency: latency(&table.product_latency)?,
        cache: cache_of(table)?,
        collectives,
        overlap: table.overlap.unwrap_or(false),
    };
    let plain = Measured {
        products: ProductRates::default(),
        step_latency: 0.0,
        op_latency: 0.0,
        product_latency: 0.0,
        cache: None,
        collectives: Vec::new(),
        overlap: false,
        ..measured.clone()
    };
    Ok(if measured == plain { Target::Flat(flat) } else { Target::Custom(Custom(measured.interned())) })
}

fn cache_of(table: &FlatTable) -> Result<Option<CacheRate>, Fault> {
    let note = "values of up to cache_bytes are read and written at cache_bandwidth: write both or neither";
    match (&table.cache_bytes, &table.cache_bandwidth) {
        (Some(bytes), Some(bandwidth)) => {
            let cache = CacheRate { bytes: rate(bytes)?, bandwidth: rate(bandwidth)? };
            if cache.bandwidth < *table.memory_bandwidth.get_ref() {
                return Err(fault(
                    bandwidth,
                    "the cache is slower than the memory",
                    "remove cache_bytes and cache_bandwidth",
                ));
            }
            Ok(Some(cache))
        }
        (None, None) => Ok(None),
        (Some(bytes), None) => Err(fault(bytes, "cache_bytes without cache_bandwidth", note)),
        (None, Some(bandwidth)) => Err(fault(bandwidth, "cache_bandwidth without cache_bytes", note)),
    }
}

#[cfg(test)]
mod tests {
    use passes::estimate::{CollectiveLoad, Matmul, Precision};

    use super::super::read;
    use super::*;

    const PLAIN: &str = "name = \"m\"\n[flat]\nlatency = 1e-5\nbandwidth = 1e9\nflops = 2e10\nmemory_bandwidth = 1e10\n\
                         memory_bytes = 1e9\n";

    #[test]
    fn figures_by_type_and_kind_are_read() {
        assert!(matches!(read(PLAIN), Ok((_, Target::Flat(_)))));
        let more = "bf16_flops = 1e10\nop_latency = 1e-6\nstep_latency = 2e-6\nproduct_latency = 3e-6\ncache_bytes = 1e6\n\
                    cache_bandwidth = 4e10\noverlap = true\n[flat.collectives.all_reduce]\nlatency = 2e-5\nbandwidth = 5e8\n";
        let Ok((name, Target::Custom(Custom(m)))) = read(&format!("{PLAIN}{more}")) else { panic!() };
        assert_eq!((name.as_str(), m.name(), m.overlaps_communication()), ("m", "m", true));
        assert_eq!((m.peak_flops(Precision::Bf16), m.peak_flops(Precision::F32)), (1e10, 2e10));
        assert_eq!((m.op_latency(), m.step_latency(), m.memory_seconds(2e6)), (1e-6, 2e-6, 1e6 / 4e10 + 1e6 / 1e10));
        let matmul = Matmul { batch: 1, rows: 1, contracting: 1, columns: 1 };
        assert_eq!(m.matmul_seconds(&matmul, Precision::Bf16), 3e-6 + 2.0 / 1e10);
        let seconds = |kind| m.collective_seconds(&CollectiveLoad::new(kind, 1e6, 1e6, 2));
        assert_eq!(seconds(CollectiveKind::AllReduce), 2e-5 + 1e6 * (1.0 / 5e8));
        assert_eq!(seconds(CollectiveKind::AllToAll), 1e-5 + 5e5 * (1.0 / 1e9));
    }

    #[test]
    fn the_example_file_is_accepted() {
        let example = read(include_str!("../../examples/measured.toml")).unwrap_or_else(|d| panic!("{}", d.message));
        let Target::Custom(Custom(m)) = example.1 else { panic!("{example:?}") };
        assert_eq!((m.peak_flops(Precision::Bf16), m.peak_flops(Precision::F32Highest)), (3e14, 2e13));
        assert_eq!((m.op_latency(), m.memory_bytes(), m.memory_seconds(32e6)), (2e-6, 80_000_000_000, 32e6 / 6e12));
    }

    #[test]
    fn errors_name_the_place_and_the_remedy() {
        let check = |more: &str, at: &str, says: &str| {
            let text = format!("{PLAIN}{more}");
            let fault = read(&text).expect_err(more);
            let span = &text[fault.labels[0].0.start as usize..fault.labels[0].0.end as usize];
            assert!(span.contains(at) && fault.message.contains(says), "{more}: '{span}': {}", fault.message);
            assert!(!fault.notes.is_empty(), "{more}");
        };
        check("bf16_flops = 0.0", "0.0", "positive");
        check("op_latency = -1.0", "-1.0", "seconds");
        check("cache_bytes = 1e6", "1e6", "without cache_bandwidth");
        check("cache_bandwidth = 1e11", "1e11", "without cache_bytes");
        check("cache_bytes = 1e6\ncache_bandwidth = 1e9", "1e9", "slower");
        check("[flat.collectives.all_gater]\nlatency = 1e-6\nbandwidth = 1e9", "all_gater", "unknown field");
        check("[flat.collectives.all_gather]\nlatency = 1e-6\nbandwidth = nan", "nan", "positive");
    }
}
