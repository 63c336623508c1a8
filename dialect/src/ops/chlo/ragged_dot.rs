//! `chlo.ragged_dot`: a matrix product with one dimension of the left operand divided into groups of given sizes.
//!
//! If that dimension is free, each group's rows are multiplied by the group's own matrix; if it is contracted, each
//! group has its own result; if it is a batch dimension, this is an ordinary product. Source:
//! <https://openxla.org/stablehlo/generated/chlo#chloragged_dot_chloraggeddotop>.

use crate::eval::{Context, EvalResult};
use crate::ir::{AttrData, OpRef, Shape, TensorType};
use crate::kernel::{External, Kernel};
use crate::literal::{Indices, Literal};
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::support::constraint::{
    Checked, compatible, declared, dims, is_static, one, operand_count, others, require, show, tensor, unique,
};
use crate::ops::support::products::Products;
use crate::scalar::Scalar;
use crate::sharding::{FactorKind, ReductionKind, ShardingRule};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&RaggedDot];

/// `chlo.ragged_dot`
pub struct RaggedDot;

const NUMBERS: &str = "ragged_dot_dimension_numbers";

/// The role of the ragged dimension in the product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ragged {
    /// Each group's rows are multiplied by the group's own matrix.
    Free,
    /// Each group has its own result.
    Contracted,
    /// An ordinary product.
    Batch,
}

/// The role of each dimension of a ragged product. Dimensions of the result are the groups, if each has its own result,
/// then batch, left free and right free dimensions.
#[derive(Clone, PartialEq, Debug)]
pub struct RaggedDims {
    /// Batch dimensions of the left operand.
    pub lhs_batch: Vec<usize>,
    /// Batch dimensions of the right operand, in the same order.
    pub rhs_batch: Vec<usize>,
    /// Contracted dimensions of the left operand.
    pub lhs_contract: Vec<usize>,
    /// Contracted dimensions of the right operand, in the same order.
    pub rhs_contract: Vec<usize>,
    /// The other dimensions of the left operand.
    pub lhs_free: Vec<usize>,
    /// The other dimensions of the right operand, without the group dimension.
    pub rhs_free: Vec<usize>,
    /// The left dimension that is divided into groups.
    pub ragged: usize,
    /// Its role in the product.
    pub kind: Ragged,
    /// The right dimension that numbers the groups, if the ragged dimension is free.
    pub group: Option<usize>,
    /// The left dimensions along which group sizes differ, if group sizes have rank above one.
    pub prefix: Vec<usize>,
}

impl RaggedDims {
    fn of(op: OpRef<'_>) -> Checked<Self> {
        operand_count(op, 3)?;
        let (lhs, rhs, sizes) = (tensor(op, 0)?, tensor(op, 1)?, tensor(op, 2)?);
        require!(matches!(op.attr(NUMBERS), Some(AttrData::Struct(..))), "expected an attribute '{NUMBERS}'");
        let list = |name: &str, rank| dims(&op.field_ints(NUMBERS, name), rank, name, "I4");
        let lhs_batch = list("lhs_batching_dimensions", lhs.rank())?;
        let rhs_batch = list("rhs_batching_dimensions", rhs.rank())?;
        let lhs_contract = list("lhs_contracting_dimensions", lhs.rank())?;
        let rhs_contract = list("rhs_contracting_dimensions", rhs.rank())?;
        let ragged = list("lhs_ragged_dimensions", lhs.rank())?;
        let group = list("rhs_group_dimensions", rhs.rank())?;
        let &[ragged] = &ragged[..] else {
            return Err(Problem::new(format!(
                "expected one ragged dimension of the left operand, found {}",
                ragged.len()
            )));
        };
        let lhs_taken = [&lhs_batch[..], &lhs_contract].concat();
        let rhs_taken = [&rhs_batch[..], &rhs_contract, &group].concat();
        unique(&lhs_taken, "left batching and contracting dimensions", "I4")?;
        unique(&rhs_taken, "right batching, contracting and group dimensions", "I4")?;
        for (a, b, what) in [(&lhs_batch, &rhs_batch, "batching"), (&lhs_contract, &rhs_contract, "contracting")] {
            let fits = a.len() == b.len()
                && a.iter().zip(b).all(|(&l, &r)| {
                    let (m, n) = (lhs.shape[l], rhs.shape[r]);
                    m == n || m < 0 || n < 0
                });
            require!(fits, operand = 1, "expected the {what} dimensions of both sides to fit");
        }
        let kind = match () {
            _ if lhs_contract.contains(&ragged) => Ragged::Contracted,
            _ if lhs_batch.contains(&ragged) => Ragged::Batch,
            _ => Ragged::Free,
        };
        let want = usize::from(kind == Ragged::Free);
        require!(group.len() == want, "expected {want} group dimensions of the right operand, found {}", group.len());
        let lhs_free = others(lhs.rank(), &lhs_taken);
        let before = |list: &[usize]| list.iter().copied().take_while(|&d| d != ragged).collect::<Vec<_>>();
        let prefix = match kind {
            Ragged::Free => [lhs_batch.clone(), before(&lhs_free)].concat(),
            Ragged::Contracted => [lhs_batch.clone(), before(&lhs_contract)].concat(),
            Ragged::Batch => before(&lhs_batch),
        };
        let this = Self {
            rhs_free: others(rhs.rank(), &rhs_taken),
            group: group.first().copied(),
            lhs_batch,
            rhs_batch,
            lhs_contract,
            rhs_contract,
            lhs_free,
            ragged,
            kind,
            prefix,
        };
        this.check_sizes(op, lhs, rhs, sizes)?;
        Ok(this)
    }

