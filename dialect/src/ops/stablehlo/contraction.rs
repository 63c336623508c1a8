//! Matrix products: dot_general and the deprecated dot. [`DotDims`] represents both.
//!
//! The nest runs over batching, left free and right free dimensions, then over the contracted ones. Source: the
//! StableHLO specification; sharding rules as Shardy registers them.

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{AttrData, ElementType, Op, OpRef, Shape, TensorType, TypeData, Value};
use crate::kernel::{Body, Init, Input, Kernel, Nest};
use crate::literal::Literal;
use crate::op::{ExplicitReshard, Inferred, OpDef, Problem};
use crate::ops::build;
use crate::ops::support::constraint::{
    Checked, agreeing, dims, is_static, one, operand_count, others, require, row_major, tensor, unique, walk,
};
use crate::ops::support::products::{Offsets, Products};
use crate::scalar::Scalar;
use crate::sharding::{FactorKind, ReductionKind, ShardingRule};
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&DotGeneral, &Dot];

/// `dot_general`: <https://openxla.org/stablehlo/spec#dot_general>
pub struct DotGeneral;
/// `dot`: the product over the last dimension of the left and the first of the right operand.
/// <https://openxla.org/stablehlo/spec#deprecated-operations>
pub struct Dot;

/// The attribute with the dimensions of a `dot_general`.
const DIMS: &str = "dot_dimension_numbers";

/// The role of each dimension of a product's two operands. The result's dimensions are the batching ones, then the left
/// free ones, then the right free ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DotDims {
    /// Left batching dimensions, paired with `rhs_batch`.
    pub lhs_batch: Vec<usize>,
    /// Right batching dimensions, paired with `lhs_batch`.
    pub rhs_batch: Vec<usize>,
    /// Left dimensions that are multiplied and summed with `rhs_contract`.
    pub lhs_contract: Vec<usize>,
    /// Right dimensions that are multiplied and summed with `lhs_contract`.
    pub rhs_contract: Vec<usize>,
    /// The other left dimensions, ascending.
    pub lhs_free: Vec<usize>,
    /// The other right dimensions, ascending.
    pub rhs_free: Vec<usize>,
}

impl DotDims {
    /// Returns the dimensions of a product; `None` for any other op and if its constraints are violated.
    fn of(op: OpRef<'_>) -> Option<Self> {
        let dims = match op.name() {
            "stablehlo.dot_general" => Self::general(op),
            "stablehlo.dot" => Self::plain(op),
            _ => return None,
        };
        dims.ok()
    }

    fn general(op: OpRef<'_>) -> Checked<Self> {
        operand_count(op, 2)?;
        require!(matches!(op.attr(DIMS), Some(AttrData::Struct(..))), "expected an attribute '{DIMS}'");
        let (lhs, rhs) = (tensor(op, 0)?, tensor(op, 1)?);
        let list = |name: &str, rank, label| dims(&op.field_ints(DIMS, name), rank, name, label);
        let lhs_batch = list("lhs_batching_dimensions", lhs.rank(), "C5")?;
        let lhs_contract = list("lhs_contracting_dimensions", lhs.rank(), "C6")?;
        let rhs_batch = list("rhs_batching_dimensions", rhs.rank(), "C7")?;
        let rhs_contract = list("rhs_contracting_dimensions", rhs.rank(), "C8")?;
        Self::checked(op, [lhs_batch, rhs_batch, lhs_contract, rhs_contract])
    }

    fn plain(op: OpRef<'_>) -> Checked<Self> {
        operand_count(op, 2)?;
        let rank = |i| -> Checked<usize> {
            let rank = tensor(op, i)?.rank();
            let ok = (1..=2).contains(&rank);
            require!(ok, operand = i, "expected a vector or a matrix, found rank {rank}");
            Ok(rank)
        };
        rank(1)?;
        Self::checked(op, [vec![], vec![], vec![rank(0)? - 1], vec![0]])
    }

