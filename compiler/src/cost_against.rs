//! The modelled cost of a step next to a measured one, by op, as data. Serialized, it is part of what `shardc cost
//! --against --json` prints.
//!
//! A profile is a trace in the trace event format: what XLA's profiler writes for TPUs and GPUs (`trace.json.gz`), and
//! what `shardc run --trace` and `shardc cost --trace` write.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::cost::Cost;

/// A modelled step compared with a profile.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct CostAgainst {
    /// The number of steps in the profile.
    pub steps: u64,
    /// The number of devices in the profile.
    pub devices: u64,
    /// Modelled seconds of a step.
    pub modelled_step_s: f64,
    /// Measured seconds of a step.
    pub measured_step_s: f64,
    /// Measured seconds of a step divided by modelled ones; `None` if nothing is modelled.
    pub ratio: Option<f64>,
    /// Modelled seconds of all ops in a step on one device.
    pub modelled_ops_s: f64,
    /// Measured seconds of all ops in a step on one device, the mean of all devices.
    pub measured_ops_s: f64,
    /// Ops by source line, or by name if a source line is in one of the two only, by decreasing difference.
    pub ops: Vec<OpAgainst>,
}

/// The ops that share a source line or a name.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct OpAgainst {
    /// The source line or the name.
    pub name: String,
    /// Modelled seconds in a step on one device.
    pub modelled_s: f64,
    /// Measured seconds in a step on one device.
    pub measured_s: f64,
    /// The number of modelled ops in a step.
    pub modelled_count: f64,
    /// The number of measured ops in a step on one device.
    pub measured_count: f64,
}

/// The ops of a profile.
#[derive(Clone, PartialEq, Debug)]
pub struct Profiled {
    ops: Vec<ProfiledEvent>,
    devices: u64,
    steps: u64,
    step_s: f64,
}

#[derive(Clone, PartialEq, Debug)]
struct ProfiledEvent {
    name: String,
    source: Option<String>,
    seconds: f64,
}

/// A trace as an object; some are lists of events.
#[derive(Deserialize)]
struct Trace {
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Event {
    #[serde(deserialize_with = "text")]
    name: Option<String>,
    #[serde(deserialize_with = "text")]
    ph: Option<String>,
    #[serde(deserialize_with = "number")]
    ts: Option<f64>,
    #[serde(deserialize_with = "number")]
    dur: Option<f64>,
    #[serde(deserialize_with = "id")]
    pid: String,
    #[serde(deserialize_with = "id")]
    tid: String,
    args: Option<Args>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Args {
    #[serde(deserialize_with = "text")]
    name: Option<String>,
    #[serde(deserialize_with = "text")]
    hlo_op: Option<String>,
    #[serde(deserialize_with = "text")]
    source: Option<String>,
}

fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(if let Value::String(text) = Value::deserialize(from)? { Some(text) } else { None })
}

fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    Ok(Value::deserialize(from)?.as_f64().filter(|number| number.is_finite()))
}

fn id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => text,
        other => other.to_string(),
    })
}

/// A row of a trace: its process and its thread.
type Row<'a> = (&'a str, &'a str);

/// The rows of a trace that have the ops of devices.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    /// Those of XLA's profiler, of processes named as devices.
    Devices,
    /// Threads of a host whose events name ops of HLO, as on CPUs.
    HloOps,
    /// Those of `shardc`, named as devices or streams.
    Own,
    /// All.
    All,
}

impl Profiled {
    /// Reads a trace. `steps` is the number of steps in it. Without it, the rows of XLA's profiler count them, and
    /// other traces have one step.
    ///
    /// # Errors
    /// Text that isn't a trace, or a trace without events of ops.
    pub fn parse(trace: &[u8], steps: Option<u64>) -> Result<Self, String> {
        let is_list = trace.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        let events = match is_list {
            true => serde_json::from_slice(trace),
            false => serde_json::from_slice(trace).map(|trace: Trace| trace.events),
        };
        let events: Vec<Event> = events.map_err(|e| format!("it is not a trace: {e}"))?;
        let names = Names::of(&events);
        let shown = [Rows::Devices, Rows::HloOps, Rows::Own, Rows::All];
        let selected = |rows| events.iter().filter(|e| names.is_op(e, rows)).collect::<Vec<_>>();
        let Some((rows, selected)) = shown.iter().map(|&rows| (rows, selected(rows))).find(|s| !s.1.is_empty()) else {
            return Err("it has no events with a duration (\"ph\": \"X\")".to_owned());
        };
        let counted = names.steps(&events);
        let steps = steps.or(counted.map(|all| all.0)).unwrap_or(1).max(1);
        let devices: BTreeSet<&str> = selected.iter().map(|e| names.device(e, rows)).collect();
        let end = |e: &&Event| e.ts.unwrap_or(0.0) + e.dur.unwrap_or(0.0);
        let start = selected.iter().filter_map(|e| e.ts).fold(f64::INFINITY, f64::min);
        let span = (selected.iter().map(end).fold(start, f64::max) - start).max(0.0) / 1e6;
        let step_s = counted.map_or(span, |all| all.1) / steps as f64;
        let ops = self_times(selected);
        Ok(Self { ops, devices: devices.len().max(1) as u64, steps, step_s })
    }
}

