//! The output of `--json`: one line that names its schema, alone or at the end of the output. Its contents are the
//! library's types, serialized: `Cost`, `Explanation`, `Check`, `Diagnostic`.

use crate::Diagnostic;
use serde::Serialize;
use serde_json::{Map, Value};

/// The contents of standard output with `--json`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Json {
    /// One line of JSON and nothing else
    Only,
    /// What it has without --json, then one line of JSON
    Last,
}

/// The schema version of every document. It increases when a field changes its meaning or is removed.
const SCHEMA: u32 = 1;

/// The last line of output.
#[derive(Serialize)]
struct Document<'a> {
    /// The schema version.
    schema: u32,
    /// The command's document.
    #[serde(flatten)]
    fields: Map<String, Value>,
    /// Whether the exit code is 0; present if it is not, or if there is no other content.
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    /// The diagnostics.
    #[serde(skip_serializing_if = "<[Diagnostic]>::is_empty")]
    diagnostics: &'a [Diagnostic],
}

/// Returns the document of a command as one line.
pub(crate) fn line(document: Option<Value>, ok: bool, diagnostics: &[Diagnostic]) -> String {
    let fields = match document {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let ok = (!ok || fields.is_empty()).then_some(ok);
    let text = serde_json::to_string(&Document { schema: SCHEMA, fields, ok, diagnostics });
    format!("{}\n", text.unwrap_or_default())
}
