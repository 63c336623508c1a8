//! The exchanges of a program with the host: callbacks to Python, infeed and outfeed, calls of other libraries.
//!
//! A simulated run has no host. It skips ops that only send, with a remark. Callbacks and transfers that return data
//! are errors before anything runs. A library call that returns data is an error only when execution reaches it,
//! because a branch may skip it.

use std::collections::HashSet;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{Block, Op, OpRef, Program, Value, ValueSource};
use dialect::memory::is_computed_by_host;
use dialect::op::{Control, HostEffect, HostPartner};
use dialect::sharding::Reshard;

use crate::module::main_block;
use crate::place::value_name;
use crate::units;

/// An op that exchanges data with the host.
struct Exchange<'a> {
    op: OpRef<'a>,
    effect: HostEffect,
    /// The innermost manual computation that contains the op.
    manual: Option<Op>,
}

impl Exchange<'_> {
    fn text(&self) -> String {
        match self.effect.partner {
            HostPartner::Callback => "this callback to Python".to_owned(),
            HostPartner::Transfer => format!("this transfer with the host ('{}')", self.op.name()),
            HostPartner::Library => "this call of a library".to_owned(),
        }
    }
}

/// Collects the exchanges under a block, in order.
fn exchanges<'a>(program: &'a Program, block: Block, manual: Option<Op>, found: &mut Vec<Exchange<'a>>) {
    for &op in program.block_ops(block) {
        let view = program.view(op);
        if let Some(effect) = view.def().host_effect(view) {
            found.push(Exchange { op: view, effect, manual });
        }
        let inner = if view.def().control(view) == Some(Control::Manual) { Some(op) } else { manual };
        for &region in &program.op(op).regions {
            program.region_blocks(region).iter().for_each(|&block| exchanges(program, block, inner, found));
        }
    }
}

/// Adds a remark for each of `found`; copies from one source place share a remark.
fn remarks(found: &[Exchange<'_>], text: impl Fn(&Exchange<'_>) -> Option<String>) -> Diagnostics {
    let (mut all, mut said) = (Diagnostics::default(), HashSet::new());
    for exchange in found {
        let span = exchange.op.span();
        if let Some(message) = text(exchange)
            && (span.is_empty() || said.insert((span.start, span.end)))
        {
            all.push(Diagnostic::remark(span, message));
        }
    }
    all
}

fn of_main(program: &Program) -> Vec<Exchange<'_>> {
    let mut found = Vec::new();
    if let Some(block) = main_block(program) {
        exchanges(program, block, None, &mut found);
    }
    found
}

/// Returns a remark for each exchange in the module that a simulated run skips.
pub(crate) fn left_out(program: &Program) -> Diagnostics {
    let mut found = Vec::new();
    exchanges(program, program.body(), None, &mut found);
    remarks(&found, |e| {
        (!e.effect.returns_data).then(|| format!("{} is left out, because no result depends on it", e.text()))
    })
}

/// Returns a remark for each exchange whose time isn't modelled.
pub(crate) fn not_priced(program: &Program) -> Diagnostics {
    let mut all = remarks(&of_main(program), |e| {
        (e.effect.partner != HostPartner::Library)
            .then(|| format!("the modelled step excludes {}, because the host's work isn't modelled", e.text()))
    });
    let main = main_block(program);
    let ops = main.map_or_else(Vec::new, |block| program.ops_under(block));
    let mut by_host = ops.into_iter().filter(|&op| is_computed_by_host(program.view(op)));
    if let Some(first) = by_host.next() {
        let s = match by_host.count() {
            0 => "this op".to_owned(),
            more => format!("this op and {more} more"),
        };
        let message =
            format!("the modelled step excludes {s} that the host computes, because the host's work isn't modelled");
        all.push(Diagnostic::remark(program.op(first).span, message));
    }
    all
}

/// Refuses programs with callbacks and transfers whose data a simulated run would need.
pub(crate) fn refuse(program: &Program) -> Result<(), Diagnostics> {
    let found = of_main(program);
    let sends = |e: &Exchange<'_>| e.op.attr("channel_handle").is_some() && !e.effect.returns_data;
    let comes_back = found.iter().any(sends);
    let mut all = Diagnostics::default();
    for e in found.iter().filter(|e| e.effect.returns_data) {
        let note = match e.effect.partner {
            HostPartner::Callback => "use shardc.jit, which calls it in the process that wrote the program",
            // The data that was sent comes back on the same channel.
            HostPartner::Transfer if comes_back && e.op.attr("channel_handle").is_some() => continue,
            HostPartner::Transfer => "make the values that it receives arguments of @main",
            HostPartner::Library => continue,
        };
        let message = format!("the results of {} can't be computed here", e.text());
        all.push(Diagnostic::error(codes::HOST_EFFECT, e.op.span(), message).note(note));
    }
    if all.has_errors() { Err(all) } else { Ok(()) }
}

/// Returns a remark for each callback of a planned program: the devices on which it runs, and the operands gathered for
/// it.
pub(crate) fn placed(planned: &Program) -> Diagnostics {
    let found = of_main(planned);
    remarks(&found, |e| {
        if e.effect.partner != HostPartner::Callback {
            return None;
        }
        // The pass one-device wraps the op in a manual computation at the op's place.
        let alone = e.manual.filter(|&manual| planned.op(manual).span == e.op.span());
        let Some(manual) = alone else {
            return Some(format!("{} runs on every device, with that device's shards", e.text()));
        };
        let gathered: Vec<String> =
            planned.op(manual).operands.iter().filter_map(|&value| gathered(planned, value)).collect();
        let why = match gathered[..] {
            [] => "every device holds all of its operands".to_owned(),
            _ => format!("it needs all of {}, which is gathered on every device", gathered.join(" and ")),
        };
        Some(format!("{} runs on one device: {why}", e.text()))
    })
}

/// Returns the name and size of `value` if it was gathered.
fn gathered(planned: &Program, value: Value) -> Option<String> {
    let (mut from, mut sends) = (value, false);
    while let ValueSource::Result(op, _) = planned.value_source(from) {
        let view = planned.view(op);
        let Some(reshard) = view.def().reshard(view) else { break };
        sends |= !matches!(reshard, Reshard::Identity | Reshard::AllSlice(_));
        from = *view.operands().first()?;
    }
    let bytes = planned.tensor_type(value)?.bytes()?;
    sends.then(|| format!("{} ({})", value_name(planned, from), units::bytes(bytes as f64)))
}