    fn check_sizes(&self, op: OpRef<'_>, lhs: &TensorType, rhs: &TensorType, sizes: &TensorType) -> Checked<()> {
        let same = sizes.element.is_integer() && sizes.rank() > 0;
        require!(same, operand = 2, "expected group sizes as integers, found {}", show(op, sizes));
        let groups = sizes.shape[sizes.rank() - 1];
        if sizes.rank() > 1 {
            let want: Vec<i64> = self.prefix.iter().map(|&d| lhs.shape[d]).chain([groups]).collect();
            let fits = compatible(&want, &sizes.shape);
            require!(fits, operand = 2, "expected group sizes of shape {want:?}, found {}", show(op, sizes));
        }
        let Some(group) = self.group else { return Ok(()) };
        let found = rhs.shape[group];
        let same = found == groups || found < 0 || groups < 0;
        require!(same, operand = 1, "expected {groups} groups in dimension {group}, found {found}");
        Ok(())
    }

    fn result_shape(&self, lhs: &[i64], rhs: &[i64], groups: i64) -> Shape {
        let in_front = (self.kind == Ragged::Contracted).then_some(groups);
        let left = self.lhs_batch.iter().chain(&self.lhs_free).map(|&d| lhs[d]);
        in_front.into_iter().chain(left).chain(self.rhs_free.iter().map(|&d| rhs[d])).collect()
    }
}

/// Returns the group of position `at` of the left operand; `None` after the last group.
fn group_of(dims: &RaggedDims, sizes: &Literal, at: &[i64]) -> Option<i64> {
    let groups = *sizes.shape.last()?;
    let mut place: Shape =
        if sizes.shape.len() > 1 { dims.prefix.iter().map(|&d| at[d]).collect() } else { Shape::new() };
    let mut end = 0i128;
    place.push(0);
    let last = place.len() - 1;
    (0..groups).find(|&g| {
        place[last] = g;
        if let Scalar::Int(size) = sizes.get(sizes.position(&place)) {
            end += size.max(0);
        }
        i128::from(at[dims.ragged]) < end
    })
}

