//! Timelines in the trace event format, for ui.perfetto.dev and chrome://tracing.

use std::fmt::Write as _;

use serde_json::json;

const START: &str = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
const END: &str = "]}\n";

/// A timeline that is being written.
pub(crate) struct TraceWriter {
    text: String,
    /// The process of its rows.
    process: usize,
}

impl TraceWriter {
    /// Creates a timeline with a named row for each number; [`Self::slice`] uses the same numbers.
    pub(crate) fn new(rows: &[(usize, String)]) -> Self {
        Self::of_process(0, None, rows)
    }

    /// Creates a timeline whose rows belong to one of several processes, with this number and name.
    pub(crate) fn of_process(process: usize, name: Option<&str>, rows: &[(usize, String)]) -> Self {
        let mut timeline = Self { text: START.to_owned(), process };
        if let Some(name) = name {
            timeline.event(&json!({"name": "process_name", "ph": "M", "pid": process, "args": {"name": name}}));
            timeline.event(
                &json!({"name": "process_sort_index", "ph": "M", "pid": process, "args": {"sort_index": process}}),
            );
        }
        for (row, name) in rows {
            timeline
                .event(&json!({"name": "thread_name", "ph": "M", "pid": process, "tid": row, "args": {"name": name}}));
            timeline.event(
                &json!({"name": "thread_sort_index", "ph": "M", "pid": process, "tid": row, "args": {"sort_index": row}}),
            );
        }
        timeline
    }

    /// Merges the texts of several processes into one.
    pub(crate) fn join(texts: impl Iterator<Item = String>) -> String {
        let events = |text: String| Some(text.strip_prefix(START)?.strip_suffix(END)?.to_owned());
        let events: Vec<String> = texts.filter_map(events).filter(|events| !events.is_empty()).collect();
        format!("{START}{}{END}", events.join(",\n"))
    }

    /// Adds an event with its start and duration in seconds.
    pub(crate) fn slice(&mut self, row: usize, name: &str, source: Option<&str>, start: f64, seconds: f64) {
        let (start, seconds) = (start * 1e6, seconds * 1e6);
        let args = json!({ "source": source });
        let process = self.process;
        self.event(
            &json!({"name": name, "ph": "X", "pid": process, "tid": row, "ts": start, "dur": seconds, "args": args}),
        );
    }

    fn event(&mut self, event: &serde_json::Value) {
        if !self.text.ends_with('[') {
            self.text.push_str(",\n");
        }
        let _ = write!(self.text, "{event}");
    }

    /// Returns the whole text.
    pub(crate) fn finish(mut self) -> String {
        self.text.push_str(END);
        self.text
    }
}
