//! The tables of nccl-tests: `all_reduce_perf` and the others print the size, the time and the bandwidth of each call.

use dialect::diagnostic::Diagnostic;
use passes::estimate::CollectiveKind;

use super::super::Series;
use super::{Found, fault, lines};

/// The names of the tests.
const TESTS: [(&str, CollectiveKind); 7] = [
    ("reduce_scatter", CollectiveKind::ReduceScatter),
    ("all_reduce", CollectiveKind::AllReduce),
    ("all_gather", CollectiveKind::AllGather),
    ("alltoall", CollectiveKind::AllToAll),
    ("sendrecv", CollectiveKind::CollectivePermute),
    ("broadcast", CollectiveKind::CollectiveBroadcast),
    ("reduce", CollectiveKind::CollectiveReduce),
];

/// The collective that a text names, as in `all_reduce_perf`.
fn named(text: &str) -> Option<CollectiveKind> {
    TESTS.iter().find(|test| text.contains(&format!("{}_perf", test.0))).map(|test| test.1)
}

/// The collective that the name of a file contains.
fn of_file(name: &str) -> Option<CollectiveKind> {
    let base = name.rsplit(['/', '\\']).next()?.replace(['-', '_'], "");
    TESTS.iter().find(|test| base.contains(&test.0.replace('_', ""))).map(|test| test.1)
}

/// The columns of a table.
struct Columns {
    size: usize,
    time: usize,
    algbw: usize,
    busbw: usize,
    redop: Option<usize>,
}

impl Columns {
    /// The columns that a heading names; those of calls out of place come first.
    fn of(heading: &str) -> Option<Self> {
        let names: Vec<&str> = heading.trim_start_matches('#').split_whitespace().collect();
        let at = |name: &str| names.iter().position(|n| *n == name);
        Some(Self {
            size: at("size")?,
            time: at("time")?,
            algbw: at("algbw")?,
            busbw: at("busbw")?,
            redop: at("redop"),
        })
    }
}

/// A row of a table.
struct Row {
    size: f64,
    seconds: f64,
    algbw: f64,
    busbw: f64,
    reduces: bool,
}

impl Row {
    fn of(line: &str, columns: &Columns) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
        let redop = columns.redop.and_then(|at| words.get(at).copied());
        Some(Self {
            size: number(columns.size)?,
            seconds: 1e-6 * number(columns.time)?,
            algbw: number(columns.algbw)?,
            busbw: number(columns.busbw)?,
            reduces: redop.is_some_and(|redop| redop != "none"),
        })
    }
}

/// One table: its heading's place, its rows, and what the text before it states.
struct Table {
    at: std::ops::Range<usize>,
    columns: Columns,
    rows: Vec<Row>,
    kind: Option<CollectiveKind>,
    ranks: usize,
}

pub(super) fn read(name: &str, text: &str, devices: Option<usize>) -> Result<Vec<Series>, Diagnostic> {
    let mut found = Found::default();
    for table in tables(text) {
        if table.rows.is_empty() {
            continue;
        }
        let (kind, ranks) = judged(&table, of_file(name), devices)?;
        for row in &table.rows {
            found.add(kind, ranks, row.size, row.seconds);
        }
    }
    let series = found.series("nccl-tests");
    if series.is_empty() {
        let note =
            "each line of a table has a size in bytes, the time in us, algbw and busbw; was the test interrupted?";
        let at = text.find("busbw").unwrap_or_default();
        return Err(fault(at..at + 5, "the table of nccl-tests has no measurements", note));
    }
    Ok(series)
}

fn tables(text: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let (mut kind, mut ranks, mut listing) = (None, 0, false);
    for (start, line) in lines(text) {
        if let Some(named) = named(line) {
            kind = Some(named);
        }
        let words: Vec<&str> = line.trim_start_matches(['#', ' ', '\t']).split_whitespace().collect();
        if let ["Rank", rank, ..] = words[..]
            && let Ok(rank) = rank.parse::<usize>()
        {
            // A list of devices begins with 0; several processes without MPI print one each.
            ranks = if listing { ranks.max(rank + 1) } else { rank + 1 };
            listing = true;
            continue;
        }
        if let Some(columns) = Columns::of(line) {
            tables.push(Table { at: start..start + line.len(), columns, rows: Vec::new(), kind, ranks });
            (kind, listing) = (None, false);
        } else if let Some(table) = tables.last_mut()
            && !line.trim_start().starts_with('#')
        {
            table.rows.extend(Row::of(line, &table.columns));
        }
    }
    tables
}

/// Returns the kind of the collectives in a table and the number of devices.
fn judged(
    table: &Table,
    of_file: Option<CollectiveKind>,
    devices: Option<usize>,
) -> Result<(CollectiveKind, usize), Diagnostic> {
    let largest = table.rows.iter().max_by(|a, b| a.algbw.total_cmp(&b.algbw));
    // 2 (n-1)/n for sums, (n-1)/n for gathers, scattered sums and exchanges, else 1.
    let factor = largest.filter(|row| row.algbw > 0.0).map_or(0.0, |row| row.busbw / row.algbw);
    let sums = largest.is_some_and(|row| row.reduces);
    let kind = table.kind.or(of_file).or(match (sums, factor) {
        (true, f) if f > 1.02 => Some(CollectiveKind::AllReduce),
        (true, f) if f > 0.4 && f < 0.98 => Some(CollectiveKind::ReduceScatter),
        _ => None,
    });
    let Some(kind) = kind else {
        let note = "the text before a table names the test, as in 'all_gather_perf -b 8 -e 1G'; if it is missing, name \
                    the file after the test: all_gather.txt, alltoall.txt, sendrecv.txt";
        return Err(fault(table.at.clone(), "nothing states which collective this table is of", note));
    };
    let of_factor = |of_one: f64| {
        let share = factor / of_one;
        (share > 0.4 && share < 0.999).then(|| (1.0 / (1.0 - share)).round() as usize)
    };
    let stated = Some(table.ranks).filter(|&ranks| ranks > 1);
    let ranks = devices.or(stated).or_else(|| match kind {
        CollectiveKind::AllReduce => of_factor(2.0),
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter | CollectiveKind::AllToAll => of_factor(1.0),
        _ => Some(2),
    });
    match ranks {
        Some(ranks) if ranks > 1 => Ok((kind, ranks)),
        _ => {
            let note = "lines such as '#  Rank  7 Group  0 …' list the devices; without them, state --devices 8";
            Err(fault(table.at.clone(), "the number of devices of this table is unknown", note))
        }
    }
}