impl OpDef for RaggedDot {
    fn name(&self) -> &'static str {
        "chlo.ragged_dot"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let dims = RaggedDims::of(op)?;
        if !is_static(op) {
            return declared(op);
        }
        let (lhs, rhs, sizes) = (tensor(op, 0)?, tensor(op, 1)?, tensor(op, 2)?);
        let shape = dims.result_shape(&lhs.shape, &rhs.shape, sizes.shape[sizes.rank() - 1]);
        one(TensorType::new(&shape, op.result_tensor(0).map_or(lhs.element, |t| t.element)))
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        match RaggedDims::of(op) {
            Ok(dims) if is_static(op) => Kernel::External(External::RaggedDot(Box::new(dims))),
            _ => Kernel::None,
        }
    }

    /// Returns the rule of a product, with the ragged dimension and the one that numbers groups replicated.
    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let dims = RaggedDims::of(op).ok().filter(|_| is_static(op))?;
        let (lhs, rhs, sizes) = (op.operand_tensor(0)?, op.operand_tensor(1)?, op.operand_tensor(2)?);
        let mut rule = ShardingRule::of_op(op);
        let per_group = |d: usize| dims.prefix.iter().position(|&p| p == d).filter(|_| sizes.rank() > 1);
        let kind = |d: usize, other| if d == dims.ragged { FactorKind::NeedReplication } else { other };
        let mut out = usize::from(dims.kind == Ragged::Contracted)..;
        for (&l, &r) in dims.lhs_batch.iter().zip(&dims.rhs_batch) {
            let operands: Vec<_> = [(0, l), (1, r)].into_iter().chain(per_group(l).map(|d| (2, d))).collect();
            rule.add(lhs.shape[l], kind(l, FactorKind::PassThrough), &operands, &[(0, out.next()?)]);
        }
        for &l in &dims.lhs_free {
            let operands: Vec<_> = [(0, l)].into_iter().chain(per_group(l).map(|d| (2, d))).collect();
            rule.add(lhs.shape[l], kind(l, FactorKind::PassThrough), &operands, &[(0, out.next()?)]);
        }
        for &r in &dims.rhs_free {
            rule.add(rhs.shape[r], FactorKind::PassThrough, &[(1, r)], &[(0, out.next()?)]);
        }
        for (&l, &r) in dims.lhs_contract.iter().zip(&dims.rhs_contract) {
            let operands: Vec<_> = [(0, l), (1, r)].into_iter().chain(per_group(l).map(|d| (2, d))).collect();
            rule.add(lhs.shape[l], kind(l, FactorKind::Reduction), &operands, &[]);
        }
        let groups = sizes.rank() - 1;
        let operands: Vec<_> = dims.group.map(|d| (1, d)).into_iter().chain([(2, groups)]).collect();
        let results: &[_] = if dims.kind == Ragged::Contracted { &[(0, 0)] } else { &[] };
        rule.add(sizes.shape[groups], FactorKind::NeedReplication, &operands, results);
        Some(rule)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let dims = RaggedDims::of(op)?;
        let (lhs, rhs, sizes) = (&operands[0], &operands[1], &operands[2]);
        let element = op.result_tensor(0).map_or(lhs.element, |t| t.element);
        let shape = dims.result_shape(&lhs.shape, &rhs.shape, sizes.shape.last().copied().unwrap_or(0));
        let contracted: Shape = dims.lhs_contract.iter().map(|&d| lhs.shape[d]).collect();
        let terms = contracted.iter().fold(1i64, |n, &d| n.saturating_mul(d));
        let products = Products::new(element, terms.max(0) as usize);
        let (mut left, mut right) = (lhs.shape.clone(), rhs.shape.clone());
        let values = Indices::of(&shape).map(|at| {
            let (own, at) = if dims.kind == Ragged::Contracted { (Some(at[0]), &at[1..]) } else { (None, &at[..]) };
            let (batch, rest) = at.split_at(dims.lhs_batch.len());
            let (free, other) = rest.split_at(dims.lhs_free.len());
            dims.lhs_batch.iter().zip(batch).for_each(|(&d, &i)| left[d] = i);
            dims.rhs_batch.iter().zip(batch).for_each(|(&d, &i)| right[d] = i);
            dims.lhs_free.iter().zip(free).for_each(|(&d, &i)| left[d] = i);
            dims.rhs_free.iter().zip(other).for_each(|(&d, &i)| right[d] = i);
            let mut sum = Scalar::zero(element);
            for inner in Indices::of(&contracted) {
                dims.lhs_contract.iter().zip(&inner).for_each(|(&d, &i)| left[d] = i);
                dims.rhs_contract.iter().zip(&inner).for_each(|(&d, &i)| right[d] = i);
                if dims.kind != Ragged::Batch {
                    let group = group_of(&dims, sizes, &left);
                    match (dims.group, group) {
                        (Some(d), Some(g)) => right[d] = g,
                        (None, Some(g)) if Some(g) == own => {}
                        // The position is after the last group, or in another group.
                        _ => continue,
                    }
                }
                sum = products.add(sum, (lhs, lhs.position(&left)), (rhs, rhs.position(&right)));
            }
            sum
        });
        let values: Vec<Scalar> = values.collect();
        Ok(vec![Literal::from_scalars(element, &shape, values)])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x6x4xf32>, %b: tensor<3x2x4x6xf32>) %s = stablehlo.constant dense<[2, 3, 0]> : tensor<3xi64> %r = \"chlo.ragged_dot\"(%a, %b, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x6x4xf32>, tensor<3x2x4x6xf32>, tensor<3xi64>) -> tensor<2x6x6xf32>",
            "(%a: tensor<2x4x6xf32>, %b: tensor<2x6x2xf32>) %s = stablehlo.constant dense<[[4, 1], [2, 4]]> : tensor<2x2xi32> %r = \"chlo.ragged_dot\"(%a, %b, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [2], rhs_group_dimensions = []>}> : (tensor<2x4x6xf32>, tensor<2x6x2xf32>, tensor<2x2xi32>) -> tensor<2x2x4x2xf32>",
            "(%a: tensor<4x2x6xf32>, %b: tensor<4x6x2xf32>, %s: tensor<2xi32>) %r = \"chlo.ragged_dot\"(%a, %b, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = []>}> : (tensor<4x2x6xf32>, tensor<4x6x2xf32>, tensor<2xi32>) -> tensor<4x2x2xf32>",
        ]
    }

    fn reduction(&self, _: OpRef<'_>) -> Option<ReductionKind> {
        Some(ReductionKind::Sum)
    }

    /// Counts each left row once, because it is multiplied by only one group's matrix.
    fn flops_of(&self, op: OpRef<'_>, _: &Kernel) -> f64 {
        let (Ok(dims), Some(lhs), Some(rhs)) = (RaggedDims::of(op), op.operand_tensor(0), op.operand_tensor(1)) else {
            return 0.0;
        };
        let size = |ty: &TensorType, list: &[usize]| list.iter().map(|&d| ty.shape[d].max(0) as f64).product::<f64>();
        let left = size(lhs, &dims.lhs_batch) * size(lhs, &dims.lhs_free) * size(lhs, &dims.lhs_contract);
        2.0 * left * size(rhs, &dims.rhs_free)
    }
}
