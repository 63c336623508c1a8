//! The analysis of one version of a text: its programs, their values and faults, their shardings after propagation,
//! and, on request, the costs of their ops.

use std::collections::HashMap;
use std::ops::Range;

use dialect::diagnostic::{Diagnostics as Plains, Span};
use dialect::ir::{Loc, Op, Program, Value};
use dialect::ops::sdy;
use dialect::sharding::{ShardingTable, TensorSharding};

use super::work::Later;
use crate::{CompileOptions, Compiler, Diagnostic, Diagnostics, Module, Source};

/// The maximum number of ops in a program that is compiled to show costs.
const PRICED_OPS: usize = 30_000;

/// The costs of ops, by line and column.
pub(super) type Costs = HashMap<(u32, u32), OpCost>;

/// The analysis of a text.
pub(super) struct Analysis {
    /// Its programs, of which there are several if lines of `// -----` separate them.
    pub(super) pieces: Vec<Piece>,
}

/// One program of a text.
pub(super) struct Piece {
    /// Its first byte in the text.
    pub(super) start: usize,
    /// Its own text, with line numbers of the whole text.
    pub(super) source: Source,
    /// The parts that could be parsed.
    pub(super) program: Program,
    /// Its faults, with places in `source`.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The program after propagation, if it has no faults.
    sharded: Option<Module>,
    /// The places that name values.
    mentions: Vec<Mention>,
    /// The shardings of values, by the start of their definition.
    shardings: HashMap<u32, Vec<ValueSharding>>,
    /// The costs of its ops.
    pub(super) costs: Later<Costs>,
}

/// A place in the text that names a value.
#[derive(Clone, Copy)]
pub(super) struct Mention {
    /// The place.
    pub(super) span: Span,
    /// The value.
    pub(super) value: Value,
}

/// The sharding of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ValueSharding {
    /// The sharding without the mesh: `[{"x"}, {}]`; empty if there is none.
    pub(super) sharding: String,
    /// The mesh, as the sharding names it.
    pub(super) mesh: String,
    /// The type of one device's shard.
    pub(super) local: String,
    /// The bytes of one device's shard.
    pub(super) bytes: usize,
}

/// The cost of an op in one run, in the model of the target.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct OpCost {
    /// Seconds of compute.
    pub(super) compute: f64,
    /// Seconds of communication for it.
    pub(super) communication: f64,
}

impl Analysis {
    /// Parses a text and runs it up to propagation if it has no faults.
    pub(super) fn new(compiler: &Compiler, options: &CompileOptions, source: &Source) -> Self {
        let pieces = source.split().into_iter().map(|piece| {
            let start = if piece.first_line < source.line_count() {
                source.line(piece.first_line).start
            } else {
                source.text.len()
            };
            Piece::new(compiler, options, piece, start)
        });
        Self { pieces: pieces.collect() }
    }

    /// Returns the program that contains byte `at`.
    pub(super) fn piece(&self, at: usize) -> Option<&Piece> {
        let piece = self.pieces.iter().rev().find(|p| p.start <= at)?;
        (at - piece.start <= piece.source.text.len()).then_some(piece)
    }
}

impl Piece {
    fn new(compiler: &Compiler, options: &CompileOptions, source: Source, start: usize) -> Self {
        let mut found = Plains::default();
        let mut program = dialect::parse_with(&source.text, compiler.ops(), &mut found);
        program.set_text_file(&source.name, source.first_line);
        let mut diagnostics = Diagnostics::new(&source, &found).list;
        let mut sharded = None;
        if !found.has_errors() {
            let module = Module::new(program.clone(), source.clone());
            let compiled = compiler.compile(module, "sharded", options);
            diagnostics.extend(compiled.diagnostics.list);
            sharded = compiled.value;
        }
        let mentions = mentions(&program);
        let shardings = sharded.as_ref().map(shardings).unwrap_or_default();
        let costs = Later::default();
        Self { start, source, program, diagnostics, sharded, mentions, shardings, costs }
    }

    /// Returns the value named at byte `at` of the piece.
    pub(super) fn value_at(&self, at: usize) -> Option<Mention> {
        let after = self.mentions.partition_point(|m| m.span.start as usize <= at);
        let found = self.mentions[..after].last().copied()?;
        (at <= found.span.end as usize).then_some(found)
    }

    /// Returns every place that names one of the values with the same definition as `value`.
    pub(super) fn mentions_of(&self, value: Value) -> impl Iterator<Item = &Mention> {
        let defined = self.program.value_span(value);
        self.mentions.iter().filter(move |m| self.program.value_span(m.value) == defined)
    }

    /// Returns the places where values are defined, each with the first value.
    pub(super) fn definitions(&self) -> impl Iterator<Item = &Mention> {
        self.mentions.iter().filter(|m| self.program.value_span(m.value) == m.span)
    }

