//! Figures from fixed texts of other programs, and the file that has them.

use passes::estimate::{CollectiveLoad, CostModel, Custom, Matmul};

use super::*;
use crate::compiler::Compiler;
use crate::source::Source;

/// Eight devices, 20 us and 300 GB/s, of which one size is far too slow.
const NCCL: &str = "\
# nccl-tests version 2.13.11
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 8 minBytes 1024 maxBytes 1073741824 step: 4(factor) warmup iters: 5 iters: 20
#  Rank  0 Group  0 Pid  10 on host device  0 [0x1a] NVIDIA H100 80GB HBM3
#  Rank  7 Group  0 Pid  10 on host device  7 [0xdd] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
ROWS
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 123.4
";

/// Rows of nccl-tests: seconds are a start-up, and the bytes by the factor of the bus bandwidth.
fn nccl(test: &str, redop: &str, factor: f64, start: f64, bandwidth: f64, slow: usize) -> String {
    let row = |i: usize| {
        let size = 1024u64 << (2 * i);
        let us = 1e6 * (start + size as f64 * factor / bandwidth) * if i == slow { 7.0 } else { 1.0 };
        let algbw = size as f64 / us * 1e-3;
        let bus = algbw * factor;
        let numbers = format!("{us:>8.2} {algbw:>7.2} {bus:>7.2}");
        format!("{size:>12} {:>13} float {redop:>7} -1 {numbers} 0 {numbers} 0", size / 4)
    };
    let rows: Vec<String> = (0..11).map(row).collect();
    NCCL.replace("all_reduce_perf", test).replace("ROWS", &rows.join("\n"))
}

fn series(name: &str, text: &str, devices: Option<usize>) -> Vec<Series> {
    let read = read_measurements(&Source::new(name, text), devices);
    read.into_result().unwrap_or_else(|d| panic!("{}", d.iter().next().map_or("", |d| d.message.as_str())))
}

/// Fits a file to measurements, and reads it.
fn reread(like: &str, series: &[Series]) -> (Calibration, &'static dyn CostModel) {
    let like = Target::parse(like).expect("a target");
    let made = Calibration::of("fitted", &like, series, None).expect("a flat target");
    let text = made.toml("From a test");
    let read = Compiler::standard().with_target_file(Source::new("fitted.toml", text.as_str())).into_result();
    let (compiler, name) =
        read.unwrap_or_else(|d| panic!("{}\n{text}", d.iter().next().map_or("", |d| d.message.as_str())));
    assert_eq!(name, "fitted");
    let Ok(Target::Custom(Custom(model))) = compiler.target(&name) else { panic!("{text}") };
    (made, model)
}

/// Checks that a number is another one, within a share of it.
#[track_caller]
fn close(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() <= share, "{value:e} is not {expected:e}");
}

fn collective(model: &dyn CostModel, kind: CollectiveKind, moved: f64) -> f64 {
    let load = match kind {
        CollectiveKind::AllGather => CollectiveLoad::new(kind, moved / 7.0, moved * 8.0 / 7.0, 8),
        CollectiveKind::AllReduce => CollectiveLoad::new(kind, moved * 4.0 / 7.0, moved * 4.0 / 7.0, 8),
        CollectiveKind::CollectivePermute => CollectiveLoad::new(kind, moved, moved, 8),
        _ => CollectiveLoad::new(kind, moved * 8.0 / 7.0, moved / 7.0, 8),
    };
    model.collective_seconds(&load)
}

#[test]
fn tables_of_nccl_tests_give_start_ups_and_bandwidths() {
    let rows = [
        ("all_reduce_perf", "sum", 1.75, 20e-6, 480e9, CollectiveKind::AllReduce),
        ("all_gather_perf", "none", 0.875, 15e-6, 370e9, CollectiveKind::AllGather),
        ("reduce_scatter_perf", "sum", 0.875, 16e-6, 360e9, CollectiveKind::ReduceScatter),
        ("alltoall_perf", "none", 0.875, 30e-6, 300e9, CollectiveKind::AllToAll),
        ("sendrecv_perf", "sum", 1.0, 12e-6, 340e9, CollectiveKind::CollectivePermute),
    ];
    let texts = rows.map(|(test, redop, factor, start, bandwidth, _)| nccl(test, redop, factor, start, bandwidth, 4));
    // All tables in one file, as a script prints them.
    let all = series("log.txt", &texts.concat(), None);
    assert_eq!(all.len(), 5);
    let (made, model) = reread("h100:8", &all);
    for (_, _, _, start, bandwidth, kind) in rows {
        close(collective(model, kind, 1.0), start, 0.01);
        close(collective(model, kind, 1e9), start + 1e9 / bandwidth, 0.01);
    }
    let figure = made.figure("flat.collectives.all_reduce.bandwidth").expect("it was measured");
    assert!(
        figure.measured && figure.how.contains("among 8 devices") && figure.how.contains("1 outlier"),
        "{figure:?}"
    );
    // The rest are the figures of the chip, and said to be.
    assert!(model.overlaps_communication());
    assert_eq!((model.peak_flops(Precision::Bf16), model.peak_flops(Precision::Int8)), (990e12, 1979e12));
    let memory = made.figure("flat.memory_bandwidth").expect("it is required");
    assert_eq!(
        (memory.measured, memory.how.as_str(), memory.value),
        (false, "not measured: the figure of h100:8", 3.35e12)
    );
}

