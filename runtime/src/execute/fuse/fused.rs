//! A fused kernel: one loop nest that computes a value from buffers, with the elementwise ops, broadcasts, slices and
//! pads around it folded in.
//!
//! It is a [`Nest`](dialect::kernel::Nest) whose body is a hash-consed expression graph, so that an element loaded or
//! computed twice at one position is loaded or computed only once.

use std::ops::Range;

use dialect::define_id;
use dialect::id::TiVec;
use dialect::ir::{ElementType, Value};
use dialect::kernel::{Guard, Index};
use dialect::scalar::{Scalar, ScalarOp};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

define_id!(
    /// A node of the expression graph.
    pub(in crate::execute) Node, "node"
);

/// The computation of a node.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::execute) enum NodeData {
    /// An element of buffer `buffer`, or `outside` where a guard fails. Without `outside` the value there is zero and
    /// unused.
    Load {
        /// The number of the buffer.
        buffer: usize,
        /// The index of the element.
        index: SmallVec<[Index; 4]>,
        /// Conditions under which the element exists.
        guards: Vec<Guard>,
        /// The value where the element doesn't exist.
        outside: Option<Node>,
    },
    /// A constant.
    Const(Scalar),
    /// An index expression as a number.
    Index(Index),
    /// An operation.
    Op(ScalarOp, SmallVec<[Node; 3]>),
    /// `then` where all guards hold, else `otherwise`.
    Guarded {
        /// The conditions.
        guards: Vec<Guard>,
        /// The value where they hold.
        then: Node,
        /// The value elsewhere.
        otherwise: Node,
    },
    /// The value of an accumulator before this iteration.
    Accumulator(usize),
}

/// An accumulator of a reduction.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::execute) struct Accumulator {
    /// Its initial value: a node that uses no loops.
    pub init: Node,
    /// Its value after an iteration.
    pub next: Node,
}

/// The memory of a result.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::execute) struct Output {
    /// The type that is stored.
    pub element: ElementType,
    /// In a kernel with accumulators, the element that each iteration of all loops stores. `None` for results that have
    /// an element for each iteration of the parallel loops, in the order of iterations.
    pub each: Option<Index>,
    /// The buffer that the result overwrites in place, each element right after it is read.
    pub in_place: Option<usize>,
}

impl Output {
    /// Returns a result in memory of its own, with an element for each iteration of the parallel loops.
    pub(in crate::execute) fn plain(element: ElementType) -> Self {
        Self { element, each: None, in_place: None }
    }
}

/// The place of a stored value: part `part` of the `width` parts of each element of a result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::execute) struct Place {
    /// The number of the result.
    pub result: usize,
    /// The type that is stored.
    pub element: ElementType,
    /// The number of parts of an element.
    pub width: i64,
    /// The number of the part.
    pub part: i64,
}

/// A fused loop nest.
#[derive(Clone, Default, Debug)]
pub(in crate::execute) struct Fused {
    /// Trip counts, parallel loops first.
    pub loops: SmallVec<[i64; 6]>,
    /// Number of parallel loops.
    pub parallel: usize,
    /// Buffers it reads, with their element types and shapes.
    pub buffers: Vec<(Value, ElementType, SmallVec<[i64; 4]>)>,
    /// The graph, in topological order (operands before users).
    pub nodes: TiVec<Node, (NodeData, ElementType)>,
    /// If empty, `results` are stored in every iteration.
    pub accumulators: Vec<Accumulator>,
    /// For each result, its value, or the value of its accumulator after an iteration. Results of accumulators come
    /// first.
    pub results: Vec<Node>,
    /// The place of each result.
    pub outputs: SmallVec<[Output; 2]>,
    /// For a scan: the parallel loop that carries the accumulators and stores their values in each iteration, and
    /// whether it runs backwards.
    pub scan: Option<(usize, bool)>,
    known: FxHashMap<String, Node>,
}

impl Fused {
    /// Returns a kernel with the same loops, buffers and types of results, without nodes.
    pub(in crate::execute) fn frame(&self) -> Self {
        Self {
            loops: self.loops.clone(),
            parallel: self.parallel,
            buffers: self.buffers.clone(),
            outputs: self.outputs.clone(),
            scan: self.scan,
            ..Self::default()
        }
    }

    /// Returns the node for `data`: an existing one if there is one.
    pub(in crate::execute) fn node(&mut self, data: NodeData, ty: ElementType) -> Node {
        let key = format!("{ty:?}{data:?}");
        if let Some(&n) = self.known.get(&key) {
            return n;
        }
        let n = self.nodes.push_and_get_key((data, ty));
        self.known.insert(key, n);
        n
    }

    /// Returns the index of the buffer of `value`.
    pub(in crate::execute) fn buffer(&mut self, value: Value, element: ElementType, shape: &[i64]) -> usize {
        if let Some(i) = self.buffers.iter().position(|b| b.0 == value) {
            return i;
        }
        self.buffers.push((value, element, SmallVec::from_slice(shape)));
        self.buffers.len() - 1
    }

    /// Returns the place of each of [`Fused::results`]. The two parts of a complex number are consecutive.
    pub(in crate::execute) fn places(&self) -> SmallVec<[Place; 4]> {
        let mut places = SmallVec::new();
        for (result, &Output { element: ty, .. }) in self.outputs.iter().enumerate() {
            let width = if ty.is_complex() { 2 } else { 1 };
            places.extend((0..width).map(|part| Place { result, element: ty.part(), width, part }));
        }
        places
    }

    /// Returns the ranges of all loop variables.
    pub(in crate::execute) fn ranges(&self) -> SmallVec<[Range<i64>; 6]> {
        self.loops.iter().map(|&n| 0..n).collect()
    }

    /// Returns the buffers that results overwrite.
    pub(in crate::execute) fn overwritten(&self) -> impl Iterator<Item = usize> + '_ {
        self.outputs.iter().filter_map(|output| output.in_place)
    }

    /// Returns the element type of a node.
    pub(in crate::execute) fn ty(&self, node: Node) -> ElementType {
        self.nodes[node].1
    }

    /// Returns the computation of a node.
    pub(in crate::execute) fn data(&self, node: Node) -> &NodeData {
        &self.nodes[node].0
    }
}