/// The names of a trace's processes and threads.
struct Names<'a> {
    processes: HashMap<&'a str, &'a str>,
    threads: HashMap<Row<'a>, &'a str>,
    /// Whether the profiler wrote a row of HLO ops, next to rows of other events.
    has_ops: bool,
}

impl<'a> Names<'a> {
    fn of(events: &'a [Event]) -> Self {
        let mut names = Self { processes: HashMap::new(), threads: HashMap::new(), has_ops: false };
        for event in events.iter().filter(|event| event.ph.as_deref() == Some("M")) {
            let Some(name) = event.args.as_ref().and_then(|args| args.name.as_deref()) else { continue };
            match event.name.as_deref() {
                Some("process_name") => _ = names.processes.insert(&event.pid, name),
                Some("thread_name") => _ = names.threads.insert((&event.pid, &event.tid), name),
                _ => {}
            }
        }
        names.has_ops = names.threads.iter().any(|(row, name)| names.is_device(row.0) && *name == "XLA Ops");
        names
    }

    fn is_device(&self, process: &str) -> bool {
        self.processes.get(process).is_some_and(|name| name.starts_with("/device:"))
    }

    fn thread(&self, event: &Event) -> &'a str {
        self.threads.get(&(event.pid.as_str(), event.tid.as_str())).copied().unwrap_or_default()
    }

    fn is_op(&self, event: &Event, rows: Rows) -> bool {
        if event.ph.as_deref() != Some("X") || event.name.is_none() || event.dur.is_none_or(|dur| dur < 0.0) {
            return false;
        }
        let thread = self.thread(event);
        match rows {
            Rows::Devices if self.has_ops => self.is_device(&event.pid) && thread == "XLA Ops",
            Rows::Devices => self.is_device(&event.pid) && thread.starts_with("Stream"),
            Rows::HloOps => event.args.as_ref().is_some_and(|args| args.hlo_op.is_some()),
            Rows::Own => matches!(thread, "compute" | "communication") || is_own_device(thread),
            Rows::All => true,
        }
    }

    /// Returns the device of an op.
    fn device<'e>(&self, event: &'e Event, rows: Rows) -> &'e str
    where
        'a: 'e,
    {
        match rows {
            Rows::Devices => &event.pid,
            Rows::Own if is_own_device(self.thread(event)) => self.thread(event),
            _ => "",
        }
    }

    /// Returns the number of steps and the seconds of all, from the rows in which XLA's profiler shows steps or the
    /// runs of programs.
    fn steps(&self, events: &[Event]) -> Option<(u64, f64)> {
        for name in ["Steps", "XLA Modules"] {
            let shown = |e: &&Event| e.ph.as_deref() == Some("X") && self.is_device(&e.pid) && self.thread(e) == name;
            // Small programs run between steps; a step is the run of the program that takes longest in all.
            let mut runs: BTreeMap<(&str, &str), (u64, f64)> = BTreeMap::new();
            for event in events.iter().filter(shown) {
                let program = if name == "Steps" { "" } else { event.name.as_deref().unwrap_or_default() };
                let run = runs.entry((&event.pid, program)).or_default();
                *run = (run.0 + 1, run.1 + event.dur.unwrap_or(0.0));
            }
            if let Some((count, time)) = runs.into_values().max_by(|a, b| a.1.total_cmp(&b.1)) {
                return Some((count, time / 1e6));
            }
        }
        None
    }
}