#[test]
fn tables_without_a_name_or_devices_are_judged_by_their_columns() {
    let plain = |text: String| {
        text.lines().filter(|l| !l.contains("Rank") && !l.contains("starting")).collect::<Vec<_>>().join("\n")
    };
    let sums = plain(nccl("x", "sum", 1.75, 20e-6, 480e9, 99));
    let (_, model) = reread("flat", &series("log", &sums, None));
    close(collective(model, CollectiveKind::AllReduce, 1e9), 20e-6 + 1e9 / 480e9, 0.01);
    let gathers = plain(nccl("x", "none", 0.875, 20e-6, 370e9, 99));
    let fault = |name: &str, text: &str, devices, says: &str| {
        let read = read_measurements(&Source::new(name, text), devices);
        let faults = read.into_result().expect_err(says);
        let fault = faults.iter().next().expect("an error");
        assert!(fault.message.contains(says) && !fault.notes.is_empty() && fault.code == "measurements", "{fault:?}");
    };
    fault("log", &gathers, None, "which collective");
    assert_eq!(
        series("logs/all-gather.txt", &gathers, None)[0].quantity,
        Quantity::Collective(CollectiveKind::AllGather)
    );
    fault("log", "# all_reduce_perf\n# size count type redop time algbw busbw\n", None, "no measurements");
    fault("log", "hello", None, "format");
    fault("log", "", None, "format");
    fault("log", "{\"traceEvents\": [}", None, "not valid JSON");
    fault("log", "{\"a\": []}", None, "no traceEvents");
    fault("log", "[]", None, "no event");
    fault("log", "# OSU MPI Allreduce Latency Test v5.9\n# Size Avg\n4 1.3\n", None, "number of processes");
    fault("log", "# OSU MPI Multiple Bandwidth Test v5.9\n4 1.3\n", Some(4), "not supported");
    fault("log", "# OSU MPI Latency Test v5.9\n", Some(4), "no measurements");
}

#[test]
fn tables_of_osu_give_start_ups_and_bandwidths() {
    let table = |title: &str, start: f64, per: f64| {
        let row = |i: usize| {
            let size = 4u64 << (2 * i);
            format!("{size:<10}{:>24.2}\n", 1e6 * (start + size as f64 * per))
        };
        let rows: String = (0..10).map(row).collect();
        format!("\n# OSU MPI {title} Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n{rows}")
    };
    // Of gathers, the size is that of one process's part.
    let text = table("Allreduce Latency", 5e-6, 1.75 / 10e9)
        + &table("Allgather Latency", 7e-6, 7.0 / 11e9)
        + &table("Latency", 2e-6, 1.0 / 12e9);
    let (made, model) = reread("cpu", &series("osu.txt", &text, Some(8)));
    close(collective(model, CollectiveKind::AllReduce, 1e8), 5e-6 + 1e8 / 10e9, 0.02);
    close(collective(model, CollectiveKind::AllGather, 1e8), 7e-6 + 1e8 / 11e9, 0.02);
    close(collective(model, CollectiveKind::CollectivePermute, 1e8), 2e-6 + 1e8 / 12e9, 0.02);
    // Kinds that weren't measured have the median of the others.
    close(collective(model, CollectiveKind::AllToAll, 1e8), 5e-6 + 1e8 / 11e9, 0.02);
    assert!(made.figure("flat.collectives.all_to_all.latency").is_none());
}

#[test]
fn what_bench_mpi_prints_gives_the_bandwidth_between_processes() {
    let text = "\
program              ranks      shardc   any order   JAX, gloo  ratio   MiB sent: least, shardc, any order
layer_8                  1     10.00 ms    10.00 ms           -      -   0.00, 0.00, 0.00
layer_8                  2     20.00 ms    11.00 ms    30.00 ms   0.67   10.00, 20.00, 10.00
layer_8                  4     30.00 ms    12.00 ms           -      -   60.00, 80.00, 60.00
layer_64                 1      5.00 ms     5.00 ms           -      -   -, 0.00, 0.00
layer_64                 4     35.00 ms    12.00 ms           -      -   -, 120.00, 60.00
";
    let made = Calibration::of("m", &Target::parse("cpu").unwrap(), &series("b", text, None), None).unwrap();
    // 10, 20 and 30 ms for 10, 20 and 30 MiB of each process.
    close(made.figure("flat.bandwidth").unwrap().value, f64::from(10 << 20) / 10e-3, 1e-6);
    let latency = made.figure("flat.latency").unwrap();
    assert_eq!((latency.measured, latency.value), (false, 1e-4));
}

