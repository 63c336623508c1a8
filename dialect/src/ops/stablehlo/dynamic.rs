//! Ops with the result's shape as an operand, and ops that read or set a size. If the operand is a constant, the import
//! pass replaces the op by one with static shapes. Each is a table row. Source: the StableHLO specification.

use super::joining::Padding;
use super::slicing::SliceRanges;
use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementClass, ElementType, Op, OpRef, Shape, TensorType, Value};
use crate::kernel::{External, Kernel};
use crate::literal::{Indices, Literal};
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::build;
use crate::ops::support::constraint::{
    Checked, declared, dim, dims, ints, is_static, operand_count, rearrange, require, result, same_element, scalar,
    show, tensor, unique,
};
use crate::scalar::{Scalar, ScalarOp};
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[
    &DYNAMIC_IOTA,
    &DYNAMIC_BROADCAST_IN_DIM,
    &DYNAMIC_RESHAPE,
    &DYNAMIC_PAD,
    &REAL_DYNAMIC_SLICE,
    &GET_DIMENSION_SIZE,
    &SET_DIMENSION_SIZE,
];

/// Builds an op with static shapes from the values of its constant operands (`None` for others).
type Expand = fn(Op, &mut Builder<'_>, &[Option<Vec<i64>>]) -> Option<Value>;

/// One dynamic op.
pub struct Dynamic {
    name: &'static str,
    operands: usize,
    syntax: Syntax,
    check: fn(OpRef<'_>) -> Checked<()>,
    evaluate: fn(OpRef<'_>, &[Literal]) -> EvalResult<Literal>,
    expand: Expand,
    examples: &'static [&'static str],
}

const FUNCTIONAL: Syntax = Syntax::Keys(&[], TypeForm::Functional);
const IOTA_SYNTAX: Syntax = Syntax::Keys(&[("dim", Piece::Int("iota_dimension"))], TypeForm::Functional);
const DIM_SYNTAX: Syntax = Syntax::Keys(&[("dim", Piece::Int("dimension"))], TypeForm::Functional);
const DIMS_SYNTAX: Syntax = Syntax::Keys(&[("dims", Piece::Ints("broadcast_dimensions"))], TypeForm::Functional);

/// `dynamic_iota`: <https://openxla.org/stablehlo/spec#dynamic_iota>
pub static DYNAMIC_IOTA: Dynamic = Dynamic {
    name: "stablehlo.dynamic_iota",
    operands: 1,
    syntax: IOTA_SYNTAX,
    check: |op| {
        sizes(op, 0, result(op, 0)?.rank(), "C2")?;
        sizes_of_result(op, 0, "C2")?;
        dim(op, "iota_dimension", result(op, 0)?.rank(), "C1").map(drop)
    },
    evaluate: |op, operands| {
        let ty = result(op, 0)?;
        let dim = dim(op, "iota_dimension", ty.rank(), "C1")?;
        let shape = to_shape(&operands[0])?;
        let count = |at: Shape| ScalarOp::Convert.apply(ElementType::I64, ty.element, &[Scalar::Int(at[dim].into())]);
        Ok(Literal::from_scalars(ty.element, &shape, Indices::of(&shape).map(count)))
    },
    expand: |op, b, known| {
        let (ty, dim) = (op_result(b.program.view(op))?, b.program.view(op).int("iota_dimension")?);
        known[0].as_ref()?;
        Some(build::iota(b, ty.element, &ty.shape, usize::try_from(dim).ok()?))
    },
    examples: &[
        "() %s = stablehlo.constant dense<[4, 5]> : tensor<2xi64> %r = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi64>) -> tensor<4x5xf32>",
    ],
};

/// `dynamic_broadcast_in_dim`: <https://openxla.org/stablehlo/spec#dynamic_broadcast_in_dim>
pub static DYNAMIC_BROADCAST_IN_DIM: Dynamic = Dynamic {
    name: "stablehlo.dynamic_broadcast_in_dim",
    operands: 2,
    syntax: DIMS_SYNTAX,
    check: |op| {
        let (operand, ty) = (tensor(op, 0)?, result(op, 0)?);
        same_result_element(op, "C1")?;
        let to = dims(&ints(op, "broadcast_dimensions")?, ty.rank(), "broadcast_dimensions", "C3")?;
        let fits = to.len() == operand.rank();
        require!(fits, "expected {} broadcast_dimensions, found {} (C2)", operand.rank(), to.len());
        unique(&to, "broadcast_dimensions", "C4")?;
        for (&from, &d) in operand.shape.iter().zip(&to) {
            let size = ty.shape[d];
            let fits = from == 1 || from == size || from < 0 || size < 0;
            require!(fits, operand = 0, "expected size 1 or {size} for dimension {d} of the result, found {from} (C5)");
        }
        sizes(op, 1, ty.rank(), "C7")?;
        sizes_of_result(op, 1, "C7")?;
        for ((&from, &d), sizes) in operand.shape.iter().zip(&to).zip(std::iter::repeat(known(op, 1))) {
            let Some(size) = sizes.map(|s| s[d]) else { break };
            let fits = from == 1 || from == size || from < 0;
            require!(fits, operand = 0, "expected size 1 or {size} for dimension {d} of the result, found {from} (C5)");
        }
        let mut known = op.ints("known_expanding_dimensions").unwrap_or_default();
        known.extend(op.ints("known_nonexpanding_dimensions").unwrap_or_default());
        let known = dims(&known, operand.rank(), "dimensions known to expand or not", "C9")?;
        unique(&known, "dimensions known to expand or not", "C8")
    },
    evaluate: |op, operands| {
        let (operand, shape) = (&operands[0], to_shape(&operands[1])?);
        let to = dims(&ints(op, "broadcast_dimensions")?, shape.len(), "broadcast_dimensions", "C3")?;
        for (&from, &d) in operand.shape.iter().zip(&to) {
            if from != 1 && from != shape[d] {
                return Err(EvalError::new(format!(
                    "dimension {d} becomes {}, but the operand has {from} (C5)",
                    shape[d]
                )));
            }
        }
        Ok(rearrange(operand, &shape, |at| {
            let from = to.iter().zip(&operand.shape).map(|(&d, &size)| if size == 1 { 0 } else { at[d] });
            (operand, operand.position(&from.collect::<Shape>()))
        }))
    },
    expand: |op, b, known| {
        known[1].as_ref()?;
        let (ty, dims, value) = (
            op_result(b.program.view(op))?,
            b.program.view(op).ints("broadcast_dimensions")?,
            b.program.view(op).operands()[0],
        );
        Some(build::shape::broadcast_in_dim(b, value, &ty.shape, &dims))
    },
    examples: &[
        "(%a: tensor<1x3xi64>) %s = stablehlo.constant dense<[2, 3, 2]> : tensor<3xi64> %r = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [2, 1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<1x3xi64>, tensor<3xi64>) -> tensor<2x3x2xi64>",
    ],
};

/// `dynamic_reshape`: <https://openxla.org/stablehlo/spec#dynamic_reshape>
pub static DYNAMIC_RESHAPE: Dynamic = Dynamic {
    name: "stablehlo.dynamic_reshape",
    operands: 2,
    syntax: FUNCTIONAL,
    check: |op| {
        same_result_element(op, "C1")?;
        sizes(op, 1, result(op, 0)?.rank(), "C4")?;
        sizes_of_result(op, 1, "C4")?;
        let (from, to) = (tensor(op, 0)?.elements(), result(op, 0)?.elements());
        let asked =
            known(op, 1).and_then(|s| s.iter().try_fold(1usize, |n, &d| n.checked_mul(usize::try_from(d).ok()?)));
        let same = |a: Option<usize>, b: Option<usize>| a.is_none() || b.is_none() || a == b;
        let fits = same(from, to) && same(from, asked);
        require!(fits, "expected the result to have as many elements as the operand (C2)");
        Ok(())
    },
    evaluate: |_, operands| {
        let shape = to_shape(&operands[1])?;
        let count = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d as usize));
        if count != Some(operands[0].len()) {
            let found = operands[0].len();
            return Err(EvalError::new(format!("{shape:?} is not a shape of {found} elements (C2)")));
        }
        Ok(operands[0].reshaped(&shape))
    },
    expand: |op, b, known| {
        known[1].as_ref()?;
        let (ty, value) = (op_result(b.program.view(op))?, b.program.view(op).operands()[0]);
        Some(build::shape::reshape(b, value, &ty.shape))
    },
    examples: &[
        "(%a: tensor<2x6xf32>) %s = stablehlo.constant dense<[3, 4]> : tensor<2xi32> %r = stablehlo.dynamic_reshape %a, %s : (tensor<2x6xf32>, tensor<2xi32>) -> tensor<3x4xf32>",
    ],
};

