//! Answers to an editor's requests.

use std::ops::Range as Bytes;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use dialect::ir::{Op, Program, ValueSource};
use dialect::ops::func;
use lsp_server::{ErrorCode, Request};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, Diagnostic, DiagnosticRelatedInformation,
    DiagnosticSeverity, DocumentChanges, DocumentSymbol, FoldingRange, FoldingRangeKind, GotoDefinitionParams, Hover,
    HoverContents, HoverParams, InlayHint, InlayHintKind, InlayHintLabel, InlayHintParams, Location, MarkupContent,
    MarkupKind, NumberOrString, OneOf, OptionalVersionedTextDocumentIdentifier, ReferenceParams, SymbolKind,
    TextDocumentEdit, TextDocumentPositionParams, TextEdit, WorkspaceEdit,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::analysis::{Analysis, Mention, Piece};
use super::names;
use super::text::{Snapshot, Text};
use super::work::Worker;
use crate::units;
use crate::{CompileOptions, Compiler, Module, Severity};

/// The reason why a request is refused.
type Refused = (ErrorCode, String);

/// The time that an answer waits for costs. A plan may take longer than a user points at a word.
const PATIENCE: Duration = Duration::from_millis(400);

/// The requests about a text.
pub(super) const METHODS: [&str; 7] = [
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/inlayHint",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/codeAction",
];

/// The data shared by all answers.
pub(super) struct Analyst {
    pub(super) compiler: Compiler,
    pub(super) options: CompileOptions,
    /// The worker that prices ops.
    pub(super) pricer: Worker,
}

impl Analyst {
    /// Answers a request about a text.
    pub(super) fn answer(self: &Arc<Self>, snapshot: &Arc<Snapshot>, request: &Request) -> Result<Json, Refused> {
        let view = View { analyst: self, snapshot };
        match request.method.as_str() {
            "textDocument/hover" => {
                let asked: HoverParams = parameters(request)?;
                json(view.hover(&asked.text_document_position_params))
            }
            "textDocument/definition" => {
                let asked: GotoDefinitionParams = parameters(request)?;
                json(view.places(&asked.text_document_position_params, true, false))
            }
            "textDocument/references" => {
                let asked: ReferenceParams = parameters(request)?;
                json(view.places(&asked.text_document_position, asked.context.include_declaration, true))
            }
            "textDocument/inlayHint" => {
                let asked: InlayHintParams = parameters(request)?;
                json(view.hints(asked.range))
            }
            "textDocument/documentSymbol" => json(view.symbols()),
            "textDocument/foldingRange" => json(view.folds()),
            "textDocument/codeAction" => {
                let asked: CodeActionParams = parameters(request)?;
                json(view.fixes(asked.range))
            }
            other => Err((ErrorCode::MethodNotFound, format!("unknown method {other}"))),
        }
    }
}

fn parameters<T: DeserializeOwned>(request: &Request) -> Result<T, Refused> {
    serde_json::from_value(request.params.clone()).map_err(|e| (ErrorCode::InvalidParams, e.to_string()))
}

fn json(result: impl Serialize) -> Result<Json, Refused> {
    serde_json::to_value(result).map_err(|e| (ErrorCode::InternalError, e.to_string()))
}

/// Returns the faults of a text.
pub(super) fn diagnostics(snapshot: &Snapshot) -> Vec<Diagnostic> {
    let found = snapshot.analysis.pieces.iter().flat_map(|piece| piece.diagnostics.iter().map(move |d| (piece, d)));
    found.map(|(piece, d)| diagnostic(piece, d, &snapshot.text)).collect()
}

fn diagnostic(piece: &Piece, d: &crate::Diagnostic, document: &Text) -> Diagnostic {
    let place = |bytes: &Bytes<usize>| document.range(piece.range(bytes));
    let first = d.labels.first().map(|l| l.text.as_str()).filter(|text| !text.is_empty());
    let lines = [d.message.as_str()].into_iter().chain(first).chain(d.notes.iter().map(String::as_str));
    let related = d.labels.iter().skip(1).filter_map(|label| {
        let location = Location::new(document.uri.clone(), place(label.range.as_ref()?));
        Some(DiagnosticRelatedInformation { location, message: label.text.clone() })
    });
    Diagnostic {
        // Diagnostics without a place are shown at the start of the program.
        range: d.place.as_ref().map_or_else(|| place(&(0..0)), |p| place(&p.range)),
        severity: Some(match d.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Remark => DiagnosticSeverity::INFORMATION,
        }),
        code: (!d.code.is_empty()).then(|| NumberOrString::String(d.code.to_owned())),
        source: Some("shardc".to_owned()),
        message: lines.collect::<Vec<_>>().join("\n"),
        related_information: Some(related.collect()),
        ..Diagnostic::default()
    }
}

