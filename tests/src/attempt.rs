//! Commands that are run as a user would run them, and what counts as a bug of one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The longest that a command on a small input may take.
const LONGEST: Duration = Duration::from_secs(10);
/// The most bytes that a command on a small input may use.
const MOST_BYTES: u64 = 2 << 30;
/// A command that takes longer counts as a hang: the process ends, because a thread can't be stopped.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a command did that wasn't a bug.
pub struct Done {
    /// Its exit code.
    pub code: i32,
    /// What it wrote to standard output.
    pub out: Vec<u8>,
    /// What it wrote to standard error.
    pub err: Vec<u8>,
}

/// Runs a command in this process, with `input` as standard input.
///
/// # Errors
/// Why what it does is a bug: a panic, an exit code that isn't 0, 1 or 2, a failure without a message, more than ten
/// seconds or 2 GiB. Those are measured over the whole process, so that a command which takes longer is run again.
pub fn attempt(args: &[&str], input: &[u8]) -> Result<Done, String> {
    once(args, input).or_else(|why| match why {
        Bug::Slow(_) => once(args, input).map_err(|why| format!("{args:?}{why}", why = why.text())),
        Bug::Other(_) => Err(format!("{args:?}{}", why.text())),
    })
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

fn once(args: &[&str], input: &[u8]) -> Result<Done, Bug> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let io = shardc::Io { stdin: &mut &*input, out: &mut out, err: &mut err, out_color: false, err_color: false };
    let (before, began) = (restart_peak(), Instant::now());
    let ended = watched(args, input, || catch_unwind(AssertUnwindSafe(|| shardc::run(args, io))));
    let (took, bytes) = (began.elapsed(), peak().saturating_sub(before));
    let said: String = String::from_utf8_lossy(&err).lines().take(3).collect::<Vec<_>>().join(" ");
    match ended.map(i32::from) {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            Err(Bug::Other(format!(": panic: {}", text.unwrap_or_default())))
        }
        Ok(code) if !(0..=2).contains(&code) => Err(Bug::Other(format!(": exit code {code}: {said}"))),
        Ok(code) if code != 0 && err.is_empty() && out.is_empty() => {
            Err(Bug::Other(format!(": exit code {code} without a message")))
        }
        Ok(_) if took > LONGEST => Err(Bug::Slow(format!(" takes {took:?}"))),
        Ok(_) if bytes > MOST_BYTES => Err(Bug::Slow(format!(" uses {} MiB", bytes >> 20))),
        Ok(code) => Ok(Done { code, out, err }),
    }
}

/// Runs `work`; when it hangs, leaves its input in the folder for temporary files and ends the process.
fn watched<T>(args: &[&str], input: &[u8], work: impl FnOnce() -> T) -> T {
    let (ended, wait) = channel::<()>();
    let text = format!("{args:?}");
    let input = input.to_vec();
    thread::spawn(move || {
        if wait.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let path = std::env::temp_dir().join(format!("shardc-hangs-{}", std::process::id()));
            let _ = std::fs::write(&path, input);
            eprintln!("{text} hangs; its input is {}", path.display());
            std::process::exit(1);
        }
    });
    let result = work();
    drop(ended);
    result
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
