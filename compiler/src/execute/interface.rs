//! The argument and result types of a program, and the blocks of them that one of several processes needs.

use std::ops::Range;

use dialect::ir::TensorType;
use dialect::sharding::Layout;
use dialect::signature::Signature;

use super::{Block, replicas_and_partitions};
use crate::module::Module;

/// The argument and result types of a program, and the number of devices it runs on.
#[derive(Clone, PartialEq, Debug)]
pub struct Interface {
    /// The global types of `@main`'s arguments.
    pub arguments: Vec<TensorType>,
    /// The global types of `@main`'s results.
    pub results: Vec<TensorType>,
    /// The number of replicas, each with its own arguments.
    pub replicas: usize,
    /// The number of devices that run one replica.
    pub partitions: usize,
}

impl Interface {
    /// Returns the interface of a program at any stage; `None` if it has no `@main`, or if an argument or result isn't
    /// a tensor.
    pub fn of(module: &Module) -> Option<Self> {
        let mut program = module.program().clone();
        let signature = Signature::of(&mut program)?;
        let types = |sides: &[dialect::signature::Side]| sides.iter().map(|s| s.global.clone()).collect();
        let (replicas, partitions) = replicas_and_partitions(&program);
        let (arguments, results) = (types(&signature.arguments), types(&signature.results));
        Some(Self { arguments, results, replicas, partitions })
    }
}

/// Returns, for each layout, the smallest block that holds the shards of all devices of one process in one replica.
/// `held` are the devices of the process.
pub(super) fn blocks(layouts: &[Layout], partitions: usize, held: Range<usize>, replica: usize) -> Vec<Block> {
    let mine = || held.clone().filter(|device| device / partitions == replica).map(|device| device % partitions);
    let block = |layout: &Layout| {
        let rank = layout.ty.rank();
        let (mut start, mut end) = (vec![i64::MAX; rank], vec![0; rank]);
        for device in mine() {
            let (first, sizes) = layout.range(device);
            for d in 0..rank {
                start[d] = start[d].min(first[d]);
                end[d] = end[d].max(first[d] + sizes[d]);
            }
        }
        let start: Vec<i64> = start.iter().zip(&end).map(|(&start, &end)| start.min(end)).collect();
        let sizes = start.iter().zip(&end).map(|(start, end)| end - start).collect();
        Block { start, sizes }
    };
    layouts.iter().map(block).collect()
}

impl Interface {
    /// Returns the bytes of the global arguments and of the global results of all replicas.
    pub(super) fn bytes(&self) -> (f64, f64) {
        let of = |types: &[TensorType]| types.iter().map(|t| t.bytes().unwrap_or(usize::MAX) as f64).sum::<f64>();
        let replicas = self.replicas as f64;
        (of(&self.arguments) * replicas, of(&self.results) * replicas)
    }

    /// Returns, for each replica and argument, the block that the devices of process `rank` need.
    pub fn blocks(module: &Module, rank: usize, ranks: usize) -> Option<Vec<Vec<Block>>> {
        let mut program = module.program().clone();
        let signature = Signature::of(&mut program)?;
        let (replicas, partitions) = replicas_and_partitions(&program);
        let each = replicas * partitions / ranks.max(1);
        let layouts: Vec<Layout> = signature.arguments.iter().map(|side| signature.layout(side)).collect();
        let of = |replica| blocks(&layouts, partitions, rank * each..(rank + 1) * each, replica);
        Some((0..replicas).map(of).collect())
    }
}
