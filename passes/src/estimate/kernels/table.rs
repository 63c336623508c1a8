//! The known kernels. A row has how its calls are recognized and the products that one call computes, from the shapes
//! of its operands.
//!
//! No row has a sharding rule, because these kernels are compiled for the shapes of their operands: a call with smaller
//! shards would run the wrong kernel. JAX divides them by `shard_map` or `custom_partitioning` before it lowers them.
//!
//! Sources: **JAX** `jax/experimental/pallas/ops` (names, order of operands, products of each kernel), **CUDNN**
//! `jax/_src/cudnn/fused_attention_stablehlo.py`, **SCALED** `jax/_src/cudnn/scaled_matmul_stablehlo.py`.

use dialect::ir::{ElementType, OpRef, TensorType};
use dialect::kernel::LibraryCall;
use smallvec::{SmallVec, smallvec};

use super::attention::{self, Layout, Pass};
use super::{Product, matches};
use crate::estimate::precision::Precision;
use crate::estimate::roofline::Matmul;

/// The products of a call; empty for a kernel that only moves data.
pub(super) type Products = SmallVec<[Product; 7]>;

/// A row of the table.
pub struct Kernel {
    /// Its name, by which a target's own rows refer to it.
    pub name: &'static str,
    /// The targets of its calls; `*` at the end matches any text.
    pub targets: &'static [&'static str],
    /// The names of its kernels, or none if the target alone decides.
    pub kernels: &'static [&'static str],
    /// Returns the products of a call; `None` if its operands aren't those of the kernel.
    pub(super) products: fn(&Call<'_>) -> Option<Products>,
}

const PALLAS_TPU: &[&str] = &["tpu_custom_call"];
const TRITON: &[&str] = &["__gpu$xla.gpu.triton", "triton_kernel_call*"];
const PALLAS: &[&str] = &["tpu_custom_call", "__gpu$xla.gpu.triton", "triton_kernel_call*", "mosaic_gpu*"];

/// All known kernels. The first row that recognizes a call is its kernel.
pub static TABLE: &[Kernel] = &[
    Kernel {
        name: "attention-forward",
        targets: PALLAS_TPU,
        kernels: &["_flash_attention_kernel*", "splash_mha_fwd*", "splash_mqa_fwd*"], // JAX
        products: |call| attention::of_operands(call, Layout::HeadsFirst, Pass::Forward),
    },
    Kernel {
        name: "attention-backward-keys",
        targets: PALLAS_TPU,
        kernels: &["_flash_attention_dkv_kernel*", "splash_mha_dkv*", "splash_mqa_dkv*"], // JAX
        products: |call| {
            // The fused kernel of splash attention also returns the queries' gradients, a part for each block of keys.
            let fused = call.results().filter(|t| t.rank() > call.floats().first().map_or(0, |q| q.rank())).count() > 0;
            attention::of_operands(call, Layout::HeadsFirst, if fused { Pass::Backward } else { Pass::Keys })
        },
    },
    Kernel {
        name: "attention-backward-queries",
        targets: PALLAS_TPU,
        kernels: &["_flash_attention_dq_kernel*", "splash_mha_dq*", "splash_mqa_dq*"], // JAX
        products: |call| attention::of_operands(call, Layout::HeadsFirst, Pass::Queries),
    },
    Kernel {
        name: "attention-forward-gpu",
        targets: TRITON,
        kernels: &["mha_forward*"], // JAX
        products: |call| attention::of_operands(call, Layout::SequenceFirst, Pass::Forward),
    },
    Kernel {
        name: "attention-backward-gpu",
        targets: TRITON,
        kernels: &["mha_backward*"], // JAX: two loops, over queries and over keys
        products: |call| attention::of_operands(call, Layout::SequenceFirst, Pass::Both),
    },
    Kernel {
        name: "cudnn-attention-backward",
        targets: &[
            "__cudnn$fmhaSoftmaxBackward*",
            "__cudnn$fmhaScaleBiasSoftmaxBackward*",
            "__cudnn$fmhaSoftmaxDropoutBackward*",
            "__cudnn$fmhaScaleBiasSoftmaxDropoutBackward*",
        ], // CUDNN
        kernels: &[],
        products: |call| attention::of_cudnn(call, Pass::Backward),
    },
    Kernel {
        name: "cudnn-attention-forward",
        targets: &["__cudnn$fmha*"], // CUDNN
        kernels: &[],
        products: |call| attention::of_cudnn(call, Pass::Forward),
    },
    Kernel {
        name: "grouped-product",
        targets: PALLAS_TPU,
        kernels: &["gmm*", "tgmm*", "kernel"], // JAX: megablox; JAX 0.10 names the inner function
        products: grouped,
    },
    Kernel {
        name: "scaled-product",
        targets: &["__op$block_scaled_dot"], // SCALED
        kernels: &[],
        products: scaled,
    },
    Kernel {
        name: "traffic",
        targets: PALLAS,
        // JAX: normalizations and random bits, which take as long as their operands and results in memory.
        kernels: &[
            "ln_forward*",
            "ln_backward*",
            "rms_forward*",
            "mha_preprocess_backward*",
            "pallas_threefry2x32*",
            "pallas_philox4x32*",
        ],
        products: |_| Some(Products::new()),
    },
    Kernel {
        name: "traffic",
        // Elementwise ops and selections that XLA expands.
        targets: &["mhlo*", "PartialReduce", "X64*", "_SPMDInternalOp_*"],
        kernels: &[],
        products: |_| Some(Products::new()),
    },
];

