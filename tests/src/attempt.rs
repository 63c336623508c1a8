//! Commands that are run as a user would run them, and what counts as a bug of one.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::command::{Output, shardc};
use crate::needs;
use crate::sharded::number;

/// The longest that a command on a small input may take.
const LONGEST: Duration = Duration::from_secs(10);
/// The most bytes that a command on a small input may use.
const MOST_BYTES: u64 = 2 << 30;
/// The time after which an input counts as a hang.
const PATIENCE: Duration = Duration::from_secs(120);
/// The number of faults that a test reports.
const REPORTED: usize = 20;

/// Runs a command in this process, with `input` as standard input.
///
/// # Errors
/// Why what it does is a bug: a panic, an exit code that isn't 0, 1 or 2, a failure without a message, more than ten
/// seconds or 2 GiB. Those are measured over the whole process, so that a command which takes longer is run again.
pub fn attempt(args: &[&str], input: &[u8]) -> Result<Output, String> {
    once(args, input).or_else(|why| match why {
        Bug::Slow(_) => once(args, input).map_err(|why| format!("{args:?}{why}", why = why.text())),
        Bug::Other(_) => Err(format!("{args:?}{}", why.text())),
    })
}

/// Calls `fault` with `count` seeds on several threads, and fails if it returns something for one of them: why the
/// input of the seed shows a bug, and that input, which is left in `target/tmp/TEST/SEED`. Panics count too, those of
/// the language server's own threads among them.
///
/// `RANDOM_FROM` chooses the first seed, `RANDOM_PROGRAMS` another number of them. Returns that number.
///
/// # Panics
/// If there is a fault.
pub fn try_all(test: &str, count: u64, threads: usize, fault: impl Fn(u64) -> Option<(String, Vec<u8>)> + Sync) -> u64 {
    let (from, count) = (number("RANDOM_FROM", 0), number("RANDOM_PROGRAMS", count));
    let repeat = |seed| format!("RANDOM_FROM={seed} RANDOM_PROGRAMS=1 cargo test -p shardc-tests --test all {test}::");
    let (next, faults) = (AtomicU64::new(from), Mutex::new(Vec::new()));
    let folder = needs::target(env!("OUT_DIR")).join("tmp").join(test);
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    let running: Vec<Mutex<Option<(u64, Instant)>>> = (0..threads).map(|_| Mutex::default()).collect();
    // A panic is reported below; the default hook would print thousands of backtraces. One on a thread of the language
    // server is caught there, and the caller may receive nothing of it.
    let panics: &'static Mutex<Vec<String>> = Box::leak(Box::default());
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        if thread::current().name().is_some_and(|name| name.starts_with("lsp-")) {
            panics.lock().unwrap().push(info.to_string());
        }
    }));
    let work = |current: &Mutex<Option<(u64, Instant)>>| {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            *current.lock().unwrap() = (seed < from + count).then(|| (seed, Instant::now()));
            if seed >= from + count {
                return;
            }
            let found = catch_unwind(AssertUnwindSafe(|| fault(seed)));
            let found = found.unwrap_or_else(|panic| Some((format!("panic: {}", message(panic.as_ref())), Vec::new())));
            if let Some((why, input)) = found {
                let file = folder.join(seed.to_string());
                let _ = std::fs::write(&file, input);
                let why: String = why.chars().take(600).collect();
                faults.lock().unwrap().push(format!("{}: {why}\n{}", file.display(), repeat(seed)));
            }
        }
    };
    thread::scope(|scope| {
        let start = |current| {
            let thread = thread::Builder::new().stack_size(shardc::STACK_BYTES);
            thread.spawn_scoped(scope, move || work(current)).expect("a thread")
        };
        let workers: Vec<_> = running.iter().map(start).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            thread::sleep(Duration::from_millis(20));
            for (seed, since) in running.iter().filter_map(|current| *current.lock().unwrap()) {
                if since.elapsed() > PATIENCE {
                    // The thread can't be stopped, so the process exits.
                    eprintln!("it hangs: {}", repeat(seed));
                    std::process::exit(1);
                }
            }
        }
    });
    std::panic::set_hook(hook);
    let mut faults = faults.into_inner().unwrap();
    faults.append(&mut panics.lock().unwrap());
    let shown = faults[..faults.len().min(REPORTED)].join("\n");
    assert!(faults.is_empty(), "{} faults of {count} inputs:\n{shown}", faults.len());
    count
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default()
}

enum Bug {
    Slow(String),
    Other(String),
}

impl Bug {
    fn text(self) -> String {
        match self {
            Bug::Slow(text) | Bug::Other(text) => text,
        }
    }
}

fn once(args: &[&str], input: &[u8]) -> Result<Output, Bug> {
    let (before, began) = (restart_peak(), Instant::now());
    let ended = catch_unwind(AssertUnwindSafe(|| shardc(args, input)));
    let (took, bytes) = (began.elapsed(), peak().saturating_sub(before));
    let output = ended.map_err(|panic| Bug::Other(format!(": panic: {}", message(panic.as_ref()))))?;
    let Output { code, out, err } = &output;
    match code {
        3.. => {
            let start = output.errors().lines().take(3).collect::<Vec<_>>().join(" ");
            Err(Bug::Other(format!(": exit code {code}: {start}")))
        }
        1.. if err.is_empty() && out.is_empty() => Err(Bug::Other(format!(": exit code {code} without a message"))),
        _ if took > LONGEST => Err(Bug::Slow(format!(" takes {took:?}"))),
        _ if bytes > MOST_BYTES => Err(Bug::Slow(format!(" uses {} MiB", bytes >> 20))),
        _ => Ok(output),
    }
}

/// Has the system forget the most memory that this process has used; returns how much it uses now. Where the system
/// can't, memory isn't measured.
fn restart_peak() -> u64 {
    match std::fs::write("/proc/self/clear_refs", "5") {
        Ok(()) => peak(),
        Err(_) => u64::MAX,
    }
}

/// The most bytes that this process has used.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) << 10
}
