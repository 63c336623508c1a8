//! The custom call `ApproxTopK` of `jax.lax.approx_max_k`, evaluated exactly: the exact result satisfies any requested
//! recall. Source: XLA, `ApproxTopK`.

use crate::eval::{Context, EvalError, EvalResult, on_lane};
use crate::ir::{AttrData, OpRef};
use crate::literal::{Indices, Literal};
use crate::ops::func;
use crate::scalar::Scalar;

/// Evaluates the call. Operands are `n` tensors to sort by the comparator and `n` initial values, which are used only
/// if there are too few elements; results are the first elements of each along `reduction_dim`.
pub(super) fn evaluate(op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
    let n = operands.len() / 2;
    let dim = ["mhlo.backend_config", "backend_config"].iter().find_map(|name| {
        let AttrData::Dict(fields) = op.attr(name)? else { return None };
        let (_, value) = fields.iter().find(|f| op.program.name_text(f.0) == "reduction_dim")?;
        op.program.attr_data(*value).as_int().and_then(|d| usize::try_from(d).ok())
    });
    let first = operands.first().filter(|_| n > 0 && n == op.result_count());
    let (Some(dim), Some(first)) = (dim, first) else {
        return Err(EvalError::new(
            "ApproxTopK can't be evaluated without tensors, as many initial values, and a reduction_dim",
        ));
    };
    let comparator = comparator(op)
        .ok_or_else(|| EvalError::new("ApproxTopK can't be evaluated without a comparator function in the module"))?
        .to_owned();
    let types: Vec<_> = (0..n).filter_map(|i| op.result_tensor(i).cloned()).collect();
    let same = operands[..n].iter().all(|o| o.shape == first.shape);
    let kept = types.first().and_then(|t| t.shape.get(dim).copied()).unwrap_or(-1);
    let fits = types.iter().all(|t| {
        t.rank() == first.shape.len()
            && (0..t.rank()).all(|d| t.shape[d] == if d == dim { kept } else { first.shape[d] })
    });
    if types.len() != n || !same || !fits || first.shape.get(dim).is_none_or(|&size| kept < 0 || kept > size) {
        return Err(EvalError::new(
            "ApproxTopK can't be evaluated if its results are not the first elements of its operands",
        ));
    }
    let mut outer = first.shape.clone();
    outer[dim] = 1;
    let mut results: Vec<Vec<Scalar>> =
        types.iter().map(|t| vec![Scalar::zero(t.element); t.elements().unwrap_or(0)]).collect();
    for at in Indices::of(&outer) {
        let place = |i: i64| {
            let mut at = at.clone();
            at[dim] = i;
            first.position(&at)
        };
        let mut order: Vec<usize> = (0..first.shape[dim]).map(place).collect();
        sort(&mut order, &mut |a, b| {
            cx.step()?;
            before(&comparator, &operands[..n], a, b, cx)
        })?;
        for (k, &from) in order.iter().take(kept as usize).enumerate() {
            let mut to = at.clone();
            to[dim] = k as i64;
            for (i, result) in results.iter_mut().enumerate() {
                let position = to.iter().zip(&types[i].shape).fold(0, |p, (&x, &d)| p * d as usize + x as usize);
                result[position] = operands[i].get(from);
            }
        }
    }
    Ok(types.iter().zip(results).map(|(t, values)| Literal::from_scalars(t.element, &t.shape, values)).collect())
}

fn comparator<'a>(op: OpRef<'a>) -> Option<&'a str> {
    let Some(AttrData::Array(names)) = op.attr("called_computations") else { return None };
    match names.first().map(|&name| op.program.attr_data(name)) {
        Some(AttrData::Symbol(name)) if func::functions_by_name(op.program).contains_key(&**name) => Some(name),
        _ => None,
    }
}

/// Returns whether element `a` of the tensors comes before element `b`.
fn before(comparator: &str, tensors: &[Literal], a: usize, b: usize, cx: &mut dyn Context) -> EvalResult<bool> {
    let pair = |t: &Literal| [a, b].map(|i| Literal::scalar(t.element, t.get(i)));
    let arguments: Vec<Literal> = tensors.iter().flat_map(pair).collect();
    let results = on_lane(cx, &arguments, |cx, arguments, mask| cx.call(comparator, arguments, mask))?;
    let first = results.first().filter(|v| v.len() == 1);
    first.map(|v| v.get(0).is_true()).ok_or_else(|| EvalError::new("the comparator doesn't return a truth value"))
}

/// Sorts by a stable merge sort with a comparison that may fail.
fn sort(list: &mut Vec<usize>, before: &mut dyn FnMut(usize, usize) -> EvalResult<bool>) -> EvalResult<()> {
    if list.len() < 2 {
        return Ok(());
    }
    let mut right = list.split_off(list.len() / 2);
    sort(list, before)?;
    sort(&mut right, before)?;
    let (left, mut i, mut j) = (std::mem::take(list), 0, 0);
    while i < left.len() && j < right.len() {
        if before(right[j], left[i])? {
            list.push(right[j]);
            j += 1;
        } else {
            list.push(left[i]);
            i += 1;
        }
    }
    list.extend_from_slice(&left[i..]);
    list.extend_from_slice(&right[j..]);
    Ok(())
}
