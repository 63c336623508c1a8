//! What `make bench-mpi` prints: seconds of a call in one process and in several, and the bytes that these send.

use std::collections::BTreeMap;

use dialect::diagnostic::Diagnostic;

use super::super::fit::Point;
use super::super::{Quantity, Series};
use super::{fault, lines};

/// A row: the processes, the seconds of a call, and the bytes that each process sends.
type Row = (f64, f64, f64);

pub(super) fn read(text: &str) -> Result<Vec<Series>, Diagnostic> {
    let mut programs: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    for (_, line) in lines(text) {
        let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty() && *word != "ms").collect();
        let [name, ranks, seconds, .., sent, _] = words[..] else { continue };
        let number = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
        if let (Some(ranks), Some(ms), Some(mib)) = (number(ranks), number(seconds), number(sent)) {
            let bytes = mib * f64::from(1 << 20) / ranks.max(1.0);
            programs.entry(name).or_default().push((ranks, 1e-3 * ms, bytes));
        }
    }
    let mut points = Vec::new();
    for rows in programs.values() {
        let Some(alone) = rows.iter().find(|row| row.0 == 1.0) else { continue };
        let sent = rows.iter().filter(|row| row.0 > 1.0 && row.2 > 0.0 && row.1 > alone.1);
        points.extend(sent.map(|row| Point { work: row.2, seconds: row.1 - alone.1 }));
    }
    if points.is_empty() {
        let note = "a program needs a row with 1 process and slower rows with several that send bytes: RANKS 1,2,4";
        let at = text.find("MiB sent").unwrap_or_default();
        return Err(fault(at..at + 8, "no row shows the time of messages between processes", note));
    }
    let count = points.len();
    let how = format!(
        "{count} steps in several processes by make bench-mpi, each less the step in one process, by the bytes that a \
         process sends"
    );
    Ok(vec![Series { quantity: Quantity::Sent, points, how }])
}