/// `dynamic_pad`: <https://openxla.org/stablehlo/spec#dynamic_pad>
pub static DYNAMIC_PAD: Dynamic = Dynamic {
    name: "stablehlo.dynamic_pad",
    operands: 5,
    syntax: FUNCTIONAL,
    check: |op| {
        same_element(op, 1, 0, "C1")?;
        same_result_element(op, "C1")?;
        scalar(op, 1, "I2")?;
        let rank = tensor(op, 0)?.rank();
        (2..5).try_for_each(|i| sizes(op, i, rank, "C2"))?;
        if let Some(between) = known(op, 4).and_then(|k| k.into_iter().find(|&k| k < 0)) {
            return Err(Problem::operand(
                4,
                format!("expected interior_padding not to be negative, found {between} (C3)"),
            ));
        }
        let [low, high, interior] = [2, 3, 4].map(|i| known(op, i));
        let (Some(low), Some(high), Some(interior)) = (low, high, interior) else { return Ok(()) };
        let operand = tensor(op, 0)?;
        if !operand.is_static() {
            return Ok(());
        }
        let shape = Padding { low, high, interior }.checked()?.result_shape(&operand.shape);
        result_is(op, &shape.ok_or_else(|| Problem::new("the result would have a negative size (C4)"))?, "C4")
    },
    evaluate: |_, operands| {
        let [low, high, interior] = [2, 3, 4].map(|i| operands[i].to_ints().unwrap_or_default());
        Padding { low, high, interior }.checked()?.evaluate(&operands[0], &operands[1])
    },
    expand: |op, b, known| {
        let [low, high, interior] = [2, 3, 4].map(|i| known[i].clone());
        let (low, high, interior) = (low?, high?, interior?);
        let padding = Padding { low: low.clone(), high: high.clone(), interior: interior.clone() }.checked().ok()?;
        let view = b.program.view(op);
        if padding.result_shape(&view.operand_tensor(0)?.shape)? != view.result_tensor(0)?.shape {
            return None;
        }
        let (value, padding) = (b.program.view(op).operands()[0], b.program.view(op).operands()[1]);
        Some(build::shape::pad(b, value, padding, &low, &high, &interior))
    },
    examples: &[
        "(%a: tensor<2x3xi32>, %v: tensor<i32>) %l = stablehlo.constant dense<[0, 1]> : tensor<2xi64> %h = stablehlo.constant dense<[2, -1]> : tensor<2xi64> %i = stablehlo.constant dense<[1, 2]> : tensor<2xi64> %r = stablehlo.dynamic_pad %a, %v, %l, %h, %i : (tensor<2x3xi32>, tensor<i32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<5x7xi32>",
    ],
};

