//! MLIR's structured ops on tensors (`linalg`), the arithmetic in their bodies (`arith`, `math`), and `tensor.empty`.
//! The computation of a structured op is derived from its maps, the kinds of its loops and its body, so that all of
//! them share one definition; named ops differ only in their text. Source: MLIR's documentation of the dialects.

mod arith;
mod empty;
mod maps;
mod named;
mod position;
mod structured;
mod text;

use self::maps::Map;
use self::structured::Structured;
use crate::eval::{Context, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{AttrData, ElementType, Op, OpRef, Value};
use crate::kernel::{Arg, Body, Index, Inst, Kernel, body_of_loops};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::support::constraint::{Checked, ints, require};
use crate::ops::support::terminator::Terminator;
use crate::sharding::ReductionKind;
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of these dialects.
pub(super) static OPS: &[&[&dyn OpDef]] = &[arith::OPS, &[&YIELD, &empty::Empty, &position::Position], named::OPS];

/// `linalg.yield`
static YIELD: Terminator = Terminator {
    name: "linalg.yield",
    syntax: &[Piece::Operands, Piece::AttrDict, Piece::Types(TypeForm::OperandsOnly)],
};

/// The numbers of operands that are only read, and of those with the initial values of the results.
const SEGMENTS: &str = "operandSegmentSizes";
const MAPS: &str = "indexing_maps";
const ITERATORS: &str = "iterator_types";
/// The attribute with the operation of `linalg.elementwise`.
const KIND: &str = "kind";

/// The loops of a structured op.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loops {
    /// The loops stated by its attributes.
    Stated,
    /// The loops of the result, at whose position every operand is read; scalars are read without a position.
    Elementwise,
    /// The loops of a product of matrices, with `batch` leading batch dimensions.
    Matmul { batch: usize },
    /// The loops given by the attribute `permutation`.
    Transpose,
    /// The loops of the result; the attribute `dimensions` lists those that the operand doesn't have.
    Broadcast,
    /// The loops of the operands; the attribute `dimensions` lists those that the results don't have.
    Reduce,
}

/// A structured op.
struct StructuredOp {
    name: &'static str,
    loops: Loops,
    text: text::StructuredSyntax,
    examples: &'static [&'static str],
}

impl StructuredOp {
    fn structured(&self, op: OpRef<'_>) -> Checked<Structured> {
        let (maps, reduced) = self.maps(op)?;
        let block = op.block(0).ok_or_else(|| Problem::new("expected a region of one block"))?;
        let (args, operands) = (op.program.block_args(block), op.operands());
        let inputs = operands.len().checked_sub(op.result_count()).filter(|_| op.result_count() > 0);
        let inputs = inputs.ok_or_else(|| Problem::new("expected a result for each operand of 'outs', on tensors"))?;
        let fits = maps.len() == operands.len();
        require!(fits, "expected a map for each of {} operands, found {}", operands.len(), maps.len());
        // The body of a map may leave out the results.
        let fits = args.len() == operands.len() || args.len() == inputs && self.text == text::StructuredSyntax::Map;
        require!(fits, "expected a region of {} arguments, found {}", operands.len(), args.len());
        for (i, (&arg, &operand)) in args.iter().zip(operands).enumerate() {
            let [arg, element] = [arg, operand].map(|v| structured::element_type(op, v));
            let fits = arg.is_some() && arg == element;
            require!(fits, operand = i, "expected each argument of the region to have the element type of its operand");
        }
        for (i, ty) in op.result_type_ids().into_iter().enumerate() {
            let fits = ty == op.program.value_type(operands[inputs + i]);
            require!(fits, operand = inputs + i, "expected the type of the result");
        }
        for &inner in op.program.block_ops(block) {
            let asked = position::loop_of(op.program.view(inner));
            require!(
                asked.is_none_or(|l| l < reduced.len()),
                "its body reads the position of loop {}, expected a number below {loops}",
                asked.unwrap_or(0),
                loops = reduced.len()
            );
        }
        let all: Vec<Arg> = (0..args.len()).map(Arg::Input).collect();
        let body =
            op.region(0).and_then(|region| body_of_loops(op.program, region, &all, &|op| position::instruction(op)));
        let body = body.filter(|body| body.results.len() == op.result_count()).map(|mut body| {
            // Each operand has its element among the inputs, even if the body leaves it out.
            body.inputs.extend(operands[args.len()..].iter().filter_map(|&v| structured::element_type(op, v)));
            with_numbers(body)
        });
        Ok(Structured { maps, reduced, body })
    }

