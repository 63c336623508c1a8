//! Checks channels between devices: a value sent over a channel must be received over it, by the same pairs of devices.

use std::collections::BTreeMap;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{AttrData, Block, Op, OpRef, Program};

/// The channel type of transfers between devices.
const DEVICE_TO_DEVICE: i64 = 1;

#[derive(Default)]
struct Channel {
    sends: Vec<Op>,
    receives: Vec<Op>,
}

/// Reports channels whose sending and receiving pairs of devices differ.
pub(super) fn check(program: &Program, block: Block, diagnostics: &mut Diagnostics) {
    let mut channels: BTreeMap<i64, Channel> = BTreeMap::new();
    program.walk(block, &mut |op| {
        let view = program.view(op);
        if !view.def().side_effect(view) || view.def().groups(view).is_some() {
            return;
        }
        let field = |name| view.field("channel_handle", name).and_then(AttrData::as_int);
        let (Some(handle), Some(DEVICE_TO_DEVICE)) = (field("handle"), field("type")) else { return };
        // Both have a token in addition to the moved value.
        let channel = channels.entry(handle).or_default();
        match (view.operands().len(), view.result_count()) {
            (2.., _) => channel.sends.push(op),
            (_, 2..) => channel.receives.push(op),
            _ => {}
        }
    });
    for (handle, Channel { sends, receives }) in channels {
        let all = |ops: &[Op]| {
            let mut pairs: Vec<(i64, i64)> = ops.iter().flat_map(|&op| pairs(program.view(op))).collect();
            pairs.sort_unstable();
            pairs
        };
        let (sent, received) = (all(&sends), all(&receives));
        let missing = |from: &[(i64, i64)], to: &[(i64, i64)]| from.iter().copied().find(|p| !to.contains(p));
        let (ops, others, what, (source, target)) = match (missing(&sent, &received), missing(&received, &sent)) {
            (Some(pair), _) => (&sends, &receives, "sends over", pair),
            (None, Some(pair)) => (&receives, &sends, "receives over", pair),
            (None, None) => continue,
        };
        let names = |&&op: &&Op| pairs(program.view(op)).contains(&(source, target));
        let Some(&op) = ops.iter().find(names) else { continue };
        let view = program.view(op);
        let message =
            format!("'{}' {what} channel {handle} from device {source} to {target} without a counterpart", view.name());
        let mut d = Diagnostic::error(codes::TRANSFER_UNMATCHED, view.span(), message);
        if let Some(&other) = others.first() {
            let other = program.view(other);
            d = d.also(other.span(), format!("'{}' over the same channel has other pairs of devices", other.name()));
        }
        diagnostics.push(d.note("give the send and the recv over one channel the same source_target_pairs"));
    }
}

fn pairs(op: OpRef<'_>) -> Vec<(i64, i64)> {
    op.ints("source_target_pairs").unwrap_or_default().chunks_exact(2).map(|p| (p[0], p[1])).collect()
}
