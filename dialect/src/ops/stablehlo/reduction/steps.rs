//! Reductions in steps: each device reduces its piece, and the results, which are small, are reduced again.
//!
//! Elements stay in order, because a reduction that prefers the first of several NaNs doesn't commute: if several
//! dimensions are sharded, the last is reduced first.

use super::{Reduce, ReduceDims};
use crate::ir::build::Builder;
use crate::ir::{ElementClass, Op, Program, Renaming, Value, ValueSource};
use crate::op::{Like, OpDef, Steps, Surroundings};
use crate::ops::build;
use crate::ops::stablehlo::constant::IOTA;
use crate::ops::stablehlo::reshape::{Reshape, groups};
use crate::scalar::Scalar;

/// Returns the steps of `op`; `None` if no reduced dimension is sharded.
pub(super) fn in_steps(op: Op, dims: ReduceDims, around: &dyn Surroundings, b: &mut Builder<'_>) -> Option<Steps> {
    let data = b.program.op(op).clone();
    let (inputs, inits) = data.operands.split_at(dims.inputs);
    let mut steps = Steps::default();
    let divisions = |program: &Program, value: Value, reduced: &[usize]| -> Vec<(usize, i64)> {
        let (pieces, sizes) = (around.pieces(program, value), program.tensor_type(value).map(|t| &t.shape));
        let fits = |&(d, n): &(usize, i64)| n > 1 && sizes.is_some_and(|s| s[d] > n);
        reduced.iter().map(|&d| (d, pieces[d])).filter(fits).collect()
    };
    let product = |list: &[(usize, i64)]| list.iter().map(|d| d.1).product::<i64>();
    let mut divided = divisions(b.program, inputs[0], &dims.reduced);
    let (mut values, mut left, mut of) = (inputs.to_vec(), dims.reduced, inputs[0]);
    if let Some((source, reduced)) = before_reshape(b.program, inputs[0], &left) {
        let more = divisions(b.program, source, &reduced);
        if product(&more) > product(&divided) {
            let shape = b.tensor(source).shape.to_vec();
            let first = std::mem::replace(&mut of, source);
            for value in values.iter_mut() {
                *value = if *value == first { source } else { unflattened(b, *value, &shape, source, &mut steps.made) };
            }
            (divided, left) = (more, reduced);
        }
    }
    if divided.is_empty() {
        return None;
    }
    let reduce = |b: &mut Builder<'_>, values: &[Value], dims: &[i64]| {
        let regions: Vec<_> =
            data.regions.iter().map(|&r| b.program.clone_region(r, &mut Renaming::default())).collect();
        let dims = b.program.attr_i64s(dims);
        b.inferred(&Reduce, &[values, inits].concat(), &[("dimensions", dims)], &regions)
    };
    // The dimensions of `of` that remain.
    let mut there: Vec<usize> = (0..b.tensor(of).rank()).collect();
    while !left.is_empty() {
        let cut = left.iter().enumerate().rev().find_map(|(i, d)| Some((i, divided.iter().find(|c| c.0 == *d)?)));
        let group = left.split_off(cut.map_or(0, |c| c.0));
        let mut places: Vec<Vec<usize>> = there.iter().map(|&d| vec![d]).collect();
        let mut positions: Vec<usize> = there.iter().enumerate().filter(|d| group.contains(d.1)).map(|d| d.0).collect();
        if let Some((_, &(_, pieces))) = cut {
            let at = positions[0];
            let mut shape = b.tensor(values[0]).shape.to_vec();
            shape.splice(at..=at, [pieces, shape[at] / pieces]);
            places.insert(at + 1, Vec::new());
            values.iter_mut().for_each(|v| *v = build::shape::reshape(b, *v, &shape));
            steps.made.extend(values.iter().map(|&v| (v, Like { of, dims: places.clone() })));
            let inner: Vec<usize> = positions.iter().map(|p| p + 1).collect();
            values = reduce(b, &values, &inner.iter().map(|&p| p as i64).collect::<Vec<_>>());
            remove_all(&mut places, &inner);
            steps.made.extend(values.iter().map(|&v| (v, Like { of, dims: places.clone() })));
            positions = vec![at];
        }
        values = reduce(b, &values, &positions.iter().map(|&p| p as i64).collect::<Vec<_>>());
        remove_all(&mut places, &positions);
        there.retain(|d| !group.contains(d));
        if !left.is_empty() {
            steps.made.extend(values.iter().map(|&v| (v, Like { of, dims: places.clone() })));
        }
    }
    steps.results = values;
    Some(steps)
}

fn remove_all(list: &mut Vec<Vec<usize>>, ascending: &[usize]) {
    ascending.iter().rev().for_each(|&i| drop(list.remove(i)));
}

/// Returns the operand of the reshape that produces `value`, and the dimensions of the operand that become `reduced`;
/// `None` if kept dimensions change, too.
fn before_reshape(program: &Program, value: Value, reduced: &[usize]) -> Option<(Value, Vec<usize>)> {
    let ValueSource::Result(maker, _) = program.value_source(value) else { return None };
    let view = program.view(maker);
    if view.name() != Reshape.name() {
        return None;
    }
    let (from, to) = (&view.operand_tensor(0)?.shape, &view.result_tensor(0)?.shape);
    let mut before = Vec::new();
    for (from, to) in (!from.contains(&0)).then(|| groups(from, to))? {
        match to.clone().all(|d| reduced.contains(&d)) {
            true => before.extend(from),
            false if from.len() == 1 && to.len() == 1 => {}
            false => return None,
        }
    }
    Some((view.operands()[0], before))
}

/// Builds `value` in `shape`, the shape of `of`. An iota is generated in that shape, which each device can do for its
/// piece.
fn unflattened(b: &mut Builder<'_>, value: Value, shape: &[i64], of: Value, made: &mut Vec<(Value, Like)>) -> Value {
    let whole: Vec<Vec<usize>> = (0..shape.len()).map(|d| vec![d]).collect();
    let mut like = |value: Value, dims: &[Vec<usize>]| {
        made.push((value, Like { of, dims: dims.to_vec() }));
        value
    };
    let ty = b.tensor(value).clone();
    let counted = match b.program.value_source(value) {
        ValueSource::Result(maker, _) if b.program.op(maker).def.name() == IOTA.name() => b
            .program
            .view(maker)
            .int("iota_dimension")
            .filter(|_| matches!(ty.element.class(), ElementClass::Signed | ElementClass::Unsigned)),
        _ => None,
    };
    let along = counted.and_then(|d| groups(shape, &ty.shape).into_iter().find(|g| g.1.contains(&(d as usize))));
    let Some((dims, _)) = along.filter(|g| g.1.len() == 1 && !g.0.is_empty()) else {
        return like(build::shape::reshape(b, value, shape), &whole);
    };
    let mut stride = 1;
    let mut sum: Option<Value> = None;
    for d in dims.rev() {
        let (line, along) = ([shape[d]], &whole[d..=d]);
        let count = match stride {
            1 => build::iota(b, ty.element, shape, d),
            _ => {
                let count = like(build::iota(b, ty.element, &line, 0), along);
                let stride = like(build::splat(b, ty.element, &line, Scalar::Int(stride.into())), along);
                let count = like(build::multiply(b, count, stride), along);
                build::shape::broadcast_in_dim(b, count, shape, &[d as i64])
            }
        };
        like(count, &whole);
        sum = Some(sum.map_or(count, |sum| like(build::add(b, count, sum), &whole)));
        stride *= shape[d];
    }
    sum.unwrap_or(value)
}