    /// Returns the map of each operand, and which loops are reductions.
    fn maps(&self, op: OpRef<'_>) -> Checked<(Vec<Map>, Vec<bool>)> {
        let rank =
            |i: usize| op.operands().get(i).and_then(|&v| arith::element(op, v)).map_or(0, |found| found.1.len());
        let operands = op.operands().len();
        let map = |loops: usize, at: &[usize]| Map { loops, positions: at.iter().map(|&l| Index::Loop(l)).collect() };
        let all: Vec<usize> = (0..rank(operands.saturating_sub(1))).collect();
        let parallel = vec![false; all.len()];
        match self.loops {
            Loops::Stated => stated(op),
            Loops::Elementwise if op.attr(MAPS).is_some() => Ok((stated_maps(op)?, parallel)),
            Loops::Elementwise => {
                let maps = (0..operands).map(|i| map(all.len(), if rank(i) == 0 { &[] } else { &all }));
                Ok((maps.collect(), parallel))
            }
            Loops::Matmul { batch } => {
                let (m, n, k) = (batch, batch + 1, batch + 2);
                let of = |last: [usize; 2]| {
                    let at: Vec<usize> = (0..batch).chain(last).collect();
                    map(k + 1, &at)
                };
                let mut reduced = vec![false; k];
                reduced.push(true);
                let maps = match op.attr(MAPS) {
                    Some(_) => stated_maps(op)?,
                    None => vec![of([m, k]), of([k, n]), of([m, n])],
                };
                Ok((maps, reduced))
            }
            Loops::Transpose => {
                let permutation = permutation(op)?;
                let mut at = vec![0; permutation.len()];
                permutation.iter().enumerate().for_each(|(result, &operand)| at[operand] = result);
                Ok((vec![map(all.len(), &at), map(all.len(), &all)], parallel))
            }
            Loops::Broadcast => {
                let added = dimensions(op, all.len())?;
                let kept: Vec<usize> = all.iter().copied().filter(|d| !added.contains(d)).collect();
                Ok((vec![map(all.len(), &kept), map(all.len(), &all)], parallel))
            }
            Loops::Reduce => {
                let rank = rank(0);
                let reduced = dimensions(op, rank)?;
                let (all, kept): (Vec<usize>, Vec<usize>) =
                    ((0..rank).collect(), (0..rank).filter(|d| !reduced.contains(d)).collect());
                let inputs = operands.saturating_sub(op.result_count());
                let maps = (0..operands).map(|i| map(rank, if i < inputs { &all } else { &kept }));
                Ok((maps.collect(), (0..rank).map(|d| reduced.contains(&d)).collect()))
            }
        }
    }
}

/// Replaces index positions in the body by integers of their width, for which there is machine code, unless index
/// elements are in memory.
fn with_numbers(mut body: Body) -> Body {
    let in_memory = body.results.iter().map(|&r| body.arg_type(r)).chain(body.inputs.iter().copied());
    if !in_memory.into_iter().any(|ty| ty == ElementType::Index) {
        for inst in &mut body.insts {
            let (Inst::Op { ty, .. } | Inst::Const(_, ty) | Inst::Index(_, ty)) = inst;
            if *ty == ElementType::Index {
                *ty = ElementType::I64;
            }
        }
    }
    body
}

fn list<'a>(op: OpRef<'a>, name: &str) -> Checked<Vec<&'a AttrData>> {
    match op.attr(name) {
        Some(AttrData::Array(items)) => Ok(items.iter().map(|&a| op.program.attr_data(a)).collect()),
        _ => Err(Problem::new(format!("expected a list '{name}'"))),
    }
}

fn stated_maps(op: OpRef<'_>) -> Checked<Vec<Map>> {
    let map = |attr: &AttrData| match attr {
        AttrData::Opaque(text) => Map::of_text(text),
        _ => None,
    };
    let maps: Option<Vec<Map>> = list(op, MAPS)?.into_iter().map(map).collect();
    maps.ok_or_else(|| Problem::new(format!("expected maps without symbols in '{MAPS}'")))
}

