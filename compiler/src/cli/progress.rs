//! Progress of long work: a line on a terminal, and for some work lines in a log.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use passes::Step;

/// Whether the error stream is a terminal.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Whether the error stream is the process's own and not a terminal, so that lines may be logged there.
static LOGGED: AtomicBool = AtomicBool::new(false);

/// The streams on which progress is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Only terminals.
    OnTerminals,
    /// Also streams that are no terminals, with an occasional line.
    Everywhere,
}

/// The time after which progress is shown; shorter work shows none.
const PATIENCE: Duration = Duration::from_secs(1);

/// The interval between lines in a log.
const LINES: Duration = Duration::from_secs(10);

/// The interval between updates of the line on a terminal.
const PERIOD: Duration = Duration::from_millis(100);

/// Enables progress in [`during`]: the error stream is the process's own, and may be a terminal.
pub(crate) fn watch(is_terminal: bool) {
    WATCHED.store(is_terminal, Ordering::Relaxed);
    LOGGED.store(!is_terminal, Ordering::Relaxed);
}

/// Runs passes on the named program by `work`, which calls the function that it gets after each pass. If the work takes
/// long, shows the current pass.
pub(crate) fn of_passes<T>(name: &str, steps: &[Step], work: impl FnOnce(&dyn Fn()) -> T) -> T {
    let over = AtomicUsize::new(0);
    let now = || {
        let pass = steps.get(over.load(Ordering::Relaxed)).map_or("the end", |step| step.pass.name);
        format!("compiling {name}: {pass}")
    };
    during(now, || work(&|| _ = over.fetch_add(1, Ordering::Relaxed)))
}

/// Runs `work`. If it takes long, shows the line that `now` returns, with the elapsed time, until it ends.
pub(crate) fn during<T>(now: impl Fn() -> String + Sync, work: impl FnOnce() -> T) -> T {
    shown(Shown::OnTerminals, now, work)
}

/// Like [`during`], on the streams given by `show`.
pub(crate) fn shown<T>(show: Shown, now: impl Fn() -> String + Sync, work: impl FnOnce() -> T) -> T {
    let watched = WATCHED.load(Ordering::Relaxed);
    let logged = show == Shown::Everywhere && LOGGED.load(Ordering::Relaxed);
    if !watched && !logged {
        return work();
    }
    let (ended, end) = channel::<()>();
    std::thread::scope(|scope| {
        // If no thread can be started, no progress is shown.
        let _ = std::thread::Builder::new().spawn_scoped(scope, || {
            let end = end;
            if watched { spin(&now, end) } else { log(&now, end) }
        });
        let result = work();
        drop(ended);
        result
    })
}

/// Updates a line until the work ends.
fn spin(now: impl Fn() -> String, end: Receiver<()>) {
    if end.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let bar = ProgressBar::new_spinner().with_elapsed(PATIENCE);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
        bar.set_style(style);
    }
    while end.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
        bar.set_message(now());
        bar.tick();
    }
    bar.finish_and_clear();
}

/// Writes a line every few seconds until the work ends.
fn log(now: impl Fn() -> String, end: Receiver<()>) {
    let start = Instant::now();
    while end.recv_timeout(LINES) == Err(RecvTimeoutError::Timeout) {
        // Ignore a closed stream.
        let _ = writeln!(std::io::stderr(), "shardc: {} ({} s)", now(), start.elapsed().as_secs());
    }
}
