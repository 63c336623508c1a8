//! What takes long says on a terminal what it is doing, and some of it in lines where there is no terminal.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use passes::Step;

/// Whether anybody watches.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Whether the error stream is the process's own and no terminal, so that lines may be written there.
static LOGGED: AtomicBool = AtomicBool::new(false);

/// Where progress is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// On terminals alone.
    OnTerminals,
    /// Also as a line now and then, where the error stream is no terminal.
    Everywhere,
}

/// What is over sooner says nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a line is written where there is no terminal.
const LINES: Duration = Duration::from_secs(10);

/// How often the line is written again.
const PERIOD: Duration = Duration::from_millis(100);

/// Says that the error stream is the process's own, and whether it is a terminal, so that from now on [`during`] shows
/// something there.
pub(crate) fn watch(is_terminal: bool) {
    WATCHED.store(is_terminal, Ordering::Relaxed);
    LOGGED.store(!is_terminal, Ordering::Relaxed);
}

/// Runs these passes on the program of this name by `work`, which counts those that are over by the function that it gets;
/// if that takes long, shows which one runs.
pub(crate) fn of_passes<T>(name: &str, steps: &[Step], work: impl FnOnce(&dyn Fn()) -> T) -> T {
    let over = AtomicUsize::new(0);
    let now = || {
        let pass = steps.get(over.load(Ordering::Relaxed)).map_or("the end", |step| step.pass.name);
        format!("compiling {name}: {pass}")
    };
    during(now, || work(&|| _ = over.fetch_add(1, Ordering::Relaxed)))
}

/// Runs `work`; if that takes long, shows the line that `now` gives, with the time, until it ends.
pub(crate) fn during<T>(now: impl Fn() -> String + Sync, work: impl FnOnce() -> T) -> T {
    shown(Shown::OnTerminals, now, work)
}

/// [`during`], shown there.
pub(crate) fn shown<T>(show: Shown, now: impl Fn() -> String + Sync, work: impl FnOnce() -> T) -> T {
    let watched = WATCHED.load(Ordering::Relaxed);
    let logged = show == Shown::Everywhere && LOGGED.load(Ordering::Relaxed);
    if !watched && !logged {
        return work();
    }
    let (ended, end) = channel::<()>();
    std::thread::scope(|scope| {
        // Without a thread for it nothing is shown.
        let _ = std::thread::Builder::new().spawn_scoped(scope, || {
            let end = end;
            if watched { spin(&now, end) } else { log(&now, end) }
        });
        let result = work();
        drop(ended);
        result
    })
}

/// A line that is written again and again until the work ends.
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

/// Lines, one every few seconds until the work ends.
fn log(now: impl Fn() -> String, end: Receiver<()>) {
    let start = Instant::now();
    while end.recv_timeout(LINES) == Err(RecvTimeoutError::Timeout) {
        // Who has closed the stream misses the line.
        let _ = writeln!(std::io::stderr(), "shardc: {} ({} s)", now(), start.elapsed().as_secs());
    }
}
