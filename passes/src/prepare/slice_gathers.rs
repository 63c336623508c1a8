//! slice-gathers: rewrites gathers at known, regular positions as repeats and strided slices, which can be computed in
//! shards: enlarging an image repeats its rows, shrinking it skips some.

use crate::heuristics::HEURISTICS;
use dialect::fold::Constants;
use dialect::ir::build::Builder;
use dialect::ir::{Op, Program, Value};
use dialect::ops::build;
use dialect::ops::stablehlo::indexing::GatherDims;
use dialect::sharding::Distribution;

use super::Prepared;
use crate::pass::{Effect, Pass};

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "slice-gathers",
    doc: "Writes gathers at regular positions of a sharded dimension as repeats and strided slices.",
    effect: Effect::Rewrite,
    options: &[],
    run: |program, _, _| slice(program),
};

/// The limit on the length of a table of positions.
const MAX_POSITIONS: usize = 1 << 20;

/// Positions `floor((step * i + offset) / repeats)`.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Regular {
    step: i64,
    offset: i64,
    repeats: i64,
}

impl Regular {
    /// Returns the fewest repeats that give `positions`, which must be at least two.
    fn of(positions: &[i64]) -> Option<Self> {
        let (first, last) = (*positions.first()?, *positions.last()?);
        let steps = positions.len() as i64 - 1;
        if steps < 1 {
            return None;
        }
        let of = |repeats: i64, step: i64| {
            let offsets = positions.iter().enumerate().map(|(i, p)| repeats * p - step * i as i64);
            let (low, high) = offsets.fold((i64::MIN, i64::MAX), |(low, high), o| (low.max(o), high.min(o)));
            // Any offset in `low..high + repeats` gives the position of each `i`.
            (low < high.saturating_add(repeats)).then_some(Self { step, offset: low, repeats })
        };
        (1..=HEURISTICS.most_repeats).find_map(|repeats| {
            let slope = (repeats * (last - first)).div_euclid(steps);
            [slope, slope + 1].into_iter().filter(|s| *s != 0).find_map(|step| of(repeats, step))
        })
    }
}

/// Rewrites the gathers under `@main` that take rows of a sharded dimension at regular positions.
pub(super) fn slice(program: &mut Program) {
    let Some(prepared) = Prepared::of(program) else { return };
    let mut constants = Constants::default();
    prepared.rewrite(program, |prepared, program, (op, _), ops| {
        let (dim, positions) = taken(program, prepared, op, &mut constants)?;
        let regular = Regular::of(&positions)?;
        Some(vec![build(program, prepared, op, dim, regular, ops)])
    });
}

/// Returns the sharded dimension of which a gather takes single positions (and all of every other dimension), and those
/// positions.
fn taken(program: &Program, prepared: &Prepared, op: Op, constants: &mut Constants) -> Option<(usize, Vec<i64>)> {
    let view = program.view(op);
    let GatherDims { dims, sizes } = GatherDims::of(view)?;
    let ([dim], [_], [batch]) = (&dims.index_map[..], &dims.collapsed[..], &dims.batch[..]) else { return None };
    let (source, result) = (*view.operands().first()?, program.result(op, 0));
    let shape = &program.tensor_type(source)?.shape;
    let others = (0..sizes.len()).all(|d| d == *dim || sizes[d] == shape[d]);
    let sharded = |v: Value| prepared.get(program, v).dims.get(*dim).is_some_and(|axes| !axes.is_empty());
    if dims.collapsed[0] != *dim || batch != dim || !others || !(sharded(source) || sharded(result)) {
        return None;
    }
    let table = constants.get(program, *view.operands().get(1)?, MAX_POSITIONS)?;
    let positions = (0..table.len()).map(|i| table.get(i).as_i64());
    // The gather clamps start positions.
    let positions: Option<Vec<i64>> = positions.map(|p| Some(p?.clamp(0, shape[*dim] - 1))).collect();
    Some((*dim, positions?)).filter(|_| shape[*dim] > 0)
}

fn build(
    program: &mut Program,
    prepared: &mut Prepared,
    op: Op,
    dim: usize,
    regular: Regular,
    ops: &mut Vec<Op>,
) -> Value {
    let (source, result, loc) = (program.op(op).operands[0], program.result(op, 0), program.op(op).loc);
    let (from, place) = (prepared.get(program, source), prepared.get(program, result));
    let shape = program.tensor_type(source).map(|t| t.shape.clone()).unwrap_or_default();
    let count = program.tensor_type(result).map_or(0, |t| t.shape[dim]);
    let mut b = Builder::new(program, ops, loc);
    let (mut value, mut rows) = (source, shape[dim]);
    if regular.repeats > 1 {
        let mut repeated = shape.clone();
        repeated.insert(dim + 1, regular.repeats);
        let dims: Vec<i64> = (0..shape.len() as i64).map(|d| d + i64::from(d > dim as i64)).collect();
        value = build::shape::broadcast_in_dim(&mut b, value, &repeated, &dims);
        let mut axes = from.dims.clone();
        axes.insert(dim + 1, Default::default());
        prepared.set(value, Distribution::of_dims(axes));
        rows *= regular.repeats;
        repeated.remove(dim + 1);
        repeated[dim] = rows;
        value = build::shape::reshape(&mut b, value, &repeated);
        prepared.set(value, from.clone());
    }
    let mut start = regular.offset;
    if regular.step < 0 {
        value = build::shape::reverse(&mut b, value, &[dim as i64]);
        prepared.set(value, from);
        start = rows - 1 - regular.offset;
    }
    let stride = regular.step.abs();
    let ty = b.tensor(value).shape.clone();
    let (mut starts, mut strides, mut limits) = (vec![0; ty.len()], vec![1; ty.len()], ty.to_vec());
    (starts[dim], strides[dim], limits[dim]) = (start, stride, start + stride * (count - 1) + 1);
    if (start, stride, limits[dim]) != (0, 1, rows) {
        value = build::shape::slice(&mut b, value, &starts, &limits, &strides);
    }
    if value != source {
        prepared.set(value, place);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_positions_are_recognized() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..2_000 {
            let (repeats, step) = (random.i64(1..6), random.i64(1..8) * if random.bool() { 1 } else { -1 });
            let offset = random.i64(0..20) + if step < 0 { 30 * 8 } else { 0 };
            let positions: Vec<i64> = (0..random.i64(2..30)).map(|i| (step * i + offset).div_euclid(repeats)).collect();
            // `of` doesn't recognize positions that are all equal, because they are no slice.
            if let Some(found) = Regular::of(&positions) {
                let again = |i: i64| (found.step * i + found.offset).div_euclid(found.repeats);
                assert!(positions.iter().enumerate().all(|(i, p)| again(i as i64) == *p), "{positions:?} {found:?}");
            } else {
                assert!(positions.iter().all(|p| *p == positions[0]), "{positions:?} aren't recognized");
            }
        }
        assert_eq!(Regular::of(&[0, 0, 1, 1, 2, 2]), Some(Regular { step: 1, offset: 0, repeats: 2 }));
        assert_eq!(Regular::of(&[0, 1, 3, 4, 9]), None);
    }
}
