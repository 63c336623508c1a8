//! Measurements that other programs printed.

mod bench;
mod nccl;
mod osu;
mod profile;

use std::ops::Range;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Span};
use passes::estimate::{CollectiveKind, CollectiveLoad};

use super::fit::Point;
use super::{KINDS, Quantity, Series};
use crate::diagnostic::{Outcome, one};
use crate::source::Source;

/// Reads the tables of nccl-tests or of OSU's benchmarks, what `make bench-mpi` prints, or a profile of XLA as a Chrome
/// trace. `devices` is the number of devices or processes that took part, for texts that don't state it.
pub fn read_measurements(source: &Source, devices: Option<usize>) -> Outcome<Vec<Series>> {
    match read(source, devices) {
        Ok(series) => Outcome::new(source, Some(series), &Default::default()),
        Err(fault) => Outcome::new(source, None, &one(fault)),
    }
}

fn read(source: &Source, devices: Option<usize>) -> Result<Vec<Series>, Diagnostic> {
    let text = source.text.as_str();
    let found = match text.trim_start().chars().next() {
        Some('{' | '[') => profile::read(text)?,
        _ if text.contains("# OSU") => osu::read(text, devices)?,
        _ if text.contains("busbw") => nccl::read(&source.name, text, devices)?,
        _ if text.contains("MiB sent") => bench::read(text)?,
        _ => {
            let note = "expected the output of nccl-tests (all_reduce_perf), of OSU's benchmarks (osu_allreduce), of \
                        make bench-mpi, or a profile as JSON (gunzip trace.json.gz)";
            return Err(fault(0..text.len().min(1), "the format of these measurements is unknown", note));
        }
    };
    Ok(found
        .into_iter()
        .map(|series| Series { how: format!("read from {}: {}", source.name, series.how), ..series })
        .collect())
}

fn fault(at: Range<usize>, message: impl Into<String>, note: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::MEASUREMENTS, Span::new(at.start, at.end), message.into()).note(note.into())
}

/// The lines of a text, each with the place where it begins.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = text.as_ptr() as usize;
    text.lines().map(move |line| (line.as_ptr() as usize - start, line))
}

/// Collectives by kind, in the order of [`KINDS`].
#[derive(Default)]
struct Found(Vec<(CollectiveKind, usize, Point)>);

impl Found {
    /// Adds a collective of an array that has `bytes` as [`CollectiveLoad::bytes`] counts them.
    fn add(&mut self, kind: CollectiveKind, devices: usize, bytes: f64, seconds: f64) {
        let load = match kind {
            CollectiveKind::AllGather => CollectiveLoad::new(kind, bytes / devices as f64, bytes, devices as u64),
            _ => CollectiveLoad::new(kind, bytes, bytes, devices as u64),
        };
        if bytes > 0.0 && seconds > 0.0 && seconds.is_finite() {
            self.0.push((kind, devices, Point { work: load.moved_bytes(), seconds }));
        }
    }

    fn series(self, what: &str) -> Vec<Series> {
        let of = |&(kind, name): &(CollectiveKind, &str)| {
            let mine: Vec<&(CollectiveKind, usize, Point)> = self.0.iter().filter(|row| row.0 == kind).collect();
            let least = mine.iter().map(|row| row.1).min()?;
            let most = mine.iter().map(|row| row.1).max()?;
            let points: Vec<Point> = mine.iter().map(|row| row.2).collect();
            let among = if least == most { most.to_string() } else { format!("{least} to {most}") };
            let how = format!("{name} by {what}, {} measurements among {among} devices", points.len());
            Some(Series { quantity: Quantity::Collective(kind), points, how })
        };
        KINDS.iter().filter_map(of).collect()
    }
}
