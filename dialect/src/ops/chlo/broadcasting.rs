//! CHLO's pointwise ops over operands of different shapes: a dimension of size 1 is repeated, and missing leading
//! dimensions are added. Otherwise they compute the same as the op on equal shapes.
//!
//! Source: <https://openxla.org/stablehlo/generated/chlo>.

use super::elementwise::{CHLO_NEXT_AFTER, CHLO_POLYGAMMA, CHLO_ZETA};
use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementClass, Op, OpRef, Shape, TensorType, Value};
use crate::kernel::{Body, Index, Input, Kernel, Nest};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef};
use crate::ops::build;
use crate::ops::stablehlo::elementwise::{
    ADD, AND, ATAN2, COMPLEX, DIVIDE, MAXIMUM, MINIMUM, MULTIPLY, OR, POWER, REMAINDER, SHIFT_LEFT,
    SHIFT_RIGHT_ARITHMETIC, SHIFT_RIGHT_LOGICAL, SUBTRACT, XOR,
};
use crate::ops::stablehlo::elementwise::{COMPARE, FUNCTIONAL, Pointwise, SELECT};
use crate::ops::support::constraint::{
    Checked, declared, dims, is_static, operand_count, require, result, show, tensor,
};
use crate::text::Syntax;

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[
    &BROADCAST_ADD,
    &BROADCAST_AND,
    &BROADCAST_ATAN2,
    &BROADCAST_COMPARE,
    &BROADCAST_COMPLEX,
    &BROADCAST_DIVIDE,
    &BROADCAST_MAXIMUM,
    &BROADCAST_MINIMUM,
    &BROADCAST_MULTIPLY,
    &BROADCAST_NEXT_AFTER,
    &BROADCAST_OR,
    &BROADCAST_POLYGAMMA,
    &BROADCAST_POWER,
    &BROADCAST_REMAINDER,
    &BROADCAST_SELECT,
    &BROADCAST_SHIFT_LEFT,
    &BROADCAST_SHIFT_RIGHT_ARITHMETIC,
    &BROADCAST_SHIFT_RIGHT_LOGICAL,
    &BROADCAST_SUBTRACT,
    &BROADCAST_XOR,
    &BROADCAST_ZETA,
];

/// One broadcasting op: a row of the table.
pub struct Broadcasting {
    name: &'static str,
    /// The op on equal shapes.
    inner: &'static Pointwise,
    examples: &'static [&'static str],
}

macro_rules! rows {
    ($($id:ident $name:literal $inner:ident $element:literal $result:literal $attrs:literal;)*) => {
        $(
            #[doc = concat!("`", $name, "`")]
            pub static $id: Broadcasting = Broadcasting {
                name: $name,
                inner: &$inner,
                examples: &[concat!(
                    "(%a: tensor<4x1x", $element, ">, %b: tensor<3x", $element, ">) %r = ", $name, " %a, %b", $attrs,
                    " : (tensor<4x1x", $element, ">, tensor<3x", $element, ">) -> tensor<4x3x", $result, ">"
                )],
            };
        )*
    };
}

rows! {
    BROADCAST_ADD "chlo.broadcast_add" ADD "f32" "f32" "";
    BROADCAST_AND "chlo.broadcast_and" AND "i32" "i32" "";
    BROADCAST_ATAN2 "chlo.broadcast_atan2" ATAN2 "f32" "f32" "";
    BROADCAST_COMPARE "chlo.broadcast_compare" COMPARE "f32" "i1" " {comparison_direction = #chlo<comparison_direction LT>}";
    BROADCAST_COMPLEX "chlo.broadcast_complex" COMPLEX "f32" "complex<f32>" "";
    BROADCAST_DIVIDE "chlo.broadcast_divide" DIVIDE "f32" "f32" "";
    BROADCAST_MAXIMUM "chlo.broadcast_maximum" MAXIMUM "i32" "i32" "";
    BROADCAST_MINIMUM "chlo.broadcast_minimum" MINIMUM "i32" "i32" "";
    BROADCAST_MULTIPLY "chlo.broadcast_multiply" MULTIPLY "f32" "f32" " {broadcast_dimensions = array<i64: 1>}";
    BROADCAST_NEXT_AFTER "chlo.broadcast_next_after" CHLO_NEXT_AFTER "f32" "f32" "";
    BROADCAST_OR "chlo.broadcast_or" OR "i1" "i1" "";
    BROADCAST_POLYGAMMA "chlo.broadcast_polygamma" CHLO_POLYGAMMA "f64" "f64" "";
    BROADCAST_POWER "chlo.broadcast_power" POWER "i32" "i32" "";
    BROADCAST_REMAINDER "chlo.broadcast_remainder" REMAINDER "i32" "i32" "";
    BROADCAST_SHIFT_LEFT "chlo.broadcast_shift_left" SHIFT_LEFT "ui8" "ui8" "";
    BROADCAST_SHIFT_RIGHT_ARITHMETIC "chlo.broadcast_shift_right_arithmetic" SHIFT_RIGHT_ARITHMETIC "i32" "i32" "";
    BROADCAST_SHIFT_RIGHT_LOGICAL "chlo.broadcast_shift_right_logical" SHIFT_RIGHT_LOGICAL "i32" "i32" "";
    BROADCAST_SUBTRACT "chlo.broadcast_subtract" SUBTRACT "f32" "f32" "";
    BROADCAST_XOR "chlo.broadcast_xor" XOR "i32" "i32" "";
    BROADCAST_ZETA "chlo.broadcast_zeta" CHLO_ZETA "f64" "f64" "";
}

