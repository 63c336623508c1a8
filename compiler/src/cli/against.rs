//! `cost --against`: reads a profile and shows it next to the modelled step.

use std::fmt::Write as _;
use std::io::Read as _;
use std::num::NonZeroU64;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::phrase::{counted, row};
use super::session::{Failure, read_file, reason};
use crate::{Cost, CostAgainst, Profiled, units};

/// The maximum number of ops in the table.
const SHOWN: usize = 20;
/// The maximum size of an uncompressed trace, in bytes.
const LARGEST: u64 = 4 << 30;
/// The first bytes of a file that gzip wrote.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads the profile and compares the cost with it.
pub(crate) fn compare(cost: &Cost, path: &Path, steps: Option<NonZeroU64>) -> Result<CostAgainst, Failure> {
    let profiled = read(path).and_then(|trace| Profiled::parse(&trace, steps.map(NonZeroU64::get))).map_err(|why| {
        let help = "expected a trace of jax.profiler.trace(…, create_perfetto_trace=True) or of 'shardc run --trace'";
        Failure::Usage(format!("--against: can't read {}: {why} ({help})", path.display()))
    })?;
    Ok(CostAgainst::new(cost, &profiled))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = read_file(path).map_err(|e| reason(&e))?;
    if !bytes.starts_with(&GZIP) {
        return Ok(bytes);
    }
    let mut trace = Vec::new();
    let unpacked = MultiGzDecoder::new(&bytes[..]).take(LARGEST + 1).read_to_end(&mut trace);
    match unpacked {
        Ok(size) if size as u64 > LARGEST => Err("it has more than 4 GiB, the limit for a trace".to_owned()),
        Ok(_) => Ok(trace),
        Err(e) => Err(format!("its compression is damaged: {e}")),
    }
}

/// Returns the table of the largest differences.
pub(crate) fn table(against: &CostAgainst) -> String {
    let CostAgainst { steps, devices, modelled_step_s, measured_step_s, ratio, .. } = *against;
    let mut text =
        format!("measured: {} on {}\n", counted(steps as usize, "step"), counted(devices as usize, "device"));
    let (modelled, measured) = (units::seconds(modelled_step_s), units::seconds(measured_step_s));
    let times = ratio.map_or(String::new(), |ratio| format!(", {ratio:.2} times as long"));
    let _ = writeln!(text, "  step             modelled {modelled}, measured {measured}{times}");
    let (modelled, measured) = (units::seconds(against.modelled_ops_s), units::seconds(against.measured_ops_s));
    let _ = writeln!(text, "  all ops          modelled {modelled}, measured {measured}");
    text.push_str("    modelled    measured  difference     times  op\n");
    for op in against.ops.iter().take(SHOWN) {
        let difference = op.difference_s();
        let sign = if difference < 0.0 { "-" } else { "+" };
        let line = format!(
            "{:>12}{:>12}{:>12} {:>9}  {}",
            units::seconds(op.modelled_s),
            units::seconds(op.measured_s),
            format!("{sign}{}", units::seconds(difference.abs())),
            op.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            op.name,
        );
        row(&mut text, &line);
    }
    if against.ops.len() > SHOWN {
        let _ = writeln!(text, "  and {} more, which --json lists", against.ops.len() - SHOWN);
    }
    text
}