    fn checked(op: OpRef<'_>, dims: [Vec<usize>; 4]) -> Checked<Self> {
        let [lhs_batch, rhs_batch, lhs_contract, rhs_contract] = dims;
        let (lhs, rhs) = (tensor(op, 0)?, tensor(op, 1)?);
        let pairs = [
            (&lhs_batch, &rhs_batch, "batching", "C1", "C9"),
            (&lhs_contract, &rhs_contract, "contracting", "C2", "C10"),
        ];
        for (a, b, what, count, size) in pairs {
            let fits = a.len() == b.len();
            require!(fits, "expected as many {what} dimensions on both sides, found {a:?} and {b:?} ({count})");
            for (&l, &r) in a.iter().zip(b) {
                let (m, n) = (lhs.shape[l], rhs.shape[r]);
                let fits = m == n || m < 0 || n < 0;
                require!(fits, operand = 1, "expected {what} dimension {r} to have size {m}, found {n} ({size})");
            }
        }
        let all = |a: &[usize], b: &[usize]| [a, b].concat();
        let (lhs_taken, rhs_taken) = (all(&lhs_batch, &lhs_contract), all(&rhs_batch, &rhs_contract));
        unique(&lhs_taken, "left batching and contracting dimensions", "C3")?;
        unique(&rhs_taken, "right batching and contracting dimensions", "C4")?;
        let (lhs_free, rhs_free) = (others(lhs.rank(), &lhs_taken), others(rhs.rank(), &rhs_taken));
        Ok(Self { lhs_batch, rhs_batch, lhs_contract, rhs_contract, lhs_free, rhs_free })
    }

    /// Returns the shape of the result (C12).
    pub fn result_shape(&self, lhs: &[i64], rhs: &[i64]) -> Shape {
        let left = self.lhs_batch.iter().chain(&self.lhs_free).map(|&d| lhs[d]);
        left.chain(self.rhs_free.iter().map(|&d| rhs[d])).collect()
    }

    /// Returns the loop over each dimension of the left and of the right operand; the loops are the result's
    /// dimensions, then the contracted ones.
    pub fn loops(&self) -> (Vec<usize>, Vec<usize>) {
        let (batch, left, right) = (self.lhs_batch.len(), self.lhs_free.len(), self.rhs_free.len());
        let contracted = batch + left + right;
        let mut lhs = vec![0; batch + left + self.lhs_contract.len()];
        let mut rhs = vec![0; batch + right + self.rhs_contract.len()];
        let set = |lists: [(&[usize], usize); 3], loops: &mut Vec<usize>| {
            for (list, first) in lists {
                list.iter().enumerate().for_each(|(i, &d)| loops[d] = first + i);
            }
        };
        set([(&self.lhs_batch, 0), (&self.lhs_free, batch), (&self.lhs_contract, contracted)], &mut lhs);
        set([(&self.rhs_batch, 0), (&self.rhs_free, batch + left), (&self.rhs_contract, contracted)], &mut rhs);
        (lhs, rhs)
    }
}

fn infer(op: OpRef<'_>, dims: Checked<DotDims>) -> Inferred {
    let dims = dims?;
    check_precision(op, "C11")?;
    let (lhs, rhs) = (tensor(op, 0)?, tensor(op, 1)?);
    // (C13) is relaxed: operands may differ, and the declared result determines the result's element type.
    let element = op.result_tensor(0).map_or(lhs.element, |t| t.element);
    let ty = TensorType::new(&dims.result_shape(&lhs.shape, &rhs.shape), element);
    if is_static(op) { one(ty) } else { agreeing(op, &[ty], "C12") }
}

/// Checks `precision_config`, and `algorithm` if present; `count` is the label for the number of values.
pub(crate) fn check_precision(op: OpRef<'_>, count: &str) -> Checked<()> {
    let precision = match op.attr("precision_config") {
        Some(AttrData::Array(precision)) => &precision[..],
        _ => &[],
    };
    // An absent list is sometimes printed as an empty list.
    let fits = precision.len() <= 2;
    require!(fits, "expected at most 2 values of precision_config, found {} ({count})", precision.len());
    let default = precision.iter().all(|&p| op.program.attr_data(p).as_enum() == Some("DEFAULT"));
    let fits = default || op.attr("algorithm").is_none();
    require!(fits, "expected precision_config to be DEFAULT where an algorithm is given (C21)");
    if let Some(name) = summed_in(op).filter(|&name| name != "tf32" && ElementType::from_text(name).is_none()) {
        return Err(Problem::new(format!("products can't be summed in {name}; f32 and f64 are possible")));
    }
    for (name, label) in
        [("lhs_component_count", "C22"), ("rhs_component_count", "C23"), ("num_primitive_operations", "C24")]
    {
        if let Some(n) = op.field("algorithm", name).and_then(AttrData::as_int) {
            require!(n > 0, "expected a positive {name}, found {n} ({label})");
        }
    }
    Ok(())
}