/// Returns whether the maps of a named op are its default maps.
fn has_usual_maps(op: OpRef<'_>) -> bool {
    let at = |position: &Index| if let Index::Loop(l) = position { Some(*l) } else { None };
    let loops = |map: &Map| map.positions.iter().map(at).collect::<Option<Vec<usize>>>();
    let found = stated_maps(op).ok().and_then(|maps| maps.iter().map(loops).collect::<Option<Vec<_>>>());
    match (found.as_deref(), op.name()) {
        (Some(maps), "linalg.elementwise") => {
            let rank = op.result_tensor(0).map_or(0, |ty| ty.rank());
            maps.iter().all(|map| map.iter().copied().eq(0..rank))
        }
        (Some([a, b, c]), "linalg.matmul") => (&a[..], &b[..], &c[..]) == (&[0, 2], &[2, 1], &[0, 1]),
        (Some([a, b, c]), "linalg.batch_matmul") => (&a[..], &b[..], &c[..]) == (&[0, 1, 3], &[0, 3, 2], &[0, 1, 2]),
        _ => false,
    }
}

/// Returns the maps and kinds of loops that the attributes state.
fn stated(op: OpRef<'_>) -> Checked<(Vec<Map>, Vec<bool>)> {
    let maps = stated_maps(op)?;
    let reduced = |attr: &AttrData| match attr {
        AttrData::Opaque(text) if **text == *"#linalg.iterator_type<reduction>" => Some(true),
        AttrData::Opaque(text) if **text == *"#linalg.iterator_type<parallel>" => Some(false),
        _ => None,
    };
    let reduced: Option<Vec<bool>> = list(op, ITERATORS)?.into_iter().map(reduced).collect();
    let reduced = reduced.ok_or_else(|| Problem::new(format!("expected parallel and reduction in '{ITERATORS}'")))?;
    Ok((maps, reduced))
}

fn permutation(op: OpRef<'_>) -> Checked<Vec<usize>> {
    let values = ints(op, "permutation")?;
    let found: Vec<usize> = values.iter().filter_map(|&d| usize::try_from(d).ok()).collect();
    let whole = found.len() == values.len() && (0..found.len()).all(|d| found.contains(&d));
    require!(whole, "expected each dimension once in 'permutation'");
    Ok(found)
}

fn dimensions(op: OpRef<'_>, rank: usize) -> Checked<Vec<usize>> {
    let values = ints(op, "dimensions")?;
    let found: Vec<usize> = values.iter().filter_map(|&d| usize::try_from(d).ok()).filter(|&d| d < rank).collect();
    require!(found.len() == values.len(), "expected dimensions below {rank} in 'dimensions'");
    Ok(found)
}

impl OpDef for StructuredOp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn syntax(&self) -> Syntax {
        text::syntax(self.text)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        self.structured(op)?.sizes(op)?;
        Ok(op.result_types().cloned().collect())
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let nest = self.structured(op).ok().and_then(|structured| structured.nest(op));
        nest.map_or(Kernel::None, Kernel::Nest)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let structured = self.structured(op).map_err(|problem| crate::eval::EvalError::new(problem.message))?;
        structured.evaluate(op, operands)
    }

    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let structured = self.structured(b.program.view(op)).ok()?;
        match position::as_operands(&structured, op, b) {
            Some(read) => {
                let structured = self.structured(b.program.view(read)).ok()?;
                // `read` is the last op; the form that begins at an identity replaces it.
                b.ops.pop();
                structured.begun_at_identity(read, b).or_else(|| {
                    b.ops.push(read);
                    Some(b.program.results(read).collect())
                })
            }
            None => structured.filled(op, b).or_else(|| structured.begun_at_identity(op, b)),
        }
    }

    fn reduction(&self, op: OpRef<'_>) -> Option<ReductionKind> {
        self.structured(op).ok()?.reduction(op)
    }

    fn rule_reads_operands(&self) -> bool {
        // The initial value of its result decides whether a reduction can be sharded.
        true
    }

    fn examples(&self) -> &'static [&'static str] {
        self.examples
    }
}