fn is_own_device(thread: &str) -> bool {
    thread.strip_prefix("device ").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The microseconds by which the times of a trace are rounded.
const ROUNDED: f64 = 1e-3;

/// Returns the events with the seconds in which no other event of their row runs inside of them: loops contain their
/// bodies.
fn self_times(mut events: Vec<&Event>) -> Vec<ProfiledEvent> {
    let key = |e: &Event| (e.ts.unwrap_or(0.0), -e.dur.unwrap_or(0.0));
    events.sort_by(|a, b| {
        let ((start_a, dur_a), (start_b, dur_b)) = (key(a), key(b));
        (&a.pid, &a.tid).cmp(&(&b.pid, &b.tid)).then(start_a.total_cmp(&start_b)).then(dur_a.total_cmp(&dur_b))
    });
    let mut seconds: Vec<f64> = events.iter().map(|e| e.dur.unwrap_or(0.0) / 1e6).collect();
    // The events around the current one, innermost last.
    let mut around: Vec<usize> = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let (start, duration) = (event.ts.unwrap_or(0.0), event.dur.unwrap_or(0.0));
        while let Some(&outer) = around.last() {
            let of = events[outer];
            let end = of.ts.unwrap_or(0.0) + of.dur.unwrap_or(0.0);
            if (&of.pid, &of.tid) == (&event.pid, &event.tid) && start + duration <= end + ROUNDED {
                seconds[outer] = (seconds[outer] - duration / 1e6).max(0.0);
                break;
            }
            around.pop();
        }
        around.push(i);
    }
    let op = |(event, seconds): (&&Event, f64)| {
        let args = event.args.as_ref();
        let hlo = args.and_then(|args| args.hlo_op.as_ref());
        ProfiledEvent {
            name: hlo.or(event.name.as_ref()).cloned().unwrap_or_default(),
            source: args.and_then(|args| args.source.as_deref()).and_then(line_of),
            seconds,
        }
    };
    events.iter().zip(seconds).map(op).collect()
}

/// Returns the file without folders and the line of a place: `model.py:12` of `/home/me/model.py:12:5`.
fn line_of(place: &str) -> Option<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mut file, mut line) = place.rsplit_once(':').filter(|split| is_number(split.1))?;
    if let Some((start, number)) = file.rsplit_once(':').filter(|split| is_number(split.1)) {
        (file, line) = (start, number);
    }
    let file = file.rsplit(['/', '\\']).next().filter(|file| !file.is_empty())?;
    Some(format!("{file}:{line}"))
}