/// Returns the name of the type in which the algorithm of a product sums.
fn summed_in(op: OpRef<'_>) -> Option<&str> {
    match op.field("algorithm", "accumulation_type")? {
        AttrData::Opaque(word) => Some(word),
        AttrData::Type(ty) => match op.program.type_data(*ty) {
            TypeData::Scalar(element) => element.text(),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether a product of narrower floats has an algorithm that sums in f64. Other algorithms require no more
/// than the sums in f32 that every product of floats has, even if they would round before.
fn wants_double(op: OpRef<'_>) -> bool {
    let types = [op.operand_tensor(0), op.operand_tensor(1), op.result_tensor(0)].map(|t| t.map(|t| t.element));
    summed_in(op) == Some("f64")
        && types.iter().all(|t| t.is_some_and(ElementType::is_float))
        && types.iter().any(|&t| t != Some(ElementType::F64))
}

fn kernel(op: OpRef<'_>) -> Kernel {
    let (Some(dims), true) = (DotDims::of(op), is_static(op) && !wants_double(op)) else { return Kernel::None };
    let (Some(lhs), Some(rhs), Some(result)) = (op.operand_tensor(0), op.operand_tensor(1), op.result_tensor(0)) else {
        return Kernel::None;
    };
    let (lhs_loops, rhs_loops) = dims.loops();
    let mut loops = dims.result_shape(&lhs.shape, &rhs.shape);
    let parallel = loops.len();
    loops.extend(dims.lhs_contract.iter().map(|&d| lhs.shape[d]));
    let inputs = vec![Input::at(0, lhs_loops), Input::at(1, rhs_loops)];
    let reduced = loops.len() > parallel;
    let body = Body::product(lhs.element, rhs.element, result.element, reduced);
    let init = if reduced { vec![Init::Const(Scalar::zero(result.element))] } else { Vec::new() };
    Kernel::Nest(Nest { loops: loops.iter().copied().collect(), parallel, inputs, init, body })
}

fn sharding_rule(op: OpRef<'_>) -> Option<ShardingRule> {
    let dims = DotDims::of(op)?;
    let (lhs, rhs) = (op.operand_tensor(0)?, op.operand_tensor(1)?);
    let mut rule = ShardingRule::of_op(op);
    let mut out = 0..;
    for (&l, &r) in dims.lhs_batch.iter().zip(&dims.rhs_batch) {
        rule.add(lhs.shape[l], FactorKind::PassThrough, &[(0, l), (1, r)], &[(0, out.next()?)]);
    }
    for &l in &dims.lhs_free {
        rule.add(lhs.shape[l], FactorKind::PassThrough, &[(0, l)], &[(0, out.next()?)]);
    }
    for &r in &dims.rhs_free {
        rule.add(rhs.shape[r], FactorKind::PassThrough, &[(1, r)], &[(0, out.next()?)]);
    }
    for (&l, &r) in dims.lhs_contract.iter().zip(&dims.rhs_contract) {
        rule.add(lhs.shape[l], FactorKind::Reduction, &[(0, l), (1, r)], &[]);
    }
    Some(rule)
}

fn evaluate(op: OpRef<'_>, operands: &[Literal]) -> EvalResult<Vec<Literal>> {
    let dims = DotDims::of(op).ok_or_else(|| EvalError::new("the dimension numbers don't fit the operands"))?;
    let (lhs, rhs) = (&operands[0], &operands[1]);
    let element = op.result_tensor(0).map_or(lhs.element, |t| t.element);
    let shape = dims.result_shape(&lhs.shape, &rhs.shape);
    let (lhs_steps, rhs_steps) = (row_major(&lhs.shape), row_major(&rhs.shape));
    let left = |dims: &[usize]| positions(&dims.iter().map(|&d| lhs.shape[d]).collect::<Shape>(), &lhs_steps, dims);
    let right = |dims: &[usize]| positions(&dims.iter().map(|&d| rhs.shape[d]).collect::<Shape>(), &rhs_steps, dims);
    let both = |l: &[usize], r: &[usize]| left(l).into_iter().zip(right(r)).collect();
    let offsets = Offsets {
        batch: both(&dims.lhs_batch, &dims.rhs_batch),
        rows: left(&dims.lhs_free),
        columns: right(&dims.rhs_free),
        inner: both(&dims.lhs_contract, &dims.rhs_contract),
    };
    let products = Products::new(if wants_double(op) { ElementType::F64 } else { element }, offsets.inner.len());
    let values = products.all_floats(lhs, rhs, &offsets).unwrap_or_else(|| products.all(element, lhs, rhs, &offsets));
    Ok(vec![Literal::from_scalars(element, &shape, values)])
}

/// Returns the positions of all indices along some dimensions, which have these sizes.
fn positions(sizes: &[i64], steps: &[usize], dims: &[usize]) -> Vec<usize> {
    let steps: Vec<usize> = dims.iter().map(|&d| steps[d]).collect();
    let mut found = Vec::new();
    walk(sizes, &steps, 0, &mut |at| found.push(at));
    found
}

impl OpDef for DotGeneral {
    fn name(&self) -> &'static str {
        "stablehlo.dot_general"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&super::syntax::DOT_GENERAL)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        infer(op, DotDims::general(op))
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        kernel(op)
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        sharding_rule(op)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        evaluate(op, operands)
    }

    /// Replaces a product summed in f64 by a product of f64.
    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let element = view.result_tensor(0)?.element;
        let operands = view.operands().to_vec();
        if !wants_double(view) || !is_static(view) {
            return None;
        }
        let [lb, rb, lc, rc] = ["lhs_batching", "rhs_batching", "lhs_contracting", "rhs_contracting"]
            .map(|name| view.field_ints(DIMS, &format!("{name}_dimensions")));
        let (lhs, rhs) =
            (build::convert(b, operands[0], ElementType::F64), build::convert(b, operands[1], ElementType::F64));
        let sum = build::shape::dot_general(b, (lhs, rhs), (&lb, &rb), (&lc, &rc), ElementType::F64, &[]);
        Some(vec![build::convert(b, sum, element)])
    }

    fn explicit_reshard(&self) -> ExplicitReshard {
        ExplicitReshard::Result
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6xf32>, %b: tensor<6x3xf32>) %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f64, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>",
            "(%a: tensor<4x6xf32>, %b: tensor<6x8xf32>) %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>",
            "(%a: tensor<2x4x6xi32>, %b: tensor<6x2x3xi32>) %r = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [2] x [0], precision = [DEFAULT, HIGHEST] : (tensor<2x4x6xi32>, tensor<6x2x3xi32>) -> tensor<2x4x3xi32>",
            "(%a: tensor<2x3x4xbf16>, %b: tensor<4x3x2xbf16>) %r = stablehlo.dot_general %a, %b, contracting_dims = [1, 2] x [1, 0] : (tensor<2x3x4xbf16>, tensor<4x3x2xbf16>) -> tensor<2x2xf32>",
            "(%a: tensor<2xf32>, %b: tensor<4xf32>) %r = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<2xf32>, tensor<4xf32>) -> tensor<2x4xf32>",
        ]
    }

    fn reduction(&self, _: OpRef<'_>) -> Option<ReductionKind> {
        Some(ReductionKind::Sum)
    }
}

impl OpDef for Dot {
    fn name(&self) -> &'static str {
        "stablehlo.dot"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Pieces(&[
            Piece::Operands,
            Piece::Optional(
                "precision_config",
                &[
                    Piece::Token(","),
                    Piece::Token("precision"),
                    Piece::Token("="),
                    Piece::Enums("precision_config", "precision"),
                ],
            ),
            Piece::AttrDict,
            Piece::Types(TypeForm::Functional),
        ])
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        infer(op, DotDims::plain(op))
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        kernel(op)
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        sharding_rule(op)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        evaluate(op, operands)
    }

    fn explicit_reshard(&self) -> ExplicitReshard {
        ExplicitReshard::Result
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6xf32>, %b: tensor<6x2xf32>) %r = stablehlo.dot %a, %b, precision = [HIGH, DEFAULT] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>",
            "(%a: tensor<4xi32>, %b: tensor<4xi32>) %r = stablehlo.dot %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<i32>",
        ]
    }

    fn reduction(&self, _: OpRef<'_>) -> Option<ReductionKind> {
        Some(ReductionKind::Sum)
    }
}