/// One text, for requests.
struct View<'a> {
    analyst: &'a Arc<Analyst>,
    snapshot: &'a Arc<Snapshot>,
}

impl View<'_> {
    fn document(&self) -> &Text {
        &self.snapshot.text
    }

    fn analysis(&self) -> &Analysis {
        &self.snapshot.analysis
    }

    /// Returns the piece that contains a position, and the position's byte in it.
    fn at(&self, at: &TextDocumentPositionParams) -> Option<(&Piece, usize)> {
        let byte = self.document().byte(at.position);
        let piece = self.analysis().piece(byte)?;
        Some((piece, byte - piece.start))
    }

    fn place(&self, piece: &Piece, bytes: &Bytes<usize>) -> Location {
        Location::new(self.document().uri.clone(), self.document().range(piece.range(bytes)))
    }

    // Hover ----------------------------------------------------------------------------------------------------------

    fn hover(&self, at: &TextDocumentPositionParams) -> Option<Hover> {
        let (piece, byte) = self.at(at)?;
        let (text, span) = match piece.value_at(byte) {
            Some(mention) => (self.value(piece, mention), mention.span),
            None => {
                let op = piece.op_named_at(byte)?;
                (self.op(piece, op), piece.program.op(op).span)
            }
        };
        let range = self.document().range(piece.range(&(span.start as usize..span.end as usize)));
        let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: text });
        Some(Hover { contents, range: Some(range) })
    }

    /// Describes a value: its type, its sharding and the sharding's origins, and the cost of its op.
    fn value(&self, piece: &Piece, mention: Mention) -> String {
        let (program, defined) = (&piece.program, piece.program.value_span(mention.value));
        let name = &piece.source.text[defined.start as usize..defined.end as usize];
        let name = name.split([':', '#']).next().unwrap_or(name);
        let ty = program.type_text(program.value_type(mention.value));
        let mut lines = vec![format!("```mlir\n{name} : {ty}\n```")];
        for held in piece.held(defined) {
            lines.push(match held.sharding.as_str() {
                "" => "no sharding: every device holds all of it".to_owned(),
                sharding => format!("sharding `{sharding}` over `{}`", held.mesh),
            });
            if held.bytes > 0 {
                lines.push(format!("each device holds `{}`: {}", held.local, units::bytes(held.bytes as f64)));
            }
        }
        lines.extend(self.origins(piece, name, defined.start as usize));
        if let ValueSource::Result(op, _) = program.value_source(mention.value) {
            lines.extend(self.cost(piece, op));
        }
        lines.join("\n\n")
    }

    /// Describes the origins of a value's sharding, by axis.
    fn origins(&self, piece: &Piece, name: &str, defined: usize) -> Vec<String> {
        if !piece.held(dialect::diagnostic::Span::new(defined, defined)).iter().any(|h| !h.sharding.is_empty()) {
            return Vec::new();
        }
        let module = Module::new(piece.program.clone(), piece.source.clone());
        let explained =
            self.analyst.compiler.explain_value(module, name, &self.analyst.options).value.unwrap_or_default();
        // Other functions may have values with this name.
        let is_here = |e: &&crate::ValueExplanation| e.remark.place.as_ref().is_none_or(|p| p.range.start == defined);
        let axes = explained.iter().filter(is_here).take(1).flat_map(|e| &e.axes);
        let line = |axis: &crate::AxisOrigin| {
            let from = axis.from.as_ref()?;
            let through: Vec<&str> = axis.through.iter().map(|op| op.op.as_str()).collect();
            let through = if through.is_empty() { String::new() } else { format!(" through {}", through.join(", ")) };
            Some(format!("`{}` in dimension {} comes from {from}{through}", axis.axis, axis.dim))
        };
        axes.filter_map(line).collect()
    }

    /// Describes the cost of an op, or states that it isn't known yet.
    fn cost(&self, piece: &Piece, op: Op) -> Option<String> {
        if !piece.can_be_priced() {
            return None;
        }
        let target = self.analyst.options.target_name();
        if piece.costs.ask() {
            self.price(piece);
        }
        let Some(costs) = piece.costs.wait(PATIENCE) else {
            return Some(format!("still planning for {target}: the cost is not available yet"));
        };
        let cost = piece.cost(&costs, piece.program.op(op).span)?;
        Some(format!(
            "modelled on {target}: {} of computing, {} of communication",
            units::seconds(cost.compute),
            units::seconds(cost.communication)
        ))
    }

    /// Starts pricing a program's ops on the worker.
    fn price(&self, piece: &Piece) {
        let Some(at) = self.analysis().pieces.iter().position(|p| p.start == piece.start) else { return };
        let (analyst, snapshot) = (Arc::clone(self.analyst), Arc::clone(self.snapshot));
        self.analyst.pricer.start(move || {
            let piece = &snapshot.analysis.pieces[at];
            if !snapshot.is_outdated() {
                let price = || piece.price(&analyst.compiler, &analyst.options);
                // Set a value even after a panic in shardc, so that no request waits any longer.
                piece.costs.set(catch_unwind(AssertUnwindSafe(price)).ok().flatten().unwrap_or_default());
            }
        });
    }

    fn op(&self, piece: &Piece, op: Op) -> String {
        let program = &piece.program;
        let results = program.view(op).result_type_ids();
        let operands: Vec<_> = program.op(op).operands.iter().map(|&v| program.value_type(v)).collect();
        let types = format!("{} -> {}", program.types_text(&operands), program.types_text(&results));
        let mut lines = vec![format!("```mlir\n{} : {types}\n```", program.op_name(op))];
        lines.extend(self.cost(piece, op));
        lines.join("\n\n")
    }

    // Definitions and references -------------------------------------------------------------------------------------

    /// Returns the places of the name at a position: its definition, its uses, or both.
    fn places(&self, at: &TextDocumentPositionParams, defined: bool, used: bool) -> Vec<Location> {
        let Some((piece, byte)) = self.at(at) else { return Vec::new() };
        if let Some(here) = piece.value_at(byte) {
            let definition = piece.program.value_span(here.value);
            let wanted = |m: &&Mention| if m.span == definition { defined } else { used };
            let found = piece.mentions_of(here.value).filter(wanted);
            return found.map(|m| self.place(piece, &(m.span.start as usize..m.span.end as usize))).collect();
        }
        let text = &piece.source.text;
        let names = names::names(text);
        let Some(here) = names.iter().find(|n| n.range.start <= byte && byte <= n.range.end) else { return Vec::new() };
        let same = names.iter().filter(|n| text[n.range.clone()] == text[here.range.clone()]);
        same.filter(|n| if n.defines { defined } else { used }).map(|n| self.place(piece, &n.range)).collect()
    }

    // Contents of the text -------------------------------------------------------------------------------------------

    /// Returns hints with shardings after propagation, after values whose text has none.
    fn hints(&self, range: lsp_types::Range) -> Vec<InlayHint> {
        let document = self.document();
        let (start, end) = (document.byte(range.start), document.byte(range.end));
        let mut hints = Vec::new();
        for piece in &self.analysis().pieces {
            for mention in piece.definitions() {
                let at = piece.start + mention.span.end as usize;
                if !(start..=end).contains(&at) {
                    continue;
                }
                let held: Vec<&str> = piece.held(mention.span).iter().map(|h| h.sharding.as_str()).collect();
                let label = match held[..] {
                    [] | [""] => continue,
                    [one] => one.to_owned(),
                    [first, ..] => format!("{} or others", if first.is_empty() { "replicated" } else { first }),
                };
                hints.push(InlayHint {
                    position: document.position(at),
                    label: InlayHintLabel::String(label),
                    kind: Some(InlayHintKind::TYPE),
                    text_edits: None,
                    tooltip: None,
                    padding_left: Some(true),
                    padding_right: Some(false),
                    data: None,
                });
            }
        }
        hints
    }

    fn symbols(&self) -> Vec<DocumentSymbol> {
        let pieces = self.analysis().pieces.iter();
        pieces.flat_map(|piece| self.symbols_in(piece, piece.program.module, 0)).collect()
    }

    /// Returns the ops below `parent` that have a symbol. Nesting is limited here to 16 levels.
    fn symbols_in(&self, piece: &Piece, parent: Op, depth: usize) -> Vec<DocumentSymbol> {
        let program: &Program = &piece.program;
        let Some(block) = program.region_block(parent, 0).filter(|_| depth < 16) else { return Vec::new() };
        let ops = program.block_ops(block).iter().copied();
        ops.filter_map(|op| {
            let data = program.op(op);
            let name = func::symbol(program, op)?.to_owned();
            let (kind, inside) = match program.op_name(op) {
                "func.func" => (SymbolKind::FUNCTION, Vec::new()),
                "sdy.mesh" => (SymbolKind::CONSTANT, Vec::new()),
                "builtin.module" => (SymbolKind::MODULE, self.symbols_in(piece, op, depth + 1)),
                _ => (SymbolKind::OBJECT, Vec::new()),
            };
            let whole = piece.range(&(data.text_span.start as usize..data.text_span.end as usize));
            let named = program.find_in_source(data.text_span, &format!("@{name}"));
            let named = piece.range(&(named.start as usize..named.end as usize));
            #[allow(deprecated, reason = "the protocol's field has no default")]
            Some(DocumentSymbol {
                name: format!("@{name}"),
                detail: Some(program.op_name(op).to_owned()),
                kind,
                tags: None,
                deprecated: None,
                range: self.document().range(whole),
                selection_range: self.document().range(named),
                children: (!inside.is_empty()).then_some(inside),
            })
        })
        .collect()
    }

    fn folds(&self) -> Vec<FoldingRange> {
        let document = self.document();
        let line = |at: usize| document.source.line_index(at) as u32;
        let fold = |block: Bytes<usize>| FoldingRange {
            start_line: line(block.start),
            // Keep the closing bracket visible.
            end_line: line(block.end).saturating_sub(1).max(line(block.start)),
            kind: Some(FoldingRangeKind::Region),
            ..FoldingRange::default()
        };
        names::blocks(&document.source.text).into_iter().map(fold).collect()
    }

    /// Returns the replacements that diagnostics propose.
    fn fixes(&self, range: lsp_types::Range) -> Vec<CodeActionOrCommand> {
        let document = self.document();
        let (start, end) = (document.byte(range.start), document.byte(range.end));
        let mut fixes = Vec::new();
        for piece in &self.analysis().pieces {
            for d in &piece.diagnostics {
                let Some(place) = d.place.as_ref().map(|p| piece.range(&p.range)) else { continue };
                if place.end < start || end < place.start {
                    continue;
                }
                let written = &document.source.text[place.clone()];
                for text in d.notes.iter().filter_map(|note| proposed(note)) {
                    let quoted = written.starts_with('"') && written.ends_with('"') && !text.starts_with('"');
                    let text = if quoted { format!("\"{text}\"") } else { text.to_owned() };
                    let identifier = OptionalVersionedTextDocumentIdentifier {
                        uri: document.uri.clone(),
                        version: Some(document.version),
                    };
                    let edit = TextEdit { range: document.range(place.clone()), new_text: text.clone() };
                    let edits = vec![TextDocumentEdit { text_document: identifier, edits: vec![OneOf::Left(edit)] }];
                    fixes.push(CodeActionOrCommand::CodeAction(CodeAction {
                        title: format!("Write {text}"),
                        kind: Some(CodeActionKind::QUICKFIX),
                        diagnostics: Some(vec![diagnostic(piece, d, document)]),
                        edit: Some(WorkspaceEdit {
                            document_changes: Some(DocumentChanges::Edits(edits)),
                            ..WorkspaceEdit::default()
                        }),
                        ..CodeAction::default()
                    }));
                }
            }
        }
        fixes
    }
}

/// Extracts the replacement that a note proposes: `did you mean 'x'?`, `did you mean %x?`.
fn proposed(note: &str) -> Option<&str> {
    let text = note.strip_prefix("did you mean ")?.strip_suffix('?')?;
    text.trim_matches(['\'', '"']).split(['\'', '"']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_propose_texts() {
        assert_eq!(proposed("did you mean 'stablehlo.tanh'?"), Some("stablehlo.tanh"));
        assert_eq!(proposed("did you mean \"x\"?"), Some("x"));
        assert_eq!(proposed("did you mean %arg0?"), Some("%arg0"));
        assert_eq!(proposed("define it before this use"), None);
    }
}
