//! The tables of OSU's benchmarks of MPI: `osu_allreduce` and the others print sizes and latencies.

use dialect::diagnostic::Diagnostic;
use passes::estimate::CollectiveKind;

use super::super::Series;
use super::{Found, fault, lines};

/// The words of a title, in the order in which they are compared, and whether the size is that of one process's part.
const TITLES: [(&str, CollectiveKind, bool); 8] = [
    ("Reduce_scatter", CollectiveKind::ReduceScatter, false),
    ("Allreduce", CollectiveKind::AllReduce, false),
    ("Allgather", CollectiveKind::AllGather, true),
    ("All-to-All", CollectiveKind::AllToAll, true),
    ("Alltoall", CollectiveKind::AllToAll, true),
    ("Broadcast", CollectiveKind::CollectiveBroadcast, false),
    ("Reduce", CollectiveKind::CollectiveReduce, false),
    ("MPI Latency", CollectiveKind::CollectivePermute, false),
];

/// The collective of a title, with the factor from the printed size to the bytes of the whole array.
fn titled(line: &str, at: usize, devices: Option<usize>) -> Result<(CollectiveKind, usize, f64), Diagnostic> {
    let place = at..at + line.len();
    let plain = line.replace("-CUDA", "").replace("-ROCM", "");
    let found = TITLES.iter().find(|title| plain.contains(title.0)).filter(|_| plain.contains("Latency"));
    let Some(&(_, kind, of_part)) = found else {
        let note = "osu_latency, osu_allreduce, osu_allgather, osu_reduce_scatter, osu_alltoall, osu_bcast and \
                    osu_reduce are supported, because they print the time of one call";
        return Err(fault(place, "measurements of this benchmark are not supported", note));
    };
    if kind == CollectiveKind::CollectivePermute {
        return Ok((kind, 2, 1.0));
    }
    let Some(devices) = devices.filter(|&devices| devices > 1) else {
        let note = "OSU's benchmarks don't print it: state it with --devices, as in --devices 8";
        return Err(fault(place, "the number of processes of this benchmark is unknown", note));
    };
    Ok((kind, devices, if of_part { devices as f64 } else { 1.0 }))
}

pub(super) fn read(text: &str, devices: Option<usize>) -> Result<Vec<Series>, Diagnostic> {
    let mut found = Found::default();
    let mut title = None;
    for (at, line) in lines(text) {
        if line.trim_start().starts_with("# OSU") {
            title = Some(titled(line, at, devices)?);
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some((kind, devices, factor)), [size, latency, ..]) = (title, &words[..]) else { continue };
        if let (Ok(size), Ok(latency)) = (size.parse::<u64>(), latency.parse::<f64>()) {
            found.add(kind, devices, factor * size as f64, 1e-6 * latency);
        }
    }
    let series = found.series("OSU's benchmarks");
    if series.is_empty() {
        let note = "each line of a table has a size in bytes and a latency in us; was the benchmark interrupted?";
        let at = text.find("# OSU").unwrap_or_default();
        return Err(fault(at..at + 5, "the table of OSU's benchmark has no measurements", note));
    }
    Ok(series)
}
