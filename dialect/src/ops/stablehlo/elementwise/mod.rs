//! Pointwise ops: each result element is computed from the operand elements at the same position. Each op is a table
//! row; kernel, evaluation, sharding rule and, for `chlo`, the StableHLO form are derived from the scalar computation
//! ([`Body`]). Source: the StableHLO and CHLO specifications.

mod bitcast;
mod map;
mod quantize;
mod special;
mod table;

pub use bitcast::BitcastConvert;
pub use map::Map;
pub use quantize::{UNIFORM_DEQUANTIZE, UNIFORM_QUANTIZE};
pub use special::{CLAMP, COMPARE, CONVERT, REDUCE_PRECISION, SELECT};
pub use table::*;

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementClass, ElementType, Op, OpRef, TensorType, Value};
use crate::kernel::map;
use crate::kernel::{Body, Input, Kernel, Nest};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::support::constraint::{Checked, compatible, operand_count, require, show, tensor};
use crate::scalar::ScalarOp;
use crate::sharding::ShardingRule;
use crate::text::{Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[
    &BitcastConvert,
    &ABS,
    &ADD,
    &AND,
    &ATAN2,
    &CBRT,
    &CEIL,
    &COMPLEX,
    &COSINE,
    &COUNT_LEADING_ZEROS,
    &DIVIDE,
    &EXPONENTIAL,
    &EXPONENTIAL_MINUS_ONE,
    &FLOOR,
    &IMAG,
    &IS_FINITE,
    &LOG,
    &LOG_PLUS_ONE,
    &LOGISTIC,
    &MAXIMUM,
    &MINIMUM,
    &MULTIPLY,
    &NEGATE,
    &NOT,
    &OR,
    &POPCNT,
    &POWER,
    &REAL,
    &REMAINDER,
    &ROUND_NEAREST_AFZ,
    &ROUND_NEAREST_EVEN,
    &RSQRT,
    &SHIFT_LEFT,
    &SHIFT_RIGHT_ARITHMETIC,
    &SHIFT_RIGHT_LOGICAL,
    &SIGN,
    &SINE,
    &SQRT,
    &SUBTRACT,
    &TAN,
    &TANH,
    &XOR,
    &CLAMP,
    &COMPARE,
    &CONVERT,
    &REDUCE_PRECISION,
    &SELECT,
    &UNIFORM_QUANTIZE,
    &UNIFORM_DEQUANTIZE,
    &Map,
];

/// Classes of element types, as a bit set.
#[derive(Clone, Copy)]
pub struct Classes(u8);

impl Classes {
    const BOOL: u8 = 1;
    const SIGNED: u8 = 2;
    const UNSIGNED: u8 = 4;
    const FLOAT: u8 = 8;
    const COMPLEX: u8 = 16;
    /// All classes.
    pub const ANY: Classes = Classes(31);
    /// All except booleans.
    pub const NUMBER: Classes = Classes(Self::SIGNED | Self::UNSIGNED | Self::FLOAT | Self::COMPLEX);
    /// Integers and floats.
    pub const REAL_NUMBER: Classes = Classes(Self::SIGNED | Self::UNSIGNED | Self::FLOAT);
    /// Numbers that can be negative.
    pub const SIGNED_NUMBER: Classes = Classes(Self::SIGNED | Self::FLOAT | Self::COMPLEX);
    /// Integers.
    pub const INTEGER: Classes = Classes(Self::SIGNED | Self::UNSIGNED);
    /// Booleans and integers.
    pub const BITS: Classes = Classes(Self::BOOL | Self::SIGNED | Self::UNSIGNED);
    /// All except complex numbers.
    pub const NOT_COMPLEX: Classes = Classes(Self::BOOL | Self::SIGNED | Self::UNSIGNED | Self::FLOAT);
    /// Floats and complex numbers.
    pub const FLOATING: Classes = Classes(Self::FLOAT | Self::COMPLEX);
    /// Floats.
    pub const REAL: Classes = Classes(Self::FLOAT);
    /// Complex numbers.
    pub const COMPLEX_NUMBER: Classes = Classes(Self::COMPLEX);

    /// Returns whether `element` is in one of the classes. Types without a class (quantized) always are.
    pub fn has(self, element: ElementType) -> bool {
        let bit = match element.class() {
            ElementClass::Bool => Self::BOOL,
            ElementClass::Signed => Self::SIGNED,
            ElementClass::Unsigned => Self::UNSIGNED,
            ElementClass::Float => Self::FLOAT,
            ElementClass::Complex => Self::COMPLEX,
            ElementClass::Other => 31,
        };
        self.0 & bit != 0
    }

    /// Returns the classes in words: "integer or floating-point".
    fn text(self) -> String {
        let names: &[(u8, &str)] = &[
            (Self::BOOL, "boolean"),
            (Self::SIGNED | Self::UNSIGNED, "integer"),
            (Self::SIGNED, "signed integer"),
            (Self::FLOAT, "floating-point"),
            (Self::COMPLEX, "complex"),
        ];
        let mut left = self.0;
        let mut words = Vec::new();
        for &(bits, name) in names {
            if left & bits == bits {
                left &= !bits;
                words.push(name);
            }
        }
        words.join(" or ")
    }
}

/// The relation between the types of operands and results.
#[derive(Clone, Copy)]
pub enum Typing {
    /// All of the same type, with elements of these classes.
    Same(Classes),
    /// Operands of the same type, with elements of these classes; the result is i1.
    Bool(Classes),
    /// The result is real: one part of a complex operand.
    Part(Classes),
    /// A complex result of two real operands.
    Complex,
    /// Any other relation.
    Own(fn(OpRef<'_>) -> Checked<TensorType>),
}

/// The scalar computation.
#[derive(Clone, Copy)]
pub enum Compute {
    /// One operation on all operands.
    Scalar(ScalarOp),
    /// A body built per instance; `None` if the op isn't a loop nest that reads one element of each operand.
    Own(fn(OpRef<'_>) -> Option<Body>),
}

/// A pointwise op: one table row.
pub struct Pointwise {
    /// Its full name.
    pub name: &'static str,
    /// Number of operands.
    pub arity: usize,
    /// The syntax of its text.
    pub syntax: Syntax,
    /// The relation between the types.
    pub typing: Typing,
    /// The computation from the elements at one position.
    pub compute: Compute,
    /// Whether [`OpDef::expand`] rewrites it to StableHLO.
    pub expands: bool,
    /// Small instances for the tests that run over all ops.
    pub examples: &'static [&'static str],
}

/// `%a, %b : T`
pub const PLAIN: Syntax = Syntax::Keys(&[], TypeForm::SameOrFunctional);
/// `%a, %b : (T, T) -> T`
pub const FUNCTIONAL: Syntax = Syntax::Keys(&[], TypeForm::Functional);

impl Pointwise {
    /// Returns the scalar computation of one instance.
    pub fn body(&self, op: OpRef<'_>) -> Option<Body> {
        match self.compute {
            Compute::Own(body) => body(op),
            Compute::Scalar(scalar) => {
                let inputs: Option<Vec<ElementType>> =
                    (0..self.arity).map(|i| op.operand_tensor(i).map(|t| t.element)).collect();
                let body = Body::of(scalar, &inputs?, op.result_tensor(0)?.element);
                known(&body).then_some(body)
            }
        }
    }

    fn check(&self, op: OpRef<'_>) -> Checked<TensorType> {
        operand_count(op, self.arity)?;
        let accepts = match self.typing {
            Typing::Own(infer) => return infer(op),
            Typing::Same(c) | Typing::Bool(c) | Typing::Part(c) => c,
            Typing::Complex => Classes::REAL,
        };
        let first = tensor(op, 0)?;
        let mut ty = first.clone();
        for i in 0..self.arity {
            element(op, i, accepts, if i == 0 { "I1" } else { "I2" })?;
            ty = merge(op, i, ty, "C1")?;
            let operand = tensor(op, i)?;
            // Quantized operands may have different types.
            let quantized = [operand, first].iter().any(|t| t.element.class() == ElementClass::Other);
            let fits = quantized || operand.element == first.element;
            let (want, found) = (show(op, first), show(op, operand));
            require!(fits, operand = i, "expected {want} as the first operand's, found {found} (C1)");
        }
        let part = ty.element.part();
        let label = if let Typing::Complex | Typing::Part(_) = self.typing { "C2" } else { "C1" };
        ty.element = match self.typing {
            Typing::Bool(_) => ElementType::I1,
            Typing::Part(_) => part,
            Typing::Complex => match part {
                ElementType::F32 => ElementType::C64,
                ElementType::F64 => ElementType::C128,
                _ => {
                    let found = show(op, first);
                    return Err(Problem::operand(
                        0,
                        format!("expected elements of type f32 or f64, found {found} (I1)"),
                    ));
                }
            },
            _ => ty.element,
        };
        declared(op, ty, label)
    }
}

/// Returns whether the arithmetic supports all types in the body.
pub(crate) fn known(body: &Body) -> bool {
    let known = |ty: ElementType| ty.class() != ElementClass::Other;
    body.inputs.iter().all(|&ty| known(ty)) && body.insts.iter().all(|inst| known(inst.ty()))
}

/// Checks that operand `i` is a tensor with elements of these classes.
pub(crate) fn element(op: OpRef<'_>, i: usize, accepts: Classes, label: &str) -> Checked<()> {
    let ty = tensor(op, i)?;
    let fits = accepts.has(ty.element);
    let found = show(op, ty);
    require!(fits, operand = i, "expected elements of {} type, found {found} ({label})", accepts.text());
    Ok(())
}

/// Returns `ty` with its dynamic sizes replaced by those of operand `i`, which has the same shape.
pub(crate) fn merge(op: OpRef<'_>, i: usize, mut ty: TensorType, label: &str) -> Checked<TensorType> {
    let other = tensor(op, i)?;
    let (want, found) = (show(op, &ty), show(op, other));
    require!(compatible(&ty.shape, &other.shape), operand = i, "expected the shape of {want}, found {found} ({label})");
    for (d, &size) in ty.shape.iter_mut().zip(&other.shape) {
        if *d < 0 {
            *d = size;
        }
    }
    Ok(ty)
}

/// Returns `ty`, or the declared result type if it agrees apart from dynamic sizes and unclassified elements.
pub(crate) fn declared(op: OpRef<'_>, ty: TensorType, label: &str) -> Checked<TensorType> {
    let Some(declared) = op.result_tensor(0) else { return Ok(ty) };
    let quantized = [declared.element, ty.element].iter().any(|e| e.class() == ElementClass::Other);
    let fits = compatible(&ty.shape, &declared.shape) && (quantized || declared.element == ty.element);
    require!(fits, "expected result type {}, found {} ({label})", show(op, &ty), show(op, declared));
    Ok(if quantized || !ty.is_static() || !declared.is_static() { declared.clone() } else { ty })
}

/// Returns the nest of an op whose operands have the result's shape or rank 0.
pub(crate) fn nest(op: OpRef<'_>, body: Body) -> Option<Nest> {
    let ty = op.result_tensor(0).filter(|t| t.is_static())?;
    let rank = ty.rank();
    let input = |i: usize| Input::at(i, 0..op.operand_tensor(i).map_or(0, TensorType::rank).min(rank));
    let inputs = (0..body.inputs.len()).map(input).collect();
    Some(Nest::over(&ty.shape, inputs, body))
}

impl OpDef for Pointwise {
    fn name(&self) -> &'static str {
        self.name
    }

    fn syntax(&self) -> Syntax {
        self.syntax
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        Ok(vec![self.check(op)?.into()])
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        self.body(op).and_then(|body| nest(op, body)).map_or(Kernel::None, Kernel::Nest)
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let rank = |i: usize| op.operand_tensor(i).map_or(0, TensorType::rank);
        let ranks: Vec<usize> = (0..op.operands().len()).map(rank).collect();
        let ty = op.result_tensor(0)?;
        Some(ShardingRule::pointwise(&ranks, &[ty.rank()], &ty.shape))
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let refuse = || EvalError::new(format!("{} can't be evaluated on elements of these types", self.name));
        let ty = op.result_tensor(0).ok_or_else(refuse)?;
        let body = self.body(op).ok_or_else(refuse)?;
        let shape = operands.iter().map(|o| &o.shape).max_by_key(|s| s.len()).unwrap_or(&ty.shape);
        Ok(vec![map(&body, shape, operands)])
    }

    fn examples(&self) -> &'static [&'static str] {
        self.examples
    }

    fn elementwise(&self) -> bool {
        true
    }

    fn expand(&self, op: Op, build: &mut Builder<'_>) -> Option<Vec<Value>> {
        if !self.expands {
            return None;
        }
        let view = build.program.view(op);
        let body = self.body(view)?;
        let operands = view.operands().to_vec();
        let shape = view.result_tensor(0).filter(|t| t.is_static())?.shape.clone();
        crate::ops::build::body(build, &body, &operands, &shape)
    }
}
