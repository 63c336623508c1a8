//! Trades: a part of an axis goes to one class of dimensions and away from every op without it, in one cut.
//!
//! A move to a class leaves all other ops as they are, and a move to nothing leaves nobody where it was. But a value may
//! be worth sharding less than it is: where something cheap is computed by more devices, what is dear to move moves
//! less. A trade asks both at once.

use super::Move;
use super::moves::{Moves, Target};
use crate::plan::search::draft::Draft;

/// Trades are tried for so many classes, those with the most work.
const CLASSES: usize = 7;
/// A trade must save at least this fraction of the total cost.
const WORTH: f64 = 1e-3;
/// No more trades are tried once they have asked so many ops: they ask nearly all ops of a graph each time.
const MAX_ASKED: usize = 3000;

/// Trades parts of axes; returns whether that made the plan cheaper.
pub(super) fn trades(draft: &mut Draft<'_, '_>, moves: &mut Moves) -> bool {
    let worth = draft.total() * WORTH;
    let classes: Vec<_> = moves.classes.by_weight.iter().copied().take(CLASSES).collect();
    let most = moves.asked + MAX_ASKED;
    let mut helped = false;
    for group in moves.wholes..moves.groups.len() {
        for &class in &classes {
            if moves.asked >= most {
                return helped;
            }
            let made = Move { draft, moves, group, target: Target::Only(class), worth }.make();
            draft.effort.moves += 1;
            draft.effort.helpful_moves += usize::from(made);
            helped |= made;
        }
    }
    helped
}
