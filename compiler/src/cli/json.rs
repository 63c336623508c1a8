//! What `--json` prints: one line, last on the output, that names its schema. What commands put into it are the types of
//! the library, serialized: `Cost`, `Explanation`, `Check`, `Diagnostic`.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::diagnostic::Diagnostic;

/// The number of the schema of every document. It grows when a field changes its meaning or goes away.
const SCHEMA: u32 = 1;

/// The last line.
#[derive(Serialize)]
struct Document<'a> {
    /// Its schema.
    schema: u32,
    /// What the command says.
    #[serde(flatten)]
    fields: Map<String, Value>,
    /// Whether the exit code is 0; where it is not, or nothing else is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    /// What was diagnosed.
    #[serde(skip_serializing_if = "<[Diagnostic]>::is_empty")]
    diagnostics: &'a [Diagnostic],
}

/// The document of a command as a line.
pub(crate) fn line(document: Option<Value>, ok: bool, diagnostics: &[Diagnostic]) -> String {
    let fields = match document {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let ok = (!ok || fields.is_empty()).then_some(ok);
    let text = serde_json::to_string(&Document { schema: SCHEMA, fields, ok, diagnostics });
    format!("{}\n", text.unwrap_or_default())
}
