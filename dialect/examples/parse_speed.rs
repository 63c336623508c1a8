//! How fast texts are read, and how much memory the program takes: `cargo run --release --example parse_speed -- FILE…`
//!
//! Prints, for each file, its bytes, the best and median seconds of ten readings, of verifying and of printing, and the
//! most memory that reading takes for each byte of the text, the program's own copy of it included (on Linux, for the
//! first file).

use std::time::Instant;

use shardc_dialect::diagnostic::Diagnostics;

const ROUNDS: usize = 10;

fn main() {
    for path in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) => {
                eprintln!("{path}: {e}");
                continue;
            }
        };
        let before = status("VmRSS:");
        let mut diagnostics = Diagnostics::default();
        let program = shardc_dialect::parse(&text, &mut diagnostics);
        let taken = status("VmHWM:").saturating_sub(before);
        if let Some(first) = diagnostics.iter().next() {
            println!("{path}: {}", first.message);
        }
        let (best, median) = seconds(|| drop(shardc_dialect::parse(&text, &mut Diagnostics::default())));
        let (verify, _) = seconds(|| shardc_dialect::verify(&program, &mut Diagnostics::default()));
        let (print, _) = seconds(|| drop(shardc_dialect::print(&program)));
        println!(
            "{path}: {} bytes, {} ops; parse {best:.4} s (median {median:.4} s), verify {verify:.4} s, print {print:.4} s; \
             {:.1} bytes of memory a byte of text",
            text.len(),
            program.op_count(),
            taken as f64 / text.len() as f64
        );
    }
}

/// The best and the median of several runs.
fn seconds(mut f: impl FnMut()) -> (f64, f64) {
    let mut all: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64()
        })
        .collect();
    all.sort_by(f64::total_cmp);
    (all[0], all[ROUNDS / 2])
}

/// Bytes of memory this process holds now or held at most; 0 where the system doesn't say.
fn status(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix(what));
    line.and_then(|l| l.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}
