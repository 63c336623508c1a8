//! `partition_id` and `replica_id`: the number of the device among partitions and replicas.

use crate::eval::{Context, EvalResult};
use crate::ir::{ElementType, OpRef, TensorType};
use crate::kernel::{External, Kernel};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef};
use crate::scalar::Scalar;
use crate::text::{Piece, Syntax, TypeForm};

const SYNTAX: &[Piece] = &[Piece::AttrDict, Piece::Types(TypeForm::Result)];

fn id_type() -> Inferred {
    Ok(vec![TensorType::new(&[], ElementType::UI32).into()])
}

fn id(value: usize) -> Vec<Literal> {
    vec![Literal::scalar(ElementType::UI32, Scalar::Int(value as i128))]
}

/// `stablehlo.partition_id`: the device's partition. <https://openxla.org/stablehlo/spec#partition_id>
pub struct PartitionId;

impl OpDef for PartitionId {
    fn name(&self) -> &'static str {
        "stablehlo.partition_id"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Pieces(SYNTAX)
    }

    fn infer(&self, _: OpRef<'_>) -> Inferred {
        id_type()
    }

    fn kernel(&self, _: OpRef<'_>) -> Kernel {
        Kernel::External(External::PartitionId)
    }

    fn is_device_number(&self) -> bool {
        true
    }

    fn evaluate(&self, _: OpRef<'_>, _: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(id(cx.lane() % cx.partitions().max(1)))
    }

    fn examples(&self) -> &'static [&'static str] {
        &["() %r = stablehlo.partition_id : tensor<ui32>"]
    }
}

/// `stablehlo.replica_id`: the device's replica. <https://openxla.org/stablehlo/spec#replica_id>
pub struct ReplicaId;

impl OpDef for ReplicaId {
    fn name(&self) -> &'static str {
        "stablehlo.replica_id"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Pieces(SYNTAX)
    }

    fn infer(&self, _: OpRef<'_>) -> Inferred {
        id_type()
    }

    fn kernel(&self, _: OpRef<'_>) -> Kernel {
        Kernel::External(External::ReplicaId)
    }

    fn evaluate(&self, _: OpRef<'_>, _: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(id(cx.lane() / cx.partitions().max(1)))
    }

    fn examples(&self) -> &'static [&'static str] {
        &["() %r = stablehlo.replica_id : tensor<ui32>"]
    }
}