impl Kernel {
    /// Returns the row of this name.
    pub fn named(name: &str) -> Option<&'static Kernel> {
        TABLE.iter().find(|row| row.name == name)
    }

    /// Returns the row that recognizes a call.
    pub fn of(call: &LibraryCall<'_>) -> Option<&'static Kernel> {
        let any = |patterns: &[&str], name: &str| patterns.iter().any(|pattern| matches(pattern, name));
        TABLE.iter().find(|row| {
            any(row.targets, call.target)
                && (row.kernels.is_empty() || call.kernel.is_some_and(|kernel| any(row.kernels, kernel)))
        })
    }
}

/// A call whose work is computed.
pub(super) struct Call<'a> {
    pub(super) op: OpRef<'a>,
    pub(super) library: &'a LibraryCall<'a>,
}

impl<'a> Call<'a> {
    fn operands(&self) -> impl Iterator<Item = &'a TensorType> + '_ {
        self.op.operand_types().filter_map(|ty| ty.tensor())
    }

    pub(super) fn results(&self) -> impl Iterator<Item = &'a TensorType> + '_ {
        self.op.result_types().filter_map(|ty| ty.tensor())
    }

    /// Returns the operands that are matrices of floats, or stacks of them.
    pub(super) fn floats(&self) -> SmallVec<[&'a TensorType; 8]> {
        self.operands().filter(|t| t.rank() >= 2 && t.element.is_float()).collect()
    }

    /// Returns the class of the products, that of the first two operands that are matrices.
    pub(super) fn precision(&self) -> Precision {
        let floats = self.floats();
        let element = |i: usize| floats.get(i).and_then(|t| ElementType::text(t.element)).unwrap_or("f32");
        Precision::of_product(element(0), element(1))
    }
}

/// Returns a size as the model takes it; 0 for an unknown one.
pub(super) fn size(size: i64) -> u64 {
    u64::try_from(size).unwrap_or(0)
}

/// Returns the number of elements of a shape; 0 for an unknown one. Saturates.
pub(super) fn elements(shape: &[i64]) -> u64 {
    shape.iter().fold(1, |product: u64, &n| product.saturating_mul(size(n)))
}

/// Megablox: rows in groups by a matrix for each group, or, transposed, the products of the rows of each group.
fn grouped(call: &Call<'_>) -> Option<Products> {
    // The offsets of the groups, and which group and rows each tile of the grid has.
    if call.operands().filter(|t| t.rank() <= 1 && !t.element.is_float()).count() < 3 {
        return None;
    }
    let (floats, result) = (call.floats(), call.results().next()?);
    let [lhs, rhs] = floats[..] else { return None };
    let matmul = match (&lhs.shape[..], rhs.rank(), &result.shape[..]) {
        (&[rows, contracting], 3, &[result_rows, columns]) if rows == result_rows => {
            Matmul { batch: 1, rows: size(rows), contracting: size(contracting), columns: size(columns) }
        }
        (_, 2, &[_, rows, columns]) if rhs.shape.contains(&columns) => {
            let contracting = elements(&rhs.shape) / size(columns).max(1);
            Matmul { batch: 1, rows: size(rows), contracting, columns: size(columns) }
        }
        _ => return None,
    };
    Some(smallvec![Product { matmul, share: 1.0 }])
}

/// Products of blocks with a scale each: `[B, M, K]` by `[B, N, K]`.
fn scaled(call: &Call<'_>) -> Option<Products> {
    let (lhs, rhs) = (call.op.operand_tensor(0)?, call.op.operand_tensor(1)?);
    let (&[batch, rows, contracting], &[_, columns, _]) = (&lhs.shape[..], &rhs.shape[..]) else { return None };
    let matmul =
        Matmul { batch: size(batch), rows: size(rows), contracting: size(contracting), columns: size(columns) };
    Some(smallvec![Product { matmul, share: 1.0 }])
}