/// `chlo.broadcast_select`
pub static BROADCAST_SELECT: Broadcasting = Broadcasting {
    name: "chlo.broadcast_select",
    inner: &SELECT,
    examples: &[
        "(%p: tensor<3xi1>, %a: tensor<4x1xf32>, %b: tensor<f32>) %r = chlo.broadcast_select %p, %a, %b : (tensor<3xi1>, tensor<4x1xf32>, tensor<f32>) -> tensor<4x3xf32>",
    ],
};

/// Returns the dimension of a result of `rank` for each of operand `i`'s dimensions.
fn places(op: OpRef<'_>, i: usize, rank: usize) -> Checked<Vec<usize>> {
    let own = tensor(op, i)?.rank();
    match op.ints("broadcast_dimensions").filter(|_| own < rank) {
        Some(to) => {
            let to = dims(&to, rank, "broadcast_dimensions", "C1")?;
            let ascending = to.len() == own && to.windows(2).all(|w| w[0] < w[1]);
            require!(ascending, "expected {own} ascending broadcast_dimensions, found {to:?}");
            Ok(to)
        }
        None => {
            require!(own <= rank, operand = i, "expected at most {rank} dimensions, found {own}");
            Ok((rank - own..rank).collect())
        }
    }
}

impl Broadcasting {
    /// Returns the result's shape, and the result's dimension for each of the operands' dimensions.
    fn shape(&self, op: OpRef<'_>, types: &[TensorType]) -> Checked<(Shape, Vec<Vec<usize>>)> {
        let rank = types.iter().map(TensorType::rank).max().unwrap_or(0);
        let mut shape = Shape::from_elem(1, rank);
        let mut all = Vec::new();
        for (i, ty) in types.iter().enumerate() {
            let to = places(op, i, rank)?;
            for (&size, &d) in ty.shape.iter().zip(&to) {
                let have = &mut shape[d];
                let fits = *have == 1 || size == 1 || *have == size || *have < 0 || size < 0;
                require!(fits, operand = i, "expected size 1 or {have} for dimension {d} of the result, found {size}");
                if *have == 1 || (*have < 0 && size > 1) {
                    *have = size;
                }
            }
            all.push(to);
        }
        Ok((shape, all))
    }

    fn nest(&self, op: OpRef<'_>, types: &[TensorType]) -> Option<Nest> {
        let (shape, places) = self.shape(op, types).ok()?;
        let body: Body = self.inner.body(op)?;
        let input = |i: usize| {
            let index = types[i].shape.iter().zip(&places[i]).map(|(&size, &d)| match size {
                1 if shape[d] != 1 => Index::Const(0),
                _ => Index::Loop(d),
            });
            Input::of(i, index)
        };
        let inputs = (0..types.len()).map(input).collect();
        Some(Nest::over(&shape, inputs, body))
    }
}

fn types(op: OpRef<'_>) -> Vec<TensorType> {
    op.operand_types().filter_map(|t| t.tensor().cloned()).collect()
}

impl OpDef for Broadcasting {
    fn name(&self) -> &'static str {
        self.name
    }

    fn syntax(&self) -> Syntax {
        FUNCTIONAL
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        operand_count(op, self.inner.arity)?;
        let types = types(op);
        let first = tensor(op, self.inner.arity - 2)?;
        for i in self.inner.arity - 2..self.inner.arity {
            let ty = tensor(op, i)?;
            let quantized = [ty, first].iter().any(|t| t.element.class() == ElementClass::Other);
            let fits = quantized || ty.element == first.element;
            require!(fits, operand = i, "expected the elements of {}, found {}", show(op, first), show(op, ty));
        }
        let (shape, _) = self.shape(op, &types)?;
        if !is_static(op) {
            return declared(op);
        }
        let ty = result(op, 0)?;
        let want = TensorType::new(&shape, ty.element);
        require!(*ty == want, "expected a result of type {}, found {}", show(op, &want), show(op, ty));
        let quantized = types.iter().any(|t| t.element.class() == ElementClass::Other);
        let fits = quantized || self.inner.body(op).is_some();
        require!(fits, "expected elements that {} is defined for", self.inner.name);
        Ok(vec![want.into()])
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        self.nest(op, &types(op)).filter(|_| is_static(op)).map_or(Kernel::None, Kernel::Nest)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let types: Vec<TensorType> = operands.iter().map(Literal::ty).collect();
        self.shape(op, &types)?;
        let nest = self.nest(op, &types).ok_or_else(|| EvalError::new("it can't be evaluated on these elements"))?;
        Ok(nest.eval(operands))
    }

    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let types = types(view);
        let (shape, places) = self.shape(view, &types).ok().filter(|_| is_static(view))?;
        let body = self.inner.body(view).filter(build::is_expressible)?;
        let operands = view.operands().to_vec();
        let wide = |(i, v): (usize, Value)| {
            let to: Vec<i64> = places[i].iter().map(|&d| d as i64).collect();
            if types[i].shape == shape { v } else { build::shape::broadcast_in_dim(b, v, &shape, &to) }
        };
        let operands: Vec<Value> = operands.into_iter().enumerate().map(wide).collect();
        build::body(b, &body, &operands, &shape)
    }

    fn examples(&self) -> &'static [&'static str] {
        self.examples
    }
}
