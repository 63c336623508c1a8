//! Explanations of collectives, in words and as data.

use std::borrow::Cow;

use dialect::codes::Code;
use dialect::diagnostic::{Diagnostic as Plain, Severity, Span};
use dialect::ir::{Op, Program, Value, ValueSource};
use dialect::ops::func;
use dialect::sharding::{AxisRef, ReductionKind, ShardingTable, TensorSharding};

use super::causes::{Annotation, Cause, Origins, written};
use super::{Explained, ExplainedCollective, Removal};
use crate::diagnostic::Diagnostic;
use crate::module::Module;
use crate::place::{place, value_name};
use crate::units;

/// What the texts refer to.
pub(super) struct Report<'a> {
    /// Whether changes were tried.
    pub(super) tried: bool,
    /// The program before propagation.
    pub(super) imported: &'a Program,
    /// The planned program and its text.
    pub(super) planned: &'a Module,
    /// Where the axes of its values come from.
    pub(super) origins: &'a Origins,
    /// How its values are sharded.
    pub(super) shardings: &'a ShardingTable,
}

impl Report<'_> {
    fn remark(&self, e: &Explained, step: f64) -> Plain {
        let p = self.planned.program();
        let cause = &e.cause;
        let over = self.axes(e).join(", ");
        let over = if over.is_empty() { String::new() } else { format!(" over {over}") };
        let times = if e.price.count > 1 { format!(", {} times", e.price.count) } else { String::new() };
        let bytes =
            format!("{} -> {}", units::bytes(e.price.operand_bytes as f64), units::bytes(e.price.result_bytes as f64));
        let message =
            format!("{}{over}: {bytes} on each device{times}, {}", cause.kind, units::seconds(e.price.seconds));
        let mut labels = Vec::new();
        let mut notes = Vec::new();
        if cause.manual {
            // Propagation and planning leave the ops of the user their numbers.
            let by_hand = cause.op.index() < self.imported.op_count();
            labels.push((
                p.op(cause.op).span,
                match by_hand {
                    true if p.made_by_differentiation(p.op(cause.op).loc) => {
                        let of = self.line(cause.op).map_or(String::new(), |line| format!(" of {line}"));
                        format!("made by JAX's differentiation{of}")
                    }
                    true => "written by hand".to_owned(),
                    false => "on one device alone: it sends the others the result".to_owned(),
                },
            ));
        } else {
            if let Some((from, to)) = &cause.step {
                notes.push(format!("one of several on the way: from {} to {}", self.short(from), self.short(to)));
            }
            self.places(cause, &mut labels, &mut notes);
            self.reasons(cause, &mut notes);
        }
        if e.price.together > 0 {
            let others = if e.price.together == 1 { "one other" } else { &format!("{} others", e.price.together) };
            notes.push(format!("sent together with {others}: its time is its share of theirs"));
        }
        if e.removal.is_none() && !cause.manual && self.tried {
            let far = if e.untried { ", as far as --tries goes" } else { "" };
            notes.push(format!("no change of one annotation removes it{far}"));
        }
        if let Some((change, saved, more)) = &e.removal {
            let what = change.text(self.imported, self.planned.source());
            let spec = change.spec(self.imported).map_or(String::new(), |spec| format!(", in JAX {spec},"));
            let what = format!("{what}{spec}");
            let share = units::percent(saved.abs(), step);
            let memory = match more {
                b if *b >= 1.0 => format!(", and each device {} more memory", units::bytes(*b)),
                b if *b <= -1.0 => format!(", and each device {} less memory", units::bytes(-b)),
                _ => String::new(),
            };
            // Steps of the same length may differ by rounding.
            let least = step * 1e-9;
            notes.push(match saved {
                s if *s > least => {
                    format!("{what} removes it: a step takes {} less ({share}){memory}", units::seconds(*s))
                }
                s if *s < -least => {
                    format!("{what} removes it, but a step takes {} more ({share}){memory}", units::seconds(-s))
                }
                _ => format!("{what} removes it: a step takes as long{memory}"),
            });
        }
        Plain { severity: Severity::Remark, code: Code::NONE, message, labels, notes }
    }

    /// Where the value comes from and where it is needed: JAX's lines if it recorded them, else labels in the text.
    fn places(&self, cause: &Cause, labels: &mut Vec<(Span, String)>, notes: &mut Vec<String>) {
        let p = self.planned.program();
        if cause.neighbors {
            let (name, op) = (value_name(p, cause.value), self.op_text(cause.op));
            match (cause.user, self.line(cause.op)) {
                (_, Some(line)) => notes.push(format!("{op} at {line} reads {name} across the ends of shards")),
                (Some((op, i)), None) => {
                    let span = Some(p.view(op).operand_span(i)).filter(|s| !s.is_empty()).unwrap_or(p.op(op).span);
                    labels.push((span, format!("{name} is read across the ends of shards")));
                }
                (None, None) => {}
            }
            notes.push("only the rows of neighbors are sent".to_owned());
            return;
        }
        let lies = cause.from.as_ref().map(|s| self.short(s)).unwrap_or_default();
        let wanted = cause.to.as_ref().map(|s| self.short(s)).unwrap_or_default();
        let user = cause.user.map(|(op, i)| (op, i, self.line(op)));
        if let Some((op, _, Some(line))) = &user {
            let by = if p.view(*op).def().terminator() { "the result".to_owned() } else { self.op_text(*op) };
            notes.push(format!("needed as {wanted} by {by} at {line}"));
            let made = match p.value_source(cause.value) {
                ValueSource::Result(op, _) => self.line(op).map(|l| format!("made by {} at {l}", self.op_text(op))),
                ValueSource::Arg(..) => Some("an argument".to_owned()),
            };
            let made = made.map(|m| format!(", {m}")).unwrap_or_default();
            notes.push(format!("{} lies as {lies}{made}", value_name(p, cause.value)));
            return;
        }
        // What the compiler made from the user's ops stands nowhere in the text: names and places are said then.
        let name = value_name(p, cause.value);
        if let Some((op, i, None)) = user {
            let span = Some(p.view(op).operand_span(i)).filter(|s| !s.is_empty()).unwrap_or(p.op(op).span);
            if span.is_empty() {
                let place = place(p, self.planned.source(), op).map_or(String::new(), |place| format!(" at {place}"));
                notes.push(format!("{name} is needed as {wanted} by {}{place}", self.op_text(op)));
            } else {
                labels.push((span, format!("needed as {wanted}")));
            }
        }
        if p.value_span(cause.value).is_empty() {
            let made = match p.value_source(cause.value) {
                ValueSource::Result(op, _) => place(p, self.planned.source(), op),
                ValueSource::Arg(..) => None,
            };
            let made = made.map_or(String::new(), |place| format!(", made at {place}"));
            notes.push(format!("{name} lies as {lies}{made}"));
        } else {
            labels.push((p.value_span(cause.value), format!("lies as {lies}")));
        }
    }

    /// The annotations that both shardings come from.
    fn reasons(&self, cause: &Cause, notes: &mut Vec<String>) {
        let p = self.planned.program();
        let unreduced = cause.from.as_ref().filter(|s| !s.unreduced.is_empty());
        let reduction = unreduced.map(|s| match s.kind {
            ReductionKind::Sum => "sum",
            ReductionKind::Max => "maximum",
            ReductionKind::Min => "minimum",
        });
        for &axis in &cause.axes {
            let name = self.axis(axis);
            // A sum over the axis: its operand is sharded along it.
            if let Some(reduction) = reduction {
                if let ValueSource::Result(op, _) = p.value_source(cause.value)
                    && let Some((v, d)) = self.carrier(op, axis, None, false)
                {
                    let because = self.because(v, axis, d);
                    notes.push(format!(
                        "a {reduction} over {name}: {} reads dimension {d} of {} sharded along it{because}",
                        self.op_text(op),
                        value_name(p, v)
                    ));
                }
                continue;
            }
            let from = cause.from.as_ref().or_else(|| self.shardings.get(cause.value).map(|s| &**s));
            let lies = from.and_then(|s| dimension(s, axis));
            let own = lies.map_or(String::new(), |d| self.because(cause.value, axis, d));
            if !own.is_empty() {
                notes.push(format!("{name} shards {}{own}", value_name(p, cause.value)));
            } else if lies.is_some()
                && let ValueSource::Result(op, _) = p.value_source(cause.value)
                && let Some((v, d)) = self.carrier(op, axis, None, false)
            {
                // The plan computes it where its operands lie.
                let because = self.because(v, axis, d);
                let (op, v, of) = (self.op_text(op), value_name(p, v), value_name(p, cause.value));
                notes.push(format!("{name} shards {of}: {op} reads dimension {d} of {v} sharded along it{because}"));
            }
            if let Some((user, operand)) = cause.user
                && !p.view(user).def().terminator()
                && let Some((v, d)) = self.carrier(user, axis, Some(operand), true)
            {
                let because = self.because(v, axis, d);
                let whose = match p.value_source(v) {
                    ValueSource::Result(op, _) if op == user => "its result".to_owned(),
                    _ => value_name(p, v),
                };
                notes.push(format!("{} uses {name} for dimension {d} of {whose}{because}", self.op_text(user)));
            }
        }
        if let Some((user, i)) = cause.user
            && p.view(user).def().terminator()
            && self.in_main(user)
        {
            let main = func::function(self.imported, "main");
            let annotated = main.and_then(|f| func::result_sharding(self.imported, f, i)).is_some();
            let why = if annotated { "is annotated so" } else { "got this sharding from propagation, and keeps it" };
            notes.push(format!("result {i} {why}"));
        }
    }

    /// Whether `op` terminates `@main` itself, not a region in it.
    fn in_main(&self, op: Op) -> bool {
        let main = func::function(self.planned.program(), "main");
        let block = main.and_then(|f| func::block(self.planned.program(), f));
        block.and_then(|b| self.planned.program().terminator(b)) == Some(op)
    }

    /// A tensor of `op` that `axis` shards, and where: operands except the given one, then results.
    fn carrier(&self, op: Op, axis: AxisRef, but: Option<usize>, results: bool) -> Option<(Value, usize)> {
        let p = self.planned.program();
        let operands = p.op(op).operands.iter().enumerate().filter(|o| Some(o.0) != but).map(|o| *o.1);
        let all: Vec<Value> = if results { p.results(op).chain(operands).collect() } else { operands.collect() };
        all.into_iter().find_map(|v| Some((written(p, v), dimension(self.shardings.get(v)?, axis)?)))
    }

    /// `, by its annotation`; `, from the annotation of %arg1 through stablehlo.dot_general (4:10)`
    fn because(&self, value: Value, axis: AxisRef, d: usize) -> String {
        if !self.origins.sharded(value, axis, d) {
            return String::new();
        }
        let Some((annotation, path)) = self.origins.find(self.planned.program(), value, axis) else {
            return String::new();
        };
        let p = self.planned.program();
        let of = match annotation {
            Annotation::Argument(i) => {
                let block = func::function(p, "main").and_then(|f| func::block(p, f));
                let argument = block.and_then(|b| p.block_args(b).get(i)).copied();
                if argument == Some(value) {
                    return ", as annotated".to_owned();
                }
                argument.map_or(format!("argument {i}"), |v| value_name(p, v))
            }
            Annotation::Result(i) => format!("result {i}"),
            Annotation::Op(op) => {
                // Propagation turns constraints into reshards; show the user what they wrote.
                let wrote = if op.index() < self.imported.op_count() { self.imported } else { p };
                format!("the {} at {}", wrote.op_name(op), place(p, self.planned.source(), op).unwrap_or_default())
            }
        };
        let mut through: Vec<String> = path.iter().map(|&op| self.op_text(op)).collect();
        through.dedup();
        if through.len() > 4 {
            let more = through.len() - 3;
            through.splice(2..through.len() - 1, [format!("{more} more ops")]);
        }
        let through = if through.is_empty() { String::new() } else { format!(" through {}", through.join(", ")) };
        format!(", from the annotation of {of}{through}")
    }

    /// The op's name, without the prefix of well-known dialects.
    fn op_text(&self, op: Op) -> String {
        let name = self.planned.program().op_name(op);
        name.strip_prefix("stablehlo.").unwrap_or(name).to_owned()
    }

    /// JAX's line of an op with its function. Lines of the text itself are shown as labels instead.
    fn line(&self, op: Op) -> Option<String> {
        let frame = self.planned.program().user_frame(self.planned.program().op(op).loc).filter(|f| !f.of_text)?;
        let last = |f: &Cow<'_, str>| format!(" in {}", f.rsplit('.').next().unwrap_or(f));
        let function = frame.function.as_ref().map(last).unwrap_or_default();
        Some(format!("{}:{}:{}{function}", frame.file, frame.line, frame.column))
    }

    fn axis(&self, axis: AxisRef) -> String {
        let name = self.planned.program().name_text(axis.name);
        axis.sub.map_or(format!("\"{name}\""), |s| format!("\"{name}\":({}){}", s.pre, s.size))
    }

    /// The axes of a collective, quoted as in a sharding.
    fn axes(&self, e: &Explained) -> Vec<String> {
        if !e.cause.manual {
            return e.cause.axes.iter().map(|&a| self.axis(a)).collect();
        }
        let quoted = |axis: &String| match axis.split_once(':') {
            Some((name, part)) => format!("\"{name}\":{part}"),
            None => format!("\"{axis}\""),
        };
        e.price.axes.iter().map(quoted).collect()
    }

    /// A sharding without its mesh.
    fn short(&self, sharding: &TensorSharding) -> String {
        let text = self.planned.program().sharding_text(sharding);
        text.split_once(", ").map_or(text.clone(), |t| t.1.trim_end_matches('>').to_owned())
    }

    /// Everything known about one collective.
    pub(super) fn collective(&self, e: &Explained, step: f64) -> ExplainedCollective {
        let (p, source) = (self.planned.program(), self.planned.source());
        let sharding = |s: &Option<TensorSharding>| s.as_ref().map(|s| p.sharding_text(s));
        ExplainedCollective {
            kind: e.cause.kind.clone(),
            axes: self.axes(e).iter().map(|a| a.replace('"', "")).collect(),
            operand_bytes: e.price.operand_bytes,
            result_bytes: e.price.result_bytes,
            count: e.price.count,
            time_s: e.price.seconds,
            value: value_name(p, e.cause.value),
            from: sharding(&e.cause.from),
            to: sharding(&e.cause.to),
            user: e.cause.user.map(|(op, _)| p.op_name(op).to_owned()),
            loc: e.cause.user.and_then(|(op, _)| place(p, source, op)),
            manual: e.cause.manual,
            differentiated: e.cause.manual && p.made_by_differentiation(p.op(e.cause.op).loc),
            removal: e.removal.as_ref().map(|(change, saved, more)| Removal {
                change: change.text(self.imported, source),
                spec: change.spec(self.imported),
                saves_s: *saved,
                adds_bytes: *more,
            }),
            remark: Diagnostic::new(source, &self.remark(e, step)),
        }
    }
}

/// The dimension that `axis` or a part of it shards.
fn dimension(sharding: &TensorSharding, axis: AxisRef) -> Option<usize> {
    sharding.dims.iter().position(|d| d.axes.iter().any(|a| a.name == axis.name))
}