/// `real_dynamic_slice`: a slice whose start, limit and strides are operands.
pub static REAL_DYNAMIC_SLICE: Dynamic = Dynamic {
    name: "stablehlo.real_dynamic_slice",
    operands: 4,
    syntax: FUNCTIONAL,
    check: |op| {
        same_result_element(op, "C1")?;
        let rank = tensor(op, 0)?.rank();
        (1..4).try_for_each(|i| sizes(op, i, rank, "C2"))
    },
    evaluate: |_, operands| {
        let [start, limit, stride] = [1, 2, 3].map(|i| operands[i].to_ints().unwrap_or_default());
        Ok(SliceRanges { start, limit, stride }.within(&operands[0].shape)?.evaluate(&operands[0]))
    },
    expand: |op, b, known| {
        let (start, limit, stride) = (known[1].clone()?, known[2].clone()?, known[3].clone()?);
        let view = b.program.view(op);
        let ranges = SliceRanges { start, limit, stride }.within(&view.operand_tensor(0)?.shape).ok()?;
        if !view.result_tensor(0)?.shape.iter().enumerate().all(|(d, &size)| ranges.size(d) == size) {
            return None;
        }
        let value = b.program.view(op).operands()[0];
        Some(build::shape::slice(b, value, &ranges.start, &ranges.limit, &ranges.stride))
    },
    examples: &[
        "(%a: tensor<4x6xf32>) %s = stablehlo.constant dense<[1, 0]> : tensor<2xi64> %l = stablehlo.constant dense<[4, 6]> : tensor<2xi64> %d = stablehlo.constant dense<[1, 2]> : tensor<2xi64> %r = stablehlo.real_dynamic_slice %a, %s, %l, %d : (tensor<4x6xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x3xf32>",
    ],
};

