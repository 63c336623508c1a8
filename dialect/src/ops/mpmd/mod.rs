//! The `mpmd` dialect of Shardy: programs over several meshes. A fragment is a computation on one of the meshes, a
//! transfer moves a value to another.
//!
//! A value of type `!mpmd.mesh_tensor` is the global tensor, independent of the location of its shards, so that a
//! program of fragments evaluates to the same results as before it was split. Source: the documentation of Shardy's
//! mpmd dialect.

mod call;
mod region;
mod text;
mod topology;

pub use call::{CALL, FRAGMENT_CALL};
pub(crate) use region::is_memory_kind;
pub use region::{FOR, FRAGMENT, INDEX, NAMED_COMPUTATION};
pub use topology::{TOPOLOGY, Topology, mesh_of, origins};

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{AttrData, MeshTensor, Op, OpRef, TypeData, Value};
use crate::literal::Literal;
use crate::op::{Control, Inferred, OpDef, Problem};
use crate::ops::build;
use crate::ops::support::terminator::Terminator;
use crate::scalar::ScalarOp;
use crate::sharding::ShardingRule;
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of this dialect.
pub static OPS: &[&dyn OpDef] = &[
    &NAMED_COMPUTATION,
    &NAMED_TENSOR,
    &FRAGMENT,
    &FRAGMENT_CALL,
    &TRANSFER,
    &ASSIGN,
    &UNASSIGN,
    &BROADCAST,
    &REDUCE,
    &CALL,
    &FOR,
    &RETURN,
];

/// The attribute of a fragment that names its mesh.
pub const MESH_NAME: &str = "mesh_name";
/// The attribute with the names of the computations that an op came from.
pub const ORIGIN: &str = "origin";
/// The attribute of a fragment with the number of its stage.
pub const STAGE: &str = "stage_id";
/// The attribute of a named tensor with its name.
pub const NAME: &str = "name";
/// The attribute of a call with the number of earlier calls of the same loop.
pub const CALL_COUNTER: &str = "call_counter";
/// The attribute of a fragment's function with the modeled seconds of one run.
pub const SECONDS: &str = "shardc.seconds";
/// The attribute of a fragment's function with the peak bytes of its values on a device.
pub const PEAK_BYTES: &str = "shardc.peak_bytes";
/// The attribute of a fragment's function with its mesh.
pub const MESH_SHAPE: &str = "mesh_shape";
/// The attribute of a function with the number of all devices, if the meshes of its topology have only some of them.
pub const DEVICES: &str = "shardc.devices";
/// The attribute of a module with the model's results for its fragments.
pub const PIPELINE: &str = "shardc.pipeline";
/// The attribute of a module whose order of communication is fixed, so that no pass merges its collectives.
pub const ORDERED: &str = "shardc.ordered";
const REDUCTION: &str = "reduction";

/// The memories in which a device may keep a tensor.
const MEMORY_KINDS: [&str; 2] = ["device", "pinned_host"];

/// `mpmd.return %a : T`: ends the region of a fragment, a named computation or a loop.
pub static RETURN: Terminator = Terminator {
    name: "mpmd.return",
    syntax: &[Piece::AttrDict, Piece::Operands, Piece::Types(TypeForm::OperandsOnly)],
};

/// The purpose of an op of this dialect, for passes that split programs over several meshes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Ops under a name.
    NamedComputation,
    /// A value under a name.
    NamedTensor,
    /// A computation on one mesh, over global tensors.
    Fragment,
    /// A computation on one mesh, by a function that each of its devices runs.
    FragmentCall,
    /// A move of a value to another mesh, or a change of its sharding on the same mesh.
    Transfer,
    /// A call of a function over global values.
    Call,
    /// A loop with a fixed number of iterations.
    For,
    /// Any other op of the dialect that returns its operand.
    Same,
}

/// Returns the kind of an op; `None` for the ops of other dialects, reductions and returns.
pub fn kind(op: OpRef<'_>) -> Option<Kind> {
    let kinds = [
        (NAMED_COMPUTATION.name(), Kind::NamedComputation),
        (NAMED_TENSOR.name, Kind::NamedTensor),
        (FRAGMENT.name(), Kind::Fragment),
        (FRAGMENT_CALL.name(), Kind::FragmentCall),
        (TRANSFER.name, Kind::Transfer),
        (CALL.name(), Kind::Call),
        (FOR.name(), Kind::For),
        (BROADCAST.name, Kind::Same),
        (ASSIGN.name, Kind::Same),
        (UNASSIGN.name, Kind::Same),
    ];
    kinds.into_iter().find(|k| k.0 == op.def().name()).map(|k| k.1)
}

