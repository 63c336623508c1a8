//! Trades: a part of an axis moves to one dimension class, and all other ops change with it, in one cut.
//!
//! A move to a class doesn't change other ops, and a move to nothing changes all ops. A trade does both at once:
//!
//! - A value may be worth sharding less than it is: if more devices compute a cheap value, expensive values move less.
//!   So the part is removed from every op without the class.
//! - A block of layers may be worth sharding differently than the ops around it, by some of the devices: weights are
//!   then gathered from fewer devices, in exchange for activations that are gathered from the others. Activations can
//!   be gathered directly only along the innermost axis. So the part becomes innermost in every op without the class.

use dialect::sharding::AxisPart;

use super::Move;
use super::classes::DimensionClass;
use super::moves::{Moves, Target};
use crate::heuristics::HEURISTICS;
use crate::plan::heuristics::PLAN;
use crate::plan::search::draft::Draft;

/// Removes parts of axes from all ops but those of one class; returns whether that made the plan cheaper.
pub(super) fn narrow(draft: &mut Draft<'_, '_>, moves: &mut Moves) -> bool {
    let classes = classes(moves);
    let parts = moves.wholes..moves.groups.len();
    let all = parts.flat_map(|group| classes.iter().map(move |&class| (group, Target::Only(class))));
    let most = moves.computed + PLAN.trade_changes[0];
    make(draft, moves, all, most)
}

/// Shards blocks along the smallest parts of axes, innermost elsewhere; returns whether that made the plan cheaper. If
/// no block is cheaper along the first of these parts, hardly any is along the last.
pub(super) fn blocks(draft: &mut Draft<'_, '_>, moves: &mut Moves) -> bool {
    let mut classes = classes(moves);
    classes.retain(|&class| 2 * moves.classes.ops(class).len() <= moves.roles.ops.len());
    let is_small = |group: &usize| matches!(&moves.groups[*group][..], [part] if part.size == least_part(moves, part));
    let groups: Vec<usize> = (moves.wholes..moves.groups.len()).filter(is_small).collect();
    let most = moves.computed + PLAN.trade_changes[1];
    let mut helped = false;
    for (i, group) in groups.into_iter().enumerate() {
        helped |= make(draft, moves, classes.iter().map(|&class| (group, Target::Inside(class))), most);
        if i + 1 >= PLAN.failed_trades && !helped {
            break;
        }
    }
    helped
}

fn classes(moves: &Moves) -> Vec<DimensionClass> {
    moves.classes.by_weight.iter().copied().take(PLAN.traded_classes).collect()
}

/// Returns the size of the smallest parts into which the axis of `part` is split.
fn least_part(moves: &Moves, part: &AxisPart) -> u32 {
    let parts = moves.groups[moves.wholes..].iter().flatten().filter(|p| p.axis == part.axis);
    parts.map(|p| p.size).min().unwrap_or(part.size)
}

/// Makes the trades that help, until `most` changes of ops were computed; returns whether any helped.
fn make(
    draft: &mut Draft<'_, '_>,
    moves: &mut Moves,
    all: impl IntoIterator<Item = (usize, Target)>,
    most: usize,
) -> bool {
    let worth = draft.total() * HEURISTICS.gain;
    let mut helped = false;
    for (group, target) in all {
        if moves.computed >= most {
            return helped;
        }
        let made = Move { draft, moves, group, target, tried: None, worth }.make();
        draft.effort.moves += 1;
        draft.effort.helpful_moves += usize::from(made);
        helped |= made;
    }
    helped
}