/// `get_dimension_size`: <https://openxla.org/stablehlo/spec#get_dimension_size>
pub static GET_DIMENSION_SIZE: Dynamic = Dynamic {
    name: "stablehlo.get_dimension_size",
    operands: 1,
    syntax: DIM_SYNTAX,
    check: |op| {
        dim(op, "dimension", tensor(op, 0)?.rank(), "C1")?;
        let ty = result(op, 0)?;
        let fits = ty.rank() == 0 && ty.element == ElementType::I32;
        require!(fits, "expected tensor<i32> as result, found {} (O1)", show(op, ty));
        Ok(())
    },
    evaluate: |op, operands| {
        let dim = dim(op, "dimension", operands[0].shape.len(), "C1")?;
        Ok(Literal::scalar(ElementType::I32, Scalar::Int(operands[0].shape[dim].into())))
    },
    expand: |op, b, _| {
        let operand = b.program.view(op).operand_tensor(0)?;
        let size = *operand.shape.get(usize::try_from(b.program.view(op).int("dimension")?).ok()?)?;
        Some(build::scalar(b, ElementType::I32, Scalar::Int(size.into())))
    },
    examples: &[
        "(%a: tensor<4x6xf32>) %r = stablehlo.get_dimension_size %a, dim = 1 : (tensor<4x6xf32>) -> tensor<i32>",
    ],
};

/// `set_dimension_size`: keeps the first elements along a dimension, with their number given by an operand.
pub static SET_DIMENSION_SIZE: Dynamic = Dynamic {
    name: "stablehlo.set_dimension_size",
    operands: 2,
    syntax: DIM_SYNTAX,
    check: |op| {
        same_result_element(op, "C1")?;
        let (operand, size) = (tensor(op, 0)?, scalar(op, 1, "I2")?);
        require!(size.element == ElementType::I32, operand = 1, "expected tensor<i32>, found {} (I2)", show(op, size));
        dim(op, "dimension", operand.rank(), "C1")?;
        let rank = result(op, 0)?.rank();
        require!(rank == operand.rank(), "expected a result of rank {}, found {rank} (C1)", operand.rank());
        Ok(())
    },
    evaluate: |op, operands| {
        let (operand, size) = (&operands[0], operands[1].get(0).as_i64().unwrap_or(-1));
        let dim = dim(op, "dimension", operand.shape.len(), "C1")?;
        let mut limit = operand.shape.to_vec();
        if !(0..=limit[dim]).contains(&size) {
            return Err(EvalError::new(format!("size {size} is not in 0..={}", limit[dim])));
        }
        limit[dim] = size;
        let rank = limit.len();
        Ok(SliceRanges { start: vec![0; rank], limit, stride: vec![1; rank] }.evaluate(operand))
    },
    expand: |op, b, known| {
        let size = known[1].as_ref()?.first().copied()?;
        let (ty, value) = (op_result(b.program.view(op))?, b.program.view(op).operands()[0]);
        let dim = usize::try_from(b.program.view(op).int("dimension")?).ok()?;
        let whole = b.program.view(op).operand_tensor(0)?.shape[dim];
        (ty.shape[dim] == size && size <= whole).then(|| build::shape::slice_dim(b, value, dim, 0, size))
    },
    examples: &[
        "(%a: tensor<4x6xf32>) %s = stablehlo.constant dense<5> : tensor<i32> %r = stablehlo.set_dimension_size %a, %s, dim = 1 : (tensor<4x6xf32>, tensor<i32>) -> tensor<4x5xf32>",
    ],
};

