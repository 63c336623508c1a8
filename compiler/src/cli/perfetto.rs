//! Timelines in the trace event format, for ui.perfetto.dev and chrome://tracing.

use std::fmt::Write as _;

use serde_json::json;

/// A timeline as it is written.
pub(crate) struct Timeline {
    text: String,
}

impl Timeline {
    /// A timeline with a row for each of these names; their numbers are those of [`Self::slice`].
    pub(crate) fn new(rows: &[(usize, String)]) -> Self {
        let mut timeline = Self { text: "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[".to_owned() };
        for (row, name) in rows {
            timeline.event(&json!({"name": "thread_name", "ph": "M", "pid": 0, "tid": row, "args": {"name": name}}));
            timeline.event(
                &json!({"name": "thread_sort_index", "ph": "M", "pid": 0, "tid": row, "args": {"sort_index": row}}),
            );
        }
        timeline
    }

    /// Adds what lasts from `start` on, seconds.
    pub(crate) fn slice(&mut self, row: usize, name: &str, source: Option<&str>, start: f64, seconds: f64) {
        let (start, seconds) = (start * 1e6, seconds * 1e6);
        let args = json!({ "source": source });
        self.event(&json!({"name": name, "ph": "X", "pid": 0, "tid": row, "ts": start, "dur": seconds, "args": args}));
    }

    fn event(&mut self, event: &serde_json::Value) {
        if !self.text.ends_with('[') {
            self.text.push_str(",\n");
        }
        let _ = write!(self.text, "{event}");
    }

    /// The whole text.
    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("]}\n");
        self.text
    }
}