/// The change of type by an op that returns its only operand.
enum Moves {
    /// None: a tensor stays a tensor.
    Nothing,
    /// From a tensor to a replicated tensor on a mesh.
    Onto,
    /// From a replicated tensor on a mesh to a tensor.
    Off,
    /// From one mesh to another, or to another sharding on the same one.
    Between,
}

/// An op that returns its only operand.
pub struct Same {
    name: &'static str,
    syntax: Syntax,
    moves: Moves,
    examples: &'static [&'static str],
}

const PREFIX: &[Piece] = &[Piece::AttrDict, Piece::Operands, Piece::Types(TypeForm::Functional)];

/// `mpmd.named_tensor %a name="n" : T`: gives its operand a name, by which it may be assigned to a mesh.
pub static NAMED_TENSOR: Same = Same {
    name: "mpmd.named_tensor",
    syntax: Syntax::Custom(&text::NAMED_TENSOR),
    moves: Moves::Nothing,
    examples: &["(%a: tensor<4xf32>) %r = mpmd.named_tensor %a name=\"n\" : tensor<4xf32>"],
};
/// `mpmd.broadcast %a : T`: returns its operand, which may be sent to every mesh that reads it.
pub static BROADCAST: Same = Same {
    name: "mpmd.broadcast",
    syntax: Syntax::Pieces(&[Piece::AttrDict, Piece::Operands, Piece::Types(TypeForm::SameOrFunctional)]),
    moves: Moves::Nothing,
    examples: &["(%a: tensor<4xf32>) %r = mpmd.broadcast %a : tensor<4xf32>"],
};
/// `mpmd.assign %a : (T) -> !mpmd.mesh_tensor<"m", T>`: puts a tensor on all devices of a mesh.
pub static ASSIGN: Same = Same {
    name: "mpmd.assign",
    syntax: Syntax::Pieces(PREFIX),
    moves: Moves::Onto,
    examples: &["(%a: tensor<4xf32>) %r = mpmd.assign %a : (tensor<4xf32>) -> !mpmd.mesh_tensor<\"m\", tensor<4xf32>>"],
};
/// `mpmd.unassign %a : (!mpmd.mesh_tensor<"m", T>) -> T`: takes a replicated tensor off its mesh.
pub static UNASSIGN: Same = Same {
    name: "mpmd.unassign",
    syntax: Syntax::Pieces(PREFIX),
    moves: Moves::Off,
    examples: &[
        "(%a: !mpmd.mesh_tensor<\"m\", tensor<4xf32>>) %r = mpmd.unassign %a : (!mpmd.mesh_tensor<\"m\", tensor<4xf32>>) -> tensor<4xf32>",
    ],
};
/// `mpmd.transfer %a : (!mpmd.mesh_tensor<"m1", T>) -> !mpmd.mesh_tensor<"m2", T>`: moves a tensor to another mesh.
pub static TRANSFER: Same = Same {
    name: "mpmd.transfer",
    syntax: Syntax::Pieces(PREFIX),
    moves: Moves::Between,
    examples: &[
        "(%a: !mpmd.mesh_tensor<\"m\", tensor<4xf32>>) %r = mpmd.transfer %a : (!mpmd.mesh_tensor<\"m\", tensor<4xf32>>) -> !mpmd.mesh_tensor<\"n\", tensor<4xf32>>",
    ],
};

impl Same {
    /// Checks the result that the text declares against the operand.
    fn moved(&self, op: OpRef<'_>, from: &TypeData) -> Inferred {
        let declared = op.result_types().next();
        let replicated = |t: &MeshTensor| t.sharding.is_none();
        let (wanted, right) = match (&self.moves, from, declared) {
            (Moves::Nothing, TypeData::Tensor(_), _) => return Ok(vec![from.clone()]),
            (Moves::Nothing, ..) => ("a tensor", false),
            (Moves::Onto, TypeData::Tensor(t), Some(TypeData::MeshTensor(to))) => {
                ("the operand's tensor, replicated on a mesh", to.tensor == *t && replicated(to))
            }
            (Moves::Onto, ..) => ("a tensor, and the same tensor on a mesh as the result", false),
            (Moves::Off, TypeData::MeshTensor(t), _) if replicated(t) => return Ok(vec![t.tensor.clone().into()]),
            (Moves::Off, ..) => ("a tensor that is replicated on a mesh", false),
            (Moves::Between, TypeData::MeshTensor(from), Some(TypeData::MeshTensor(to))) => {
                ("the same tensor on both meshes", from.tensor == to.tensor)
            }
            (Moves::Between, ..) => ("tensors on meshes", false),
        };
        match declared {
            Some(declared) if right => Ok(vec![declared.clone()]),
            _ => {
                let text = |ty: &TypeData| op.program.type_data_text(ty);
                let found = declared.map_or(text(from), |to| format!("{} and {}", text(from), text(to)));
                Err(Problem::new(format!("expected {wanted}, found {found}")).into())
            }
        }
    }
}