/// Returns the elements of operand `i`, if it is a constant.
fn known(op: OpRef<'_>, i: usize) -> Option<Vec<i64>> {
    op.constant_operand(i).and_then(Literal::to_ints)
}

/// Checks that the result's sizes equal the elements of operand `i`, if both are known.
fn sizes_of_result(op: OpRef<'_>, i: usize, label: &str) -> Checked<()> {
    let Some(sizes) = known(op, i) else { return Ok(()) };
    result_is(op, &sizes, label)
}

fn result_is(op: OpRef<'_>, sizes: &[i64], label: &str) -> Checked<()> {
    let ty = result(op, 0)?;
    let fits = sizes.len() == ty.rank() && sizes.iter().zip(&ty.shape).all(|(&a, &b)| a >= 0 && (a == b || b < 0));
    require!(fits, "expected a result of sizes {sizes:?}, found {} ({label})", show(op, ty));
    Ok(())
}

/// Checks that operand `i` has `n` integers.
fn sizes(op: OpRef<'_>, i: usize, n: usize, label: &str) -> Checked<()> {
    let ty = tensor(op, i)?;
    let integers = ty.element.is_integer() && ty.element.class() != ElementClass::Other;
    let same = integers && ty.rank() == 1 && ty.shape[0] == n as i64;
    require!(same, operand = i, "expected {n} integers, found {} ({label})", show(op, ty));
    Ok(())
}

fn same_result_element(op: OpRef<'_>, label: &str) -> Checked<()> {
    let (operand, ty) = (tensor(op, 0)?, result(op, 0)?);
    let quantized = operand.element.class() == ElementClass::Other;
    let same = quantized || operand.element == ty.element;
    require!(same, "expected the elements of {}, found {} ({label})", show(op, operand), show(op, ty));
    Ok(())
}

fn op_result(op: OpRef<'_>) -> Option<TensorType> {
    op.result_tensor(0).cloned()
}

/// Returns the elements as sizes.
fn to_shape(literal: &Literal) -> EvalResult<Vec<i64>> {
    let sizes = literal.to_ints().filter(|s| s.iter().all(|&d| d >= 0));
    sizes.ok_or_else(|| EvalError::new(format!("{literal:?} is not a shape")))
}

impl OpDef for Dynamic {
    fn name(&self) -> &'static str {
        self.name
    }

    fn syntax(&self) -> Syntax {
        self.syntax
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        operand_count(op, self.operands)?;
        (self.check)(op)?;
        declared(op)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        if is_static(op) { Kernel::External(External::Reference) } else { Kernel::None }
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let value = (self.evaluate)(op, operands)?;
        let ty = result(op, 0)?;
        let fits =
            ty.shape.len() == value.shape.len() && ty.shape.iter().zip(&value.shape).all(|(&a, &b)| a == b || a < 0);
        if !fits {
            let value = value.ty();
            let (want, found) = (show(op, ty), show(op, &value));
            return Err(EvalError::new(format!("the operands imply the result shape {found}, not {want}")));
        }
        Ok(vec![value])
    }

    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        if !is_static(view) {
            return None;
        }
        let known: Vec<Option<Vec<i64>>> =
            (0..self.operands).map(|i| view.constant_operand(i).and_then(Literal::to_ints)).collect();
        (self.expand)(op, b, &known).map(|value| vec![value])
    }

    fn examples(&self) -> &'static [&'static str] {
        self.examples
    }
}
