//! What `--json` prints: one line, last on the output, that names its schema.

use dialect::diagnostic::{Diagnostic, Severity};
use serde_json::{Map, Value, json};

use crate::source::Source;

/// The number of the schema of every document. It grows when a field changes its meaning or goes away.
pub(crate) const SCHEMA: u32 = 1;

/// The document as a line: schema first, then the command's fields, then `ok` where the exit code is not 0 or nothing else is
/// said, then what was diagnosed.
pub(crate) fn finish(document: Value, ok: bool, diagnostics: Vec<Value>) -> String {
    let mut all = Map::new();
    all.insert("schema".into(), json!(SCHEMA));
    if let Value::Object(fields) = document {
        all.extend(fields.into_iter().filter(|f| f.0 != "schema"));
    }
    if !ok || all.len() == 1 {
        all.insert("ok".into(), json!(ok));
    }
    if !diagnostics.is_empty() {
        all.insert("diagnostics".into(), Value::Array(diagnostics));
    }
    format!("{}\n", Value::Object(all))
}

/// One diagnostic, with the line and column it points at.
pub(crate) fn diagnostic(source: &Source, d: &Diagnostic) -> Value {
    let severity = match d.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Remark => "remark",
    };
    let mut value = json!({ "severity": severity, "code": d.code, "message": d.message });
    if let Some(&(span, _)) = d.labels.first()
        && source.contains(span)
    {
        let (line, column) = source.position(span.start as usize);
        value["file"] = json!(source.name);
        value["line"] = json!(line);
        value["column"] = json!(column);
    }
    if !d.notes.is_empty() {
        value["notes"] = json!(d.notes);
    }
    value
}