/// Returns the kind of op that a name of StableHLO or HLO names: `all_gather` of `stablehlo.all_gather` and
/// `all-gather-start.3`.
fn kind_of(name: &str) -> String {
    let dialects = ["stablehlo.", "chlo.", "mhlo.", "sdy.", "shardc."];
    let name = dialects.iter().find_map(|dialect| name.strip_prefix(dialect)).unwrap_or(name);
    let name = name.strip_prefix('%').unwrap_or(name).split('.').next().unwrap_or_default().replace('-', "_");
    let name = ["_start", "_done"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    if name == "dot" { "dot_general".to_owned() } else { name.to_owned() }
}

impl CostAgainst {
    /// Compares a cost with a profile of the program.
    pub fn new(cost: &Cost, profile: &Profiled) -> Self {
        let modelled: Vec<(Option<String>, &str, f64, f64)> = cost
            .timeline
            .iter()
            .map(|e| (e.loc.as_deref().and_then(line_of), e.op.as_str(), e.seconds * e.count as f64, e.count as f64))
            .collect();
        let per_step = 1.0 / (profile.steps as f64 * profile.devices as f64);
        let lines =
            |of: &mut dyn Iterator<Item = &Option<String>>| -> BTreeSet<String> { of.flatten().cloned().collect() };
        let of_model = lines(&mut modelled.iter().map(|op| &op.0));
        let of_profile = lines(&mut profile.ops.iter().map(|op| &op.source));
        let name = |line: &Option<String>, op: &str| match line {
            Some(line) if of_model.contains(line) && of_profile.contains(line) => line.clone(),
            _ => kind_of(op),
        };
        let mut ops: BTreeMap<String, OpAgainst> = BTreeMap::new();
        for (line, op, seconds, count) in &modelled {
            let row = ops.entry(name(line, op)).or_default();
            row.modelled_s += seconds;
            row.modelled_count += count;
        }
        for event in &profile.ops {
            let row = ops.entry(name(&event.source, &event.name)).or_default();
            row.measured_s += event.seconds * per_step;
            row.measured_count += per_step;
        }
        let mut ops: Vec<OpAgainst> = ops.into_iter().map(|(name, op)| OpAgainst { name, ..op }).collect();
        ops.sort_by(|a, b| b.difference_s().abs().total_cmp(&a.difference_s().abs()));
        Self {
            steps: profile.steps,
            devices: profile.devices,
            modelled_step_s: cost.step_s,
            measured_step_s: profile.step_s,
            ratio: (cost.step_s > 0.0).then(|| profile.step_s / cost.step_s),
            modelled_ops_s: ops.iter().map(|op| op.modelled_s).sum(),
            measured_ops_s: ops.iter().map(|op| op.measured_s).sum(),
            ops,
        }
    }
}

impl OpAgainst {
    /// Returns measured minus modelled seconds.
    pub fn difference_s(&self) -> f64 {
        self.measured_s - self.modelled_s
    }

    /// Returns measured divided by modelled seconds; `None` if one of them is 0.
    pub fn ratio(&self) -> Option<f64> {
        (self.modelled_s > 0.0 && self.measured_s > 0.0).then(|| self.measured_s / self.modelled_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TPU: &str = r#"{"traceEvents": [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:TPU:0"}},
        {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/device:TPU:1"}},
        {"ph": "M", "pid": 7, "name": "process_name", "args": {"name": "/host:CPU"}},
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "Steps"}},
        {"ph": "M", "pid": 1, "tid": 3, "name": "thread_name", "args": {"name": "XLA Ops"}},
        {"ph": "M", "pid": 2, "tid": 3, "name": "thread_name", "args": {"name": "XLA Ops"}},
        {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 50, "name": "1", "args": {}},
        {"ph": "X", "pid": 1, "tid": 1, "ts": 60, "dur": 30, "name": "2"},
        {"ph": "X", "pid": 1, "tid": 3, "ts": 0, "dur": 40, "name": "while.3", "args": {"name": 3}},
        {"ph": "X", "pid": 1, "tid": 3, "ts": 5, "dur": 10, "name": "fusion.1", "args": {"source": "/a/model.py:12"}},
        {"ph": "X", "pid": 1, "tid": 3, "ts": 15, "dur": 25, "name": "all-gather-start.2"},
        {"ph": "X", "pid": 2, "tid": 3, "ts": 7, "dur": 6, "name": "dot.9"},
        {"ph": "X", "pid": 7, "tid": 3, "ts": 0, "dur": 900, "name": "python"},
        {}
    ]}"#;

    #[test]
    fn the_ops_of_a_tpu_are_those_of_its_rows_without_what_runs_inside() {
        let profile = Profiled::parse(TPU.as_bytes(), None).unwrap();
        assert_eq!((profile.devices, profile.steps), (2, 2));
        assert!((profile.step_s - 40e-6).abs() < 1e-12, "{}", profile.step_s);
        let ops: Vec<(&str, Option<&str>, f64)> =
            profile.ops.iter().map(|op| (op.name.as_str(), op.source.as_deref(), (op.seconds * 1e7).round())).collect();
        let fusion = ("fusion.1", Some("model.py:12"), 100.0);
        assert_eq!(ops, [("while.3", None, 50.0), fusion, ("all-gather-start.2", None, 250.0), ("dot.9", None, 60.0)]);
        let four = Profiled::parse(TPU.as_bytes(), Some(4)).unwrap();
        assert!(four.steps == 4 && (four.step_s - 20e-6).abs() < 1e-12);
    }

    #[test]
    fn other_traces_have_the_rows_of_shardc_or_all() {
        let own = r#"[{"ph":"M","pid":0,"tid":0,"name":"thread_name","args":{"name":"device 0"}},
            {"ph":"M","pid":0,"tid":1,"name":"thread_name","args":{"name":"device 0 waits"}},
            {"ph":"X","pid":0,"tid":0,"ts":1.5,"dur":2.5,"name":"stablehlo.add","args":{"source":null}},
            {"ph":"X","pid":0,"tid":1,"ts":9,"dur":9,"name":"waits","args":{}}]"#;
        let profile = Profiled::parse(own.as_bytes(), None).unwrap();
        assert_eq!((profile.ops.len(), profile.devices, profile.steps), (1, 1, 1));
        assert!((profile.step_s - 2.5e-6).abs() < 1e-15);
        let plain = r#"{"traceEvents":[{"ph":"X","pid":"a","tid":"b","ts":0,"dur":1,"name":"k","args":null}]}"#;
        assert_eq!(Profiled::parse(plain.as_bytes(), None).unwrap().ops[0].name, "k");
        for (text, says) in [
            ("", "not a trace: EOF"),
            ("{\"traceEvents\": [{]}", "not a trace: "),
            ("{\"events\": []}", "missing field `traceEvents`"),
            ("[]", "no events with a duration"),
            ("[{\"ph\": \"X\", \"name\": \"a\", \"dur\": -1}]", "no events with a duration"),
        ] {
            let fault = Profiled::parse(text.as_bytes(), None).expect_err(says);
            assert!(fault.contains(says), "{text}: {fault}");
        }
    }

    #[test]
    fn names_of_both_sides_meet() {
        for name in ["stablehlo.all_gather", "all-gather-start.3", "all-gather-done.12", "%all-gather.1.remat"] {
            assert_eq!(kind_of(name), "all_gather", "{name}");
        }
        assert_eq!((kind_of("dot.5"), kind_of("stablehlo.dot_general")), ("dot_general".into(), "dot_general".into()));
        let lines = ["/a/model.py:12", "model.py:12:5", "C:\\a\\model.py:12"].map(|place| line_of(place).unwrap());
        assert_eq!(lines, ["model.py:12"; 3]);
        assert_eq!((line_of("%arg0"), line_of(":3"), line_of("a:b")), (None, None, None));
    }
}
