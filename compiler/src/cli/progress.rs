//! What takes long says on a terminal what it is doing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use passes::Step;

/// Whether anybody watches.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// What is over sooner says nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often the line is written again.
const PERIOD: Duration = Duration::from_millis(100);

/// Says that the error stream is a terminal, so that from now on [`during`] shows something.
pub(crate) fn watch() {
    WATCHED.store(true, Ordering::Relaxed);
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
    if !WATCHED.load(Ordering::Relaxed) {
        return work();
    }
    let (ended, end) = channel::<()>();
    std::thread::scope(|scope| {
        // Without a thread for it nothing is shown.
        let _ = std::thread::Builder::new().spawn_scoped(scope, || {
            let end = end;
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
        });
        let result = work();
        drop(ended);
        result
    })
}