impl OpDef for Same {
    fn name(&self) -> &'static str {
        self.name
    }

    fn syntax(&self) -> Syntax {
        self.syntax
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        if self.name == NAMED_TENSOR.name && op.attr(NAME).and_then(AttrData::as_str).is_none() {
            return Err(Problem::new("attribute name is missing").note("write name=\"…\"").into());
        }
        let mut types = op.operand_types();
        match (types.next(), types.next()) {
            (Some(from), None) => self.moved(op, from),
            _ => Err(Problem::new(format!("expected one operand, found {}", op.operands().len())).into()),
        }
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let ty = op.operand_tensor(0)?;
        Some(ShardingRule::pointwise(&[ty.rank()], &[ty.rank()], &ty.shape))
    }

    fn examples(&self) -> &'static [&'static str] {
        self.examples
    }

    fn control(&self, _: OpRef<'_>) -> Option<Control> {
        Some(Control::Identity)
    }
}

/// `mpmd.reduce<add> %a, %b : (T, T) -> T`: combines tensors of several meshes.
pub struct Reduce;
/// `mpmd.reduce`
pub static REDUCE: Reduce = Reduce;

/// The keywords of reductions with their operations; `none` has one operand and combines nothing.
const REDUCTIONS: [(&str, Option<ScalarOp>); 7] = [
    ("none", None),
    ("add", Some(ScalarOp::Add)),
    ("max", Some(ScalarOp::Max)),
    ("min", Some(ScalarOp::Min)),
    ("mul", Some(ScalarOp::Mul)),
    ("or", Some(ScalarOp::Or)),
    ("and", Some(ScalarOp::And)),
];

/// Returns the keyword of an op's reduction from its attribute `#mpmd.reduction<add>`.
fn reduction_word<'a>(op: OpRef<'a>) -> Option<&'a str> {
    match op.attr(REDUCTION)? {
        AttrData::Opaque(text) => text.strip_prefix("#mpmd.reduction<")?.strip_suffix('>').map(str::trim),
        _ => None,
    }
}

/// Returns the operation that combines the operands of a [`Reduce`].
fn reduction(op: OpRef<'_>) -> Result<Option<ScalarOp>, Problem> {
    let known = reduction_word(op).and_then(|word| REDUCTIONS.iter().find(|r| r.0 == word));
    known.map(|r| r.1).ok_or_else(|| {
        let words: Vec<&str> = REDUCTIONS.iter().map(|r| r.0).collect();
        Problem::new(format!("expected attribute {REDUCTION} to be one of {}", words.join(", ")))
    })
}

impl OpDef for Reduce {
    fn name(&self) -> &'static str {
        "mpmd.reduce"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&text::REDUCE)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let by = reduction(op)?;
        let types: Vec<&TypeData> = op.operand_types().collect();
        match types.first() {
            None => Err(Problem::new("expected at least one operand").into()),
            Some(_) if by.is_none() && types.len() > 1 => {
                let message = format!("expected one operand of a reduction <none>, found {}", types.len());
                Err(Problem::new(message).note("write how they combine: <add>").into())
            }
            Some(first) if !matches!(first, TypeData::Tensor(_)) || types.iter().any(|ty| ty != first) => {
                Err(Problem::new("expected operands of one tensor type").into())
            }
            Some(&first) => Ok(vec![first.clone()]),
        }
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let ty = op.operand_tensor(0)?;
        Some(ShardingRule::pointwise(&vec![ty.rank(); op.operands().len()], &[ty.rank()], &ty.shape))
    }

    /// Combines the operands in order.
    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let Some(by) = reduction(op)? else { return Ok(operands.to_vec()) };
        let Some((first, others)) = operands.split_first() else {
            return Err(EvalError::new("the op has no operand to reduce"));
        };
        let combine = |a: Literal, b: &Literal| {
            let values = (0..a.len()).map(|i| by.apply(a.element, a.element, &[a.get(i), b.get(i)]));
            Literal::from_scalars(a.element, &a.shape, values)
        };
        Ok(vec![others.iter().fold(first.clone(), combine)])
    }

    fn elementwise(&self) -> bool {
        true
    }

    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let by = reduction(b.program.view(op)).ok()?;
        let operands = b.program.op(op).operands.to_vec();
        let (&first, others) = operands.split_first()?;
        let Some(by) = by else { return Some(vec![first]) };
        Some(vec![others.iter().fold(first, |a, &next| build::pointwise(b, by, &[a, next]))])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4xf32>, %b: tensor<4xf32>) %r = mpmd.reduce<add> %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
        ]
    }
}