#[test]
fn profiles_of_xla_give_rates_of_products_memory_and_collectives() {
    let mut events = Vec::new();
    let mut event = |long_name: String, us: f64, more: &str| {
        let args = format!("{{\"long_name\": \"{long_name}\"{more}}}");
        events.push(format!("{{\"ph\": \"X\", \"name\": \"op\", \"ts\": 1, \"dur\": {us}, \"args\": {args}}}"));
    };
    for n in [256u32, 512, 1024, 2048] {
        let flops = 2.0 * f64::from(n).powi(3);
        let ty = format!("bf16[{n},{n}]{{1,0:T(8,128)(2,1)}}");
        let text = format!(
            "%dot.{n} = f32[{n},{n}]{{1,0}} dot({ty} %a, {ty} %b), lhs_contracting_dims={{1}}, \
             rhs_contracting_dims={{0}}"
        );
        event(text, 1e6 * (3e-6 + flops / 150e12), "");
        let fusion = format!("%fusion.{n} = s8[{n},{n}]{{1,0}} fusion(s8[{n},{n}] %a, s8[{n},{n}] %b), kind=kOutput");
        let more = format!(", \"model_flops\": \"{flops}\", \"hlo_category\": \"convolution fusion\"");
        event(fusion, 1e6 * (3e-6 + flops / 300e12), &more);
        let bytes = f64::from(n) * f64::from(n) * 4.0;
        let copy = format!("%copy.{n} = f32[{n},{n}] copy(f32[{n},{n}] %a)");
        event(copy, 1e6 * (1e-6 + 2.0 * bytes / 800e9), &format!(", \"bytes_accessed\": {}", 2.0 * bytes));
        let groups = if n == 512 { "[2,4]<=[8]" } else { "{{0,1,2,3},{4,5,6,7}}" };
        let sum = format!(
            "%all-reduce.{n} = f32[{n},{n}]{{1,0}} all-reduce(f32[{n},{n}]{{1,0}} %a), channel_id=1, \
             replica_groups={groups}, to_apply=%add"
        );
        event(sum, 1e6 * (10e-6 + 1.5 * bytes / 90e9), "");
    }
    let text = format!("{{\"traceEvents\": [{{\"ph\": \"M\", \"name\": \"process_name\"}},\n{}]}}", events.join(",\n"));
    let (made, model) = reread("v5e:8x1", &series("trace.json", &text, None));
    close(model.peak_flops(Precision::Bf16), 150e12, 1e-3);
    close(model.peak_flops(Precision::Int8), 300e12, 1e-3);
    close(model.memory_bandwidth(), 800e9, 1e-3);
    let matmul = Matmul { batch: 1, rows: 1024, contracting: 1024, columns: 1024 };
    close(model.matmul_seconds(&matmul, Precision::Bf16), 3e-6 + f64::from(1u32 << 31) / 150e12, 1e-2);
    let load = CollectiveLoad::new(CollectiveKind::AllReduce, 9e8, 9e8, 4);
    close(model.collective_seconds(&load), 10e-6 + 1.5 * 9e8 / 90e9, 1e-3);
    assert!(made.figure("flat.bf16_flops").is_some_and(|f| f.measured && f.how.contains("trace.json")));
}

#[test]
fn every_line_of_a_file_says_where_its_figure_comes_from() {
    let all = series("log.txt", &nccl("all_reduce_perf", "sum", 1.75, 20e-6, 480e9, 4), None);
    let made = Calibration::of("island", &Target::parse("h100:8").unwrap(), &all, None).unwrap();
    let text = made.toml("Two lines\nof a heading");
    assert!(
        text.starts_with("# Two lines\n# of a heading\n\nname = \"island\"\n\n[flat]\noverlap = true\n# "),
        "{text}"
    );
    assert!(text.contains("\n[flat.collectives.all_reduce]\n# read from log.txt: all_reduce by nccl-tests"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 120), "{text}");
    assert!(text.contains("latency = 2.000e-5\nbandwidth = 4.800e11\n"), "{text}");
}

#[test]
fn targets_with_a_topology_are_refused() {
    let refused = |like: &str| Calibration::of("m", &Target::parse(like).unwrap(), &[], None).expect_err(like);
    for like in ["v5e:4x4", "2xh100:8"] {
        assert!(refused(like).contains("has a topology"), "{like}");
    }
    let flat = Calibration::of("m", &Target::default(), &[], None).unwrap();
    assert!(flat.figures.iter().all(|figure| !figure.measured));
}
