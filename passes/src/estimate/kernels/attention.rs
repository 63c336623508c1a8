//! The products of attention kernels: scores of queries and keys, values weighted by them, and their gradients.

use dialect::ir::ValueSource;
use serde_json::Value as Json;

use super::Product;
use super::table::{Call, Products, elements, size};
use crate::estimate::roofline::Matmul;

/// The order of the last three dimensions of queries, keys and values.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Layout {
    /// Heads, sequence, features.
    HeadsFirst,
    /// Sequence, heads, features.
    SequenceFirst,
}

/// What a kernel computes. All but the first begin with the scores, which aren't kept.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Pass {
    /// The results.
    Forward,
    /// The gradients of keys and values.
    Keys,
    /// The gradients of queries.
    Queries,
    /// All gradients from one computation of the scores: 2.5 times the products of the results.
    Backward,
    /// The gradients of [`Self::Keys`], then those of [`Self::Queries`].
    Both,
}

/// The sizes of an attention.
struct Sizes {
    /// Heads of all examples.
    batch: u64,
    queries: u64,
    keys: u64,
    /// Features of queries and keys.
    features: u64,
    /// Features of values.
    values: u64,
    /// The share of the scores that the mask keeps.
    share: f64,
}

impl Sizes {
    fn products(&self, pass: Pass) -> Products {
        let product = |[rows, contracting, columns]: [u64; 3]| Product {
            matmul: Matmul { batch: self.batch, rows, contracting, columns },
            share: self.share,
        };
        let &Sizes { queries, keys, features, values, .. } = self;
        let scores = [queries, features, keys];
        // The gradient of the weights, and of each operand, with [rows, contracting, columns].
        let weights = [queries, values, keys];
        let (of_values, of_keys, of_queries) =
            ([keys, queries, values], [keys, queries, features], [queries, keys, features]);
        let list: &[[u64; 3]] = match pass {
            Pass::Forward => &[scores, [queries, keys, values]],
            Pass::Keys => &[scores, of_values, weights, of_keys],
            Pass::Queries => &[scores, weights, of_queries],
            Pass::Backward => &[scores, of_values, weights, of_keys, of_queries],
            Pass::Both => &[scores, of_values, weights, of_keys, scores, weights, of_queries],
        };
        list.iter().map(|&sizes| product(sizes)).collect()
    }
}

/// Returns the share of the scores that a causal mask keeps, whose first query sees the first key.
fn causal(queries: u64, keys: u64) -> f64 {
    let (queries, keys) = (queries.max(1) as f64, keys.max(1) as f64);
    if queries <= keys { queries / (2.0 * keys) } else { 1.0 - keys / (2.0 * queries) }
}

/// Returns the products of a kernel whose first operands of floats are queries, keys and values.
///
/// The share that is computed is that of a constant mask of blocks (splash attention), or else that of a causal mask if
/// there are as many queries as keys: other kernels have the mask in their code.
pub(super) fn of_operands(call: &Call<'_>, layout: Layout, pass: Pass) -> Option<Products> {
    let floats = call.floats();
    let &[query, key, value, ..] = &floats[..] else { return None };
    let [at_sequence, at_heads] = if layout == Layout::HeadsFirst { [2, 3] } else { [3, 2] };
    let from_end = |shape: &[i64], at: usize| shape.len().checked_sub(at).map(|dim| shape[dim]);
    if query.rank() < 3 || from_end(&query.shape, 1) != from_end(&key.shape, 1) {
        return None;
    }
    // With one head of keys for all queries, keys lack the dimension of heads.
    let keys = from_end(&key.shape, if key.rank() < query.rank() { 2 } else { at_sequence })?;
    let batch = elements(&query.shape[..query.rank() - 3]).saturating_mul(size(from_end(&query.shape, at_heads)?));
    let queries = from_end(&query.shape, at_sequence)?;
    let share = match computed_blocks(call) {
        Some(share) => share,
        None if queries == keys => causal(size(queries), size(keys)),
        None => 1.0,
    };
    let sizes = Sizes {
        batch,
        queries: size(queries),
        keys: size(keys),
        features: size(from_end(&query.shape, 1)?),
        values: size(from_end(&value.shape, 1)?),
        share,
    };
    Some(sizes.products(pass))
}

/// Returns the share of the blocks of scores that splash attention computes: its second operand numbers them with 0 for
/// a block that is skipped.
fn computed_blocks(call: &Call<'_>) -> Option<f64> {
    if !call.library.name().starts_with("splash_") {
        return None;
    }
    let ValueSource::Result(op, _) = call.op.program.value_source(*call.op.operands().get(1)?) else { return None };
    let view = call.op.program.view(op);
    let blocks = view.def().constant(view)?.to_ints()?;
    let computed = blocks.iter().filter(|&&block| block != 0).count();
    (!blocks.is_empty()).then(|| computed as f64 / blocks.len() as f64)
}

/// Returns the products of a call of cuDNN, whose configuration has all sizes but the features and the kind of mask.
pub(super) fn of_cudnn(call: &Call<'_>, pass: Pass) -> Option<Products> {
    let config: Json = serde_json::from_str(call.library.config?).ok()?;
    let config = config.get("cudnn_fmha_backend_config")?;
    let dims = config.pointer("/intermediate_tensor_shape/dimensions")?.as_array()?;
    let dim = |i: usize| dims.get(i)?.as_str()?.parse::<u64>().ok();
    let features = |i: usize| call.op.operand_tensor(i).and_then(|t| t.shape.last()).map(|&n| size(n));
    let (queries, keys) = (dim(2)?, dim(3)?);
    let is_causal = config.get("mask_type").and_then(Json::as_str).is_some_and(|mask| mask.contains("CAUSAL"));
    let share = if is_causal { causal(queries, keys) } else { 1.0 };
    let window = config.get("sliding_window_length").and_then(Json::as_f64).filter(|&length| length > 0.0);
    let share = window.map_or(share, |length| share.min(length / keys.max(1) as f64));
    let batch = dim(0)?.checked_mul(dim(1)?)?;
    let sizes = Sizes { batch, queries, keys, features: features(0)?, values: features(2)?, share };
    Some(sizes.products(pass))
}
