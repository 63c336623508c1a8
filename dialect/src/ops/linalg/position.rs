//! `linalg.index`: the position of a loop, in the body of a structured op.

use super::structured::Structured;
use super::{MAPS, SEGMENTS, YIELD, arith};
use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{Attr, AttrData, ElementType, Name, Op, OpRef, Renaming, TypeData, Value};
use crate::kernel::{Index, Inst};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef};
use crate::ops::build;
use crate::ops::support::constraint::{int, operand_count, require};
use crate::text::{Piece, Syntax, TypeForm};

const DIM: &str = "dim";

/// `linalg.index`
pub(super) struct Position;

/// Returns the loop whose position an op returns.
pub(super) fn loop_of(op: OpRef<'_>) -> Option<usize> {
    (op.name() == Position.name()).then(|| usize::try_from(op.int(DIM)?).ok()).flatten()
}

/// Returns the op as an instruction.
pub(super) fn instruction(op: OpRef<'_>) -> Option<Inst> {
    loop_of(op).map(|l| Inst::Index(Index::Loop(l), ElementType::Index))
}

impl OpDef for Position {
    fn name(&self) -> &'static str {
        "linalg.index"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Pieces(&[Piece::Int(DIM), Piece::AttrDict, Piece::Types(TypeForm::Result)])
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        operand_count(op, 0)?;
        require!(int(op, DIM)? >= 0, "expected the number of a loop");
        Ok(vec![TypeData::Scalar(ElementType::Index)])
    }

    fn evaluate(&self, _: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Err(EvalError::new("'linalg.index' can only be used in the body of a structured op"))
    }

    fn examples(&self) -> &'static [&'static str] {
        // The op is meaningless alone: an example of `linalg.generic` has one.
        &[]
    }
}

/// Rewrites the op with lists of positions as additional operands in place of the `linalg.index` ops in its body, so
/// that devices that have a shard of a loop have the same shard of its positions. `None` if the body has no such ops,
/// or the op doesn't state its maps.
pub(super) fn as_operands(structured: &Structured, op: Op, b: &mut Builder<'_>) -> Option<Op> {
    let view = b.program.view(op);
    let (block, sizes) = (view.block(0)?, structured.sizes(view).ok()?);
    let Some(AttrData::Array(maps)) = view.attr(MAPS) else { return None };
    let (mut maps, inputs) = (maps.to_vec(), view.operands().len().checked_sub(view.result_count())?);
    let (operands, result_types) = (view.operands().to_vec(), view.result_type_ids());
    let (def, name) = (view.def(), view.name().to_owned());
    let body = b.program.block_ops(block).to_vec();
    let mut asked: Vec<usize> = body.iter().filter_map(|&op| loop_of(b.program.view(op))).collect();
    asked.sort_unstable();
    asked.dedup();
    if asked.is_empty() {
        return None;
    }

    let lists: Vec<Value> = asked.iter().map(|&l| build::iota(b, ElementType::I64, &[sizes[l]], 0)).collect();
    let number = b.program.intern_type(TypeData::Scalar(ElementType::I64));
    let index = b.program.intern_type(TypeData::Scalar(ElementType::Index));
    let arguments = b.program.block_args(block).to_vec();
    let mut types: Vec<_> = arguments.iter().map(|&v| b.program.value_type(v)).collect();
    types.splice(inputs..inputs, asked.iter().map(|_| number));
    let region = b.region(&types, |b, args| {
        let mut renaming = Renaming::default();
        let mut new = args.to_vec();
        let positions: Vec<Value> = new.splice(inputs..inputs + asked.len(), []).collect();
        renaming.values.extend(arguments.iter().copied().zip(new));
        let cast = arith::of_name("arith.index_cast").map(|row| (row, positions));
        for &inner in &body {
            let at = loop_of(b.program.view(inner)).and_then(|l| asked.iter().position(|&x| x == l));
            match (at, &cast) {
                (Some(at), Some((row, positions))) => {
                    let made = b.op(*row, &[positions[at]], &[index], &[]);
                    let made = b.program.result(made, 0);
                    renaming.values.extend(b.program.results(inner).map(|old| (old, made)));
                }
                _ => {
                    let copy = b.program.clone_op(inner, &mut renaming);
                    b.ops.push(copy);
                }
            }
        }
    });
    debug_assert!(
        b.program.region_blocks(region).iter().all(|&block| {
            b.program.terminator(block).is_some_and(|last| b.program.view(last).name() == YIELD.name())
        })
    );

    let loops: Vec<String> = (0..sizes.len()).map(|l| format!("d{l}")).collect();
    let map = |l: &usize| AttrData::Opaque(format!("affine_map<({}) -> (d{l})>", loops.join(", ")).into());
    let added: Vec<Attr> = asked.iter().map(|l| b.program.intern_attr(map(l))).collect();
    maps.splice(inputs..inputs, added);
    let segments = vec![(inputs + asked.len()) as i64, result_types.len() as i64];
    let mut attrs: Vec<(Name, Attr)> = b.program.op(op).attrs.to_vec();
    for (name, data) in [(MAPS, AttrData::Array(maps)), (SEGMENTS, AttrData::DenseArray(ElementType::I32, segments))] {
        let (name, attr) = (b.program.name(name), b.program.intern_attr(data));
        attrs.retain(|a| a.0 != name);
        attrs.push((name, attr));
    }
    let mut all = operands;
    all.splice(inputs..inputs, lists);
    Some(b.raw(def, &name, &all, &result_types, &attrs, &[region]))
}
