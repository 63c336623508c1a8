//! A region that compares two elements, in sort and select_and_scatter. Its arguments are pairs of a left and a right
//! element of each tensor.

use crate::eval::{Context, EvalError, EvalResult, region_on_lane};
use crate::ir::{ElementType, OpRef, Region};
use crate::kernel::body_of_region;
use crate::kernel::{Arg, Body};
use crate::literal::Literal;
use crate::op::Problem;
use crate::scalar::Scalar;

use super::constraint::{Checked, require};

/// The region for the evaluator: scalar bodies run directly, all others through the evaluation context.
pub(crate) struct Comparator {
    types: Vec<ElementType>,
    body: Option<Body>,
    region: Region,
}

impl Comparator {
    /// Returns region `number` of `op` over elements of these types.
    pub(crate) fn of(op: OpRef<'_>, number: usize, types: &[ElementType]) -> EvalResult<Self> {
        let region = op.region(number).ok_or_else(|| EvalError::new("the region is missing"))?;
        Ok(Self { types: types.to_vec(), body: comparing_body(op, number, types.len()), region })
    }

    /// Returns whether the comparison holds for these pairs of left and right elements, one pair per tensor.
    pub(crate) fn holds(&self, pairs: &[(Scalar, Scalar)], cx: &mut dyn Context) -> EvalResult<bool> {
        let result = match &self.body {
            Some(body) => {
                let inputs: Vec<Scalar> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
                body.eval(&inputs, &[]).first().copied()
            }
            None => {
                cx.step()?;
                let all = pairs.iter().zip(&self.types).flat_map(|(&(a, b), &ty)| [(a, ty), (b, ty)]);
                let args: Vec<Literal> = all.map(|(v, ty)| Literal::scalar(ty, v)).collect();
                let results = region_on_lane(cx, self.region, &args)?;
                results.first().filter(|r| !r.is_empty()).map(|r| r.get(0))
            }
        };
        result.map(Scalar::is_true).ok_or_else(|| EvalError::new("the region returns no value"))
    }
}

/// Returns region `region` of `op`, which compares elements of `n` tensors, as a body: inputs `2 i` and `2 i + 1` are
/// the elements of tensor `i`. `None` if it isn't scalar.
pub(crate) fn comparing_body(op: OpRef<'_>, region: usize, n: usize) -> Option<Body> {
    let args: Vec<Arg> = (0..2 * n).map(Arg::Input).collect();
    body_of_region(op.program, op.region(region)?, &args).filter(|b| b.results.len() == 1)
}

/// Checks a comparing region over elements of these types: it takes pairs of rank-0 elements and returns an `i1`.
pub(crate) fn check_comparator(op: OpRef<'_>, region: usize, types: &[ElementType], label: &str) -> Checked<()> {
    let program = op.program;
    op.block(region).ok_or_else(|| Problem::new(format!("expected a region ({label})")))?;
    let scalars = |values: &[crate::ir::Value]| -> Option<Vec<ElementType>> {
        values.iter().map(|&v| program.tensor_type(v).filter(|t| t.rank() == 0).map(|t| t.element)).collect()
    };
    let want: Vec<ElementType> = types.iter().flat_map(|&e| [e, e]).collect();
    let fits = scalars(op.region_args(region)) == Some(want);
    require!(fits, "expected the region to take two elements of each tensor, of rank 0 ({label})");
    let fits = scalars(op.region_results(region)).as_deref() == Some(&[ElementType::I1]);
    require!(fits, "expected the region to return one tensor<i1> ({label})");
    Ok(())
}
