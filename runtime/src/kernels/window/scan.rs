//! Windows over everything before an element, or after it, with any region, as a loop that carries the running value.

use dialect::ir::{ElementType, OpRef};
use dialect::kernel::{Affine, Arg, Body, Index, Init, Inst, Nest};
use dialect::ops::stablehlo::window::is_neutral_for;
use dialect::ops::support::constraint::splat_operand;
use dialect::scalar::Scalar;

/// A reduction over windows that is a scan.
pub(crate) struct Running {
    /// A nest that combines the element at the loops' position with the accumulators, which have the running values.
    pub nest: Nest,
    /// The loop that carries the accumulators.
    pub dim: usize,
    /// Whether the loop runs from the last element to the first.
    pub backward: bool,
}

impl Running {
    /// Returns a nest as a scan. Returns `None` if it isn't a scan, or if combining initial values once more may change
    /// results.
    pub(crate) fn of(op: OpRef<'_>, nest: &Nest) -> Option<Self> {
        let (first, parallel) = (nest.inputs.first()?, nest.parallel);
        let &[inside] = &nest.loops[parallel..] else { return None };
        let alike = nest.inputs.iter().all(|i| i.index == first.index && i.guards == first.guards);
        let shape = &op.operand_tensor(first.operand)?.shape;
        let body = &nest.body;
        if !alike || shape[..] != nest.loops[..parallel] || body.inputs != body.accumulators {
            return None;
        }
        let ranges = nest.ranges();
        let mut dim = None;
        for (d, index) in first.index.iter().enumerate() {
            match index {
                Index::Loop(l) if *l == d => {}
                _ => {
                    let at = Affine::of(index, &ranges);
                    let moves = |l: usize| at.loops[l] == i64::from(l == d || l == parallel);
                    if !at.is_affine() || !(0..at.loops.len()).all(moves) || dim.is_some() {
                        return None;
                    }
                    dim = Some((d, -at.constant));
                }
            }
        }
        let (dim, low) = dim?;
        let backward = match low {
            _ if inside < shape[dim] => return None,
            low if low == inside - 1 => false,
            0 => true,
            _ => return None,
        };
        // Guards may only require that elements exist.
        let exists = |g: &dialect::kernel::Guard| g.index == first.index[dim] && (g.lo, g.hi) == (0, shape[dim]);
        let inits = nest.init.iter().map(|init| match init {
            Init::Operand(i) => splat_operand(op, *i),
            Init::Const(value) => Some(*value),
        });
        let inits = inits.collect::<Option<Vec<Scalar>>>()?;
        let types: &[ElementType] = &body.accumulators;
        if !first.guards.iter().all(exists) || !is_neutral_for(body.as_binary(), body, types, &inits) {
            return None;
        }
        let mut nest = nest.clone();
        nest.loops.truncate(parallel);
        for input in &mut nest.inputs {
            (input.index[dim], input.guards, input.outside) = (Index::Loop(dim), Vec::new(), None);
        }
        if backward {
            // In a backward scan, the running value is the right operand.
            nest.body = swapped(&nest.body);
        }
        Some(Self { nest, dim, backward })
    }
}

/// Returns the body with inputs and accumulators exchanged.
fn swapped(body: &Body) -> Body {
    let other = |arg: Arg| match arg {
        Arg::Input(i) => Arg::Accumulator(i),
        Arg::Accumulator(i) => Arg::Input(i),
        made => made,
    };
    let mut body = body.clone();
    for inst in &mut body.insts {
        if let Inst::Op { args, .. } = inst {
            args.iter_mut().for_each(|a| *a = other(*a));
        }
    }
    body.results.iter_mut().for_each(|r| *r = other(*r));
    body
}
