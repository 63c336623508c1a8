//! The output of `run --profile` and `--trace`.

use super::perfetto::TraceWriter;
use super::ranks::Here;
use super::session::Failure;
use crate::cli::phrase::row;
use crate::{DeviceTrace, DeviceWaits, Profile, ProfiledOp, Straggler, Trace, units};

/// The maximum number of ops in a profile's table.
const SHOWN: usize = 25;

/// Returns the table of a profile: the most expensive ops, next to the lower bounds of the machine.
pub(crate) fn table(profile: &Profile) -> String {
    let all: f64 = profile.ops.iter().map(|op| op.seconds).sum();
    let mut text = format!(
        "this machine: {}/s in f32 products, {}/s of memory; times are of one device, the mean of all\n",
        units::flops(profile.flops_per_s),
        units::bytes(profile.bytes_per_s),
    );
    text.push_str("       time  share   waiting      bound  times bound    on target  times  op\n");
    for op in profile.ops.iter().take(SHOWN) {
        let above = if op.bound_s > 0.0 { format!("{:.1}", op.seconds / op.bound_s) } else { "-".to_owned() };
        let source = op.source.as_deref().unwrap_or_default();
        let line = format!(
            "{:>11} {:>6} {:>9} {:>10} {above:>12} {:>12} {:>6}  {:<32} {source}",
            units::seconds(op.seconds),
            units::percent(op.seconds, all),
            units::seconds(op.waited_s),
            units::seconds(op.bound_s),
            units::seconds(op.modelled_s),
            op.times,
            op.op,
        );
        row(&mut text, &line);
    }
    if profile.ops.len() > SHOWN {
        let (rest, seconds) = (&profile.ops[SHOWN..], |op: &ProfiledOp| op.seconds);
        let took = units::seconds(rest.iter().map(seconds).sum());
        text.push_str(&format!("{took:>11} in {} more, which --json lists\n", rest.len()));
    }
    text
}

/// Collects the waiting times in collectives of the devices of all processes, on the first process.
pub(crate) fn waits(trace: &Trace, here: Option<&Here>) -> Result<Vec<DeviceWaits>, Failure> {
    let mine = trace.waits();
    let Some(here) = here else { return Ok(mine) };
    let all = here.together(&serde_json::to_vec(&mine).unwrap_or_default())?;
    Ok(all.iter().flat_map(|bytes| serde_json::from_slice::<Vec<DeviceWaits>>(bytes).unwrap_or_default()).collect())
}

/// The maximum number of collectives for which the last device is listed.
const LATE: usize = 8;

/// Returns the table of the devices that others waited for.
pub(crate) fn late(stragglers: &[Straggler], here: Option<&Here>) -> String {
    let mut text = String::new();
    for straggler in stragglers.iter().filter(|straggler| straggler.late_s > 0.0).take(LATE) {
        if text.is_empty() {
            text.push_str("      later  last of times  device that arrived last, for which the others waited\n");
        }
        let of = format!("{} of {}", straggler.last, straggler.times);
        let whose = here.map(|here| format!(" on {}", here.place(straggler.rank))).unwrap_or_default();
        let source = straggler.source.as_deref().unwrap_or_default();
        let line = format!(
            "{:>11} {of:>14}  device {}{whose} at {:<32} {source}",
            units::seconds(straggler.late_s),
            straggler.device,
            straggler.op
        );
        row(&mut text, &line);
    }
    text
}

/// Returns a timeline with one row for each device's steps and one for its waits.
pub(crate) fn timeline(trace: &Trace, here: Option<&Here>) -> String {
    let rows = |(i, device): (usize, &DeviceTrace)| {
        let name = |what: &str| format!("device {}{what}", device.device);
        [(2 * i, name("")), (2 * i + 1, name(" waits"))]
    };
    let rows: Vec<(usize, String)> = trace.devices.iter().enumerate().flat_map(rows).collect();
    let mut timeline = match here {
        None => TraceWriter::new(&rows),
        Some(here) => TraceWriter::of_process(here.rank, Some(&here.place(here.rank)), &rows),
    };
    for (i, device) in trace.devices.iter().enumerate() {
        for step in &device.steps {
            let op = &trace.ops[step.op];
            timeline.slice(2 * i, &op.name, op.loc.as_deref(), step.start_s, step.seconds);
        }
        for &(start, seconds) in &device.waits {
            timeline.slice(2 * i + 1, "waits", None, start, seconds);
        }
        if device.lost > 0 {
            let end = device.steps.last().map_or(0.0, |step| step.start_s + step.seconds);
            timeline.slice(2 * i, &format!("{} more steps", device.lost), None, end, 0.0);
        }
    }
    timeline.finish()
}
