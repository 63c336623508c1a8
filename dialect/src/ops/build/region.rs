//! Typed builders for ops with regions: reduce and sort.

use crate::ir::build::Builder;
use crate::ir::{AttrData, ElementClass, Ty, Value};
use crate::op::OpDef;
use crate::ops::build;
use crate::ops::stablehlo::control;
use crate::ops::stablehlo::reduction::Reduce;
use crate::ops::stablehlo::sort::Sort;
use crate::scalar::{Scalar, ScalarOp};

/// Builds a reduction of `value` by `op` along `dims`, starting from the rank-0 `init`.
pub fn reduce(b: &mut Builder<'_>, value: Value, init: Value, dims: &[i64], op: ScalarOp) -> Value {
    let ty = b.program.value_type(init);
    let region = b.region(&[ty, ty], |b, args| {
        let combined = build::pointwise(b, op, args);
        b.op(&control::RETURN, &[combined], &[], &[]);
    });
    let dims = b.program.attr_i64s(dims);
    b.inferred(&Reduce, &[value, init], &[("dimensions", dims)], &[region])[0]
}

/// Builds the sum of `value` along `dims`.
pub fn sum(b: &mut Builder<'_>, value: Value, dims: &[i64]) -> Value {
    let element = b.tensor(value).element;
    let zero = build::scalar(b, element, Scalar::zero(element));
    reduce(b, value, zero, dims, ScalarOp::Add)
}

/// Builds an `if` with the results of `on_true` if `predicate` holds, or else of `on_false`; both have these types.
pub fn if_else(
    b: &mut Builder<'_>,
    predicate: Value,
    types: &[Ty],
    on_true: impl FnOnce(&mut Builder<'_>) -> Vec<Value>,
    on_false: impl FnOnce(&mut Builder<'_>) -> Vec<Value>,
) -> Vec<Value> {
    let on_true = b.region(&[], |b, _| {
        let values = on_true(b);
        b.op(&control::RETURN, &values, &[], &[]);
    });
    let on_false = b.region(&[], |b, _| {
        let values = on_false(b);
        b.op(&control::RETURN, &values, &[], &[]);
    });
    let name = control::IF.name();
    let op = b.raw(&control::IF, name, &[predicate], types, &[], &[on_true, on_false]);
    b.program.results(op).collect()
}

/// Builds a stable sort of `values` together along `dim`, by the first of them in descending order. Floats are in total
/// order.
pub fn sort_down(b: &mut Builder<'_>, values: &[Value], dim: i64) -> Vec<Value> {
    let types: Vec<Ty> = values
        .iter()
        .flat_map(|&v| {
            let element = b.tensor(v).element;
            [b.program.tensor(&[], element); 2]
        })
        .collect();
    let compared = match b.tensor(values[0]).element.class() {
        ElementClass::Float => "TOTALORDER",
        ElementClass::Signed => "SIGNED",
        _ => "UNSIGNED",
    };
    let region = b.region(&types, |b, args| {
        let direction = b.program.attr_enum("comparison_direction", "GT");
        let kind = b.program.attr_enum("comparison_type", compared);
        let attrs = [("comparison_direction", direction), ("compare_type", kind)];
        let greater = b.inferred(&crate::ops::stablehlo::elementwise::COMPARE, &args[..2], &attrs, &[]);
        b.op(&control::RETURN, &greater, &[], &[]);
    });
    let dim = b.program.attr_i64(dim);
    let stable = b.program.intern_attr(AttrData::Bool(true));
    b.inferred(&Sort, values, &[("dimension", dim), ("is_stable", stable)], &[region])
}