    /// Returns the first op whose span contains byte `at`.
    pub(super) fn op_named_at(&self, at: usize) -> Option<Op> {
        let ops = self.program.ops_under(self.program.body());
        let holds = |span: Span| !span.is_empty() && (span.start as usize..=span.end as usize).contains(&at);
        ops.into_iter().find(|&op| holds(self.program.op(op).span))
    }

    /// Returns the shardings after propagation of the values defined at `span`. There are several if a function is
    /// called several times.
    pub(super) fn held(&self, span: Span) -> &[ValueSharding] {
        self.shardings.get(&span.start).map_or(&[], Vec::as_slice)
    }

    /// Returns whether costs are available: the program has no faults and isn't too large.
    pub(super) fn can_be_priced(&self) -> bool {
        self.sharded.is_some() && self.program.op_count() <= PRICED_OPS
    }

    /// Looks up the cost of the op at `span`.
    pub(super) fn cost(&self, costs: &Costs, span: Span) -> Option<OpCost> {
        let (line, column) = self.source.position(span.start as usize);
        costs.get(&(line as u32, column as u32)).copied()
    }

    /// Compiles the program to price its ops, which may take long.
    pub(super) fn price(&self, compiler: &Compiler, options: &CompileOptions) -> Option<Costs> {
        // Use locations in this text, not in the source that it was generated from.
        let mut program = self.program.clone();
        for op in program.ops_under(program.body()) {
            let span = program.op(op).span;
            program.op_mut(op).loc = Loc::of_text(span);
        }
        let module = Module::new(program, self.source.clone());
        let device = compiler.compile(module, "compile", options).value?;
        let cost = compiler.estimate(&device, options).value?;
        let mut costs = Costs::new();
        for event in &cost.timeline {
            let Some(place) = event.loc.as_deref().and_then(line_and_column) else { continue };
            let of = costs.entry(place).or_default();
            *if event.stream == "compute" { &mut of.compute } else { &mut of.communication } += event.seconds;
        }
        Some(costs)
    }

    /// Converts a diagnostic's byte range to the whole text.
    pub(super) fn range(&self, range: &Range<usize>) -> Range<usize> {
        self.start + range.start..self.start + range.end
    }
}

/// `4:10` at the end of `model.mlir:4:10`.
fn line_and_column(place: &str) -> Option<(u32, u32)> {
    let mut parts = place.rsplit(':');
    let column = parts.next()?.parse().ok()?;
    Some((parts.next()?.parse().ok()?, column))
}

/// Returns every place that names a value, in order.
fn mentions(program: &Program) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let mut add = |span: Span, value| {
        if !span.is_empty() {
            mentions.push(Mention { span, value });
        }
    };
    for value in program.values_under(program.body()) {
        add(program.value_span(value), value);
    }
    for op in program.ops_under(program.body()) {
        let data = program.op(op);
        data.operand_spans.iter().zip(&data.operands).for_each(|(&span, &value)| add(span, value));
    }
    // The first result represents all results that share a name.
    mentions.sort_by_key(|m| (m.span, m.value));
    mentions.dedup_by_key(|m| m.span);
    mentions
}

/// Returns the sharding of each value, by the start of its definition.
fn shardings(module: &Module) -> HashMap<u32, Vec<ValueSharding>> {
    let program = module.program();
    let table = ShardingTable::of(program);
    let mut all: HashMap<u32, Vec<ValueSharding>> = HashMap::new();
    for value in program.values_under(program.body()) {
        let span = program.value_span(value);
        if span.is_empty() {
            continue;
        }
        let held = held(program, value, table.get(value).map(|s| &**s));
        let of = all.entry(span.start).or_default();
        if !of.contains(&held) {
            of.push(held);
        }
    }
    all
}

fn held(program: &Program, value: Value, sharding: Option<&TensorSharding>) -> ValueSharding {
    let whole = program.tensor_type(value);
    let mut local = whole.cloned();
    let (mut text, mut mesh) = (String::new(), String::new());
    if let Some(sharding) = sharding {
        let all = program.sharding_text(sharding);
        let inside = all.strip_prefix('<').and_then(|t| t.strip_suffix('>')).unwrap_or(&all);
        (mesh, text) = match inside.find(", [") {
            Some(at) => (inside[..at].to_owned(), inside[at + 2..].to_owned()),
            None => (String::new(), inside.to_owned()),
        };
        if let (Some(local), Some(mesh)) = (&mut local, sdy::resolve(program, &sharding.mesh))
            && local.is_static()
        {
            local.shape = sharding.local_shape(&local.shape, mesh);
        }
    }
    let bytes = local.as_ref().and_then(dialect::ir::TensorType::bytes).unwrap_or(0);
    let local =
        local.map_or_else(|| program.type_text(program.value_type(value)), |t| program.type_data_text(&t.into()));
    ValueSharding { sharding: text, mesh, local, bytes }
}
