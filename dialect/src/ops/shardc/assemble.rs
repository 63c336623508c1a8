//! `shardc.assemble %a, %b, dim = 0, operands = [1, 0], starts = [0, 2], counts = [8, 6], reversed = [1, 0] : …`: rows
//! of several tensors, concatenated along a dimension.
//!
//! It combines nested concatenations, slices, pads and reversals into one move, so that every row is sent at most once
//! and rows of all operands are sent together. An operand of rank 0 fills rows with its only element.

use smallvec::smallvec;

use crate::eval::{Context, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{OpRef, Shape, TensorType, Value};
use crate::kernel::{Guard, Index, Input, Kernel, Nest, Outside};
use crate::literal::Literal;
use crate::localize::Localize;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::build;
use crate::ops::stablehlo::joining::input_before;
use crate::ops::support::constraint::{
    Checked, dim, dims, ints, is_static, one, rearrange, require, same_element, show, tensor,
};
use crate::scalar::Scalar;
use crate::sharding::{Assembly, AssemblyPiece, FactorKind, ShardingRule};
use crate::text::{Piece, Syntax, TypeForm};

/// `shardc.assemble`
pub struct Assemble;

impl Assemble {
    /// Builds the assembly of `operands`; panics if `assembly` isn't a valid one, because that is a bug of the calling
    /// pass.
    pub fn build(b: &mut Builder<'_>, assembly: &Assembly, operands: &[Value]) -> Value {
        let list = |of: &dyn Fn(&AssemblyPiece) -> i64| assembly.pieces.iter().map(of).collect::<Vec<i64>>();
        let lists = [
            ("operands", list(&|p| p.operand as i64)),
            ("starts", list(&|p| p.start)),
            ("counts", list(&|p| p.count)),
            ("reversed", list(&|p| i64::from(p.reversed))),
        ];
        let mut attrs = vec![("dimension", b.program.attr_i64(assembly.dim as i64))];
        attrs.extend(lists.iter().map(|(name, list)| (*name, b.program.attr_i64s(list))));
        b.inferred(&Assemble, operands, &attrs, &[])[0]
    }

    fn check(op: OpRef<'_>) -> Checked<(TensorType, Assembly)> {
        let count = op.operands().len();
        let mut result: Option<TensorType> = None;
        let mut sizes = smallvec![None; count];
        for i in 0..count {
            same_element(op, i, 0, "C1")?;
            let ty = tensor(op, i)?;
            if ty.rank() == 0 {
                continue;
            }
            let d = dim(op, "dimension", ty.rank(), "C2")?;
            sizes[i] = Some(ty.shape[d]);
            let like = result.get_or_insert_with(|| ty.clone());
            let same = like.rank() == ty.rank() && (0..ty.rank()).all(|e| e == d || like.shape[e] == ty.shape[e]);
            let (want, found) = (show(op, like), show(op, ty));
            require!(same, operand = i, "expected the shape of {want} except in dimension {d}, found {found} (C3)");
        }
        let mut result = result.ok_or_else(|| Problem::new("expected an operand of rank 1 or more (C2)"))?;
        let [operands, starts, counts, reversed] =
            ["operands", "starts", "counts", "reversed"].map(|name| ints(op, name));
        let (operands, starts, counts, reversed) = (operands?, starts?, counts?, reversed?);
        let lengths = [starts.len(), counts.len(), reversed.len()];
        require!(lengths == [operands.len(); 3], "expected operands, starts, counts and reversed of one length (C4)");
        let mut assembly =
            Assembly { dim: dim(op, "dimension", result.rank(), "C2")?, sizes, pieces: Default::default() };
        let mut total: i64 = 0;
        for (i, &operand) in operands.iter().enumerate() {
            let (start, rows) = (starts[i], counts[i]);
            let operand = dims(&[operand], count, "operands", "C5")?[0];
            let inside = match assembly.sizes[operand] {
                Some(size) => start.checked_add(rows).is_some_and(|end| end <= size),
                None => start == 0,
            };
            let fits = start >= 0 && rows >= 0 && inside;
            require!(fits, operand = operand, "rows {start}:{start} + {rows} are outside of it (C6)");
            require!(matches!(reversed[i], 0 | 1), "expected reversed to be 0 or 1, found {} (C7)", reversed[i]);
            total = total.checked_add(rows).ok_or_else(|| Problem::new("the result has too many rows (C8)"))?;
            assembly.pieces.push(AssemblyPiece { operand, start, count: rows, reversed: reversed[i] == 1 });
        }
        result.shape[assembly.dim] = total;
        Ok((result, assembly))
    }
}

impl OpDef for Assemble {
    fn name(&self) -> &'static str {
        "shardc.assemble"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(
            &[
                ("dim", Piece::Int("dimension")),
                ("operands", Piece::Ints("operands")),
                ("starts", Piece::Ints("starts")),
                ("counts", Piece::Ints("counts")),
                ("reversed", Piece::Ints("reversed")),
            ],
            TypeForm::Functional,
        )
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        require!(is_static(op), "expected operands of known shapes");
        one(Self::check(op)?.0)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let Ok((result, assembly)) = Self::check(op) else { return Kernel::None };
        let dim = assembly.dim;
        let (mut inputs, mut ends) = (Vec::new(), Vec::new());
        for (p, place) in assembly.placed().filter(|(p, _)| p.count > 0) {
            ends.push(place.end);
            if assembly.sizes[p.operand].is_none() {
                inputs.push(Input::at(p.operand, 0..0));
                continue;
            }
            let mut input = Input::at(p.operand, 0..result.rank());
            let row = Index::Loop(dim);
            input.index[dim] = match p.reversed {
                true => row.clone().times(-1).plus(Index::Const(place.end - 1 + p.start)),
                false => row.clone().plus(Index::Const(p.start - place.start)),
            };
            input.guards = vec![Guard { index: row, lo: place.start, hi: place.end }];
            input.outside = Some(Outside::Const(Scalar::zero(result.element)));
            inputs.push(input);
        }
        if inputs.is_empty() {
            // There are no rows, so nothing is read.
            let Some(operand) = assembly.sizes.iter().position(Option::is_some) else { return Kernel::None };
            (inputs, ends) = (vec![Input::at(operand, 0..result.rank())], vec![0]);
        }
        let body = input_before(&ends, dim, result.element);
        Kernel::Nest(Nest::over(&result.shape, inputs, body))
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let (result, assembly) = Self::check(op).ok()?;
        let mut rule = ShardingRule::of_op(op);
        for (d, &size) in result.shape.iter().enumerate() {
            let operands = assembly.sizes.iter().enumerate().filter(|s| s.1.is_some());
            let operands: Vec<(usize, usize)> = operands.map(|(i, _)| (i, d)).collect();
            let kind = if d == assembly.dim { FactorKind::Permutation } else { FactorKind::PassThrough };
            rule.add(size, kind, &operands, &[(0, d)]);
        }
        Some(rule)
    }

    fn assembly(&self, op: OpRef<'_>) -> Option<Assembly> {
        Self::check(op).ok().map(|checked| checked.1)
    }

    fn is_assembled(&self) -> bool {
        true
    }

    /// Builds slices, reversals and a concatenation, if the dimension isn't sharded.
    fn localize(&self, cx: &mut Localize<'_>) {
        let Some(assembly) = self.assembly(cx.build.program.view(cx.op)) else { return cx.same_op() };
        let (mut shape, dim) = (cx.result(0).shape(), assembly.dim);
        let element = cx.build.tensor(cx.operands[0]).element;
        let b = &mut cx.build;
        let mut parts = Vec::new();
        for p in assembly.pieces.iter().filter(|p| p.count > 0) {
            let operand = cx.operands[p.operand];
            shape[dim] = p.count;
            let mut part = match assembly.sizes[p.operand] {
                None => build::shape::splat(b, operand, &shape),
                Some(size) if size == p.count => operand,
                Some(_) => build::shape::slice_dim(b, operand, dim, p.start, p.start + p.count),
            };
            if p.reversed {
                part = build::shape::reverse(b, part, &[dim as i64]);
            }
            parts.push(part);
        }
        cx.results = vec![match parts[..] {
            [] => build::splat(
                b,
                element,
                &{
                    shape[dim] = 0;
                    shape
                },
                Scalar::zero(element),
            ),
            _ => build::shape::concatenate(b, &parts, dim),
        }];
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (result, assembly) = Self::check(op)?;
        let sources: Vec<_> = (0..assembly.size()).map(|row| assembly.source(row).unwrap_or((0, 0))).collect();
        Ok(vec![rearrange(&operands[0], &result.shape, |at| {
            let (operand, row) = sources[at[assembly.dim] as usize];
            let from = &operands[operand];
            let mut position = Shape::from_slice(at);
            position[assembly.dim] = row;
            (from, if from.shape.is_empty() { 0 } else { from.position(&position) })
        })])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x2xf32>, %b: tensor<3x2xf32>) %r = shardc.assemble %a, %b, dim = 0, operands = [1, 0, 1], starts = [0, 1, 2], counts = [3, 2, 1], reversed = [1, 0, 0] : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<6x2xf32>",
            "(%a: tensor<2x5xi32>, %b: tensor<i32>) %r = shardc.assemble %a, %b, dim = 1, operands = [1, 0, 1], starts = [0, 0, 0], counts = [2, 5, 1], reversed = [0, 1, 0] : (tensor<2x5xi32>, tensor<i32>) -> tensor<2x8xi32>",
            "(%a: tensor<2x5xi32>) %r = shardc.assemble %a, dim = 1, operands = [], starts = [], counts = [], reversed = [] : (tensor<2x5xi32>) -> tensor<2x0xi32>",
            // More pieces than a kernel selects from.
            "(%a: tensor<2x4x3xf32>, %b: tensor<f32>, %c: tensor<2x3x3xf32>) %r = shardc.assemble %a, %b, %c, dim = 1, operands = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2], starts = [0, 0, 0, 1, 0, 1, 2, 0, 2, 0, 0, 0, 1, 0, 1, 2, 0, 2], counts = [2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1], reversed = [1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0] : (tensor<2x4x3xf32>, tensor<f32>, tensor<2x3x3xf32>) -> tensor<2x30x3xf32>",
        ]
    }
}
