//! The bytes that each op reads and writes in memory.
//!
//! Ops folded into their users cost nothing; their users read the folded ops' operands instead. An op that updates a
//! part of a buffer that nothing else reads works in that buffer: a loop that stacks the results of its iterations
//! writes each once. On TPUs and GPUs, a value between a product and an elementwise op stays in their common kernel, if
//! nothing else reads it.

use std::cell::RefCell;

use dialect::buffers::Fusion;
use dialect::ir::{Block, Op, OpRef, Program, Uses, Value, ValueSource};
use dialect::kernel::{Contraction, External, Kernel, Nest, Role};
use dialect::memory::{MemorySpaces, Residence};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The most folded ops through which the reader of a value is looked for.
const MOST_READERS: usize = 16;

/// Bytes that an op reads and writes.
#[derive(Clone, Copy, Default)]
pub(super) struct Traffic {
    /// In the device's memory.
    pub(super) device: f64,
    /// From the host's memory to the device.
    pub(super) from_host: f64,
    /// From the device to the host's memory.
    pub(super) to_host: f64,
}

/// What decides the traffic of a program's ops.
pub(super) struct Memory<'a> {
    program: &'a Program,
    fusion: &'a Fusion,
    spaces: &'a MemorySpaces,
    /// The body of `main`, whose arguments belong to the caller.
    main: Block,
    uses: Uses,
    /// The loop nests that are kernels of their own, if elementwise ops run in the kernels of products.
    nests: FxHashMap<Op, NestKind>,
    /// The traffic of ops, because a program is simulated several times.
    known: RefCell<FxHashMap<Op, Traffic>>,
}

/// What decides whether two loop nests become one kernel.
#[derive(Clone, Copy, PartialEq)]
enum NestKind {
    /// A matrix product.
    Product,
    /// It has this many iterations.
    Loops(i64),
}

impl NestKind {
    fn of(nest: &Nest) -> Self {
        let is_matrix = |product: &Contraction| {
            let size = |role| product.size(nest, role);
            size(Role::Contracted) > 1 || size(Role::Left) > 1 && size(Role::Right) > 1
        };
        match Contraction::of(nest).filter(is_matrix) {
            Some(_) => Self::Product,
            None => Self::Loops(nest.loops.iter().fold(1, |n: i64, &loops| n.saturating_mul(loops))),
        }
    }
}

impl<'a> Memory<'a> {
    pub(super) fn new(
        program: &'a Program,
        fusion: &'a Fusion,
        spaces: &'a MemorySpaces,
        main: Block,
        into_products: bool,
    ) -> Self {
        let mut nests = FxHashMap::default();
        if into_products {
            program.walk(main, &mut |op| {
                if !fusion.is_folded(op)
                    && let Kernel::Nest(nest) = program.op(op).def.kernel(program.view(op))
                {
                    nests.insert(op, NestKind::of(&nest));
                }
            });
        }
        Self { program, fusion, spaces, main, uses: Uses::of(program, main), nests, known: RefCell::default() }
    }

    /// Returns the bytes of `op`: of an operand, no more than its loops touch. What is read and written on the host
    /// alone costs the device nothing.
    pub(super) fn traffic(&self, op: Op) -> Traffic {
        *self.known.borrow_mut().entry(op).or_insert_with(|| self.find_traffic(op))
    }

    fn find_traffic(&self, op: Op) -> Traffic {
        let Self { program, fusion, spaces, .. } = *self;
        let view = program.view(op);
        // A folded op's traffic is counted for its reader.
        if view.def().constant(view).is_some() || view.def().terminator() || fusion.is_folded(op) {
            return Traffic::default();
        }
        let kernel = view.def().kernel(view);
        let update = Update::of(view, &kernel).filter(|update| update.buffers.iter().all(|&v| self.is_free(v)));
        let written: f64 = match &update {
            Some(update) => update.parts.iter().map(|&v| bytes_of(program, v)).sum(),
            None => view.results().filter(|&v| !self.is_inside(v)).map(|v| bytes_of(program, v)).sum(),
        };
        let touched = match kernel {
            Kernel::Nest(nest) => nest.loops.iter().map(|&n| n.max(0) as f64).product(),
            _ => f64::INFINITY,
        };
        let read = |v: Value| {
            if let Some(update) = &update
                && update.buffers.contains(&v)
            {
                return if update.adds { written } else { 0.0 };
            }
            if self.is_inside(v) {
                return 0.0;
            }
            let element = program.tensor_type(v).map_or(0, |t| t.element.bytes()) as f64;
            bytes_of(program, v).min(touched * element)
        };
        if !spaces.any_on_host() {
            let device = written + fusion.reads(program, op).iter().map(|s| read(s.value)).sum::<f64>();
            return Traffic { device, ..Traffic::default() };
        }
        let writes_host = view.results().any(|v| spaces.is_on_host(v));
        let mut traffic = Traffic { device: if writes_host { 0.0 } else { written }, ..Traffic::default() };
        for value in fusion.reads(program, op).iter().map(|s| s.value) {
            match (writes_host, spaces.is_on_host(value)) {
                (false, false) => traffic.device += read(value),
                (false, true) => traffic.from_host += read(value),
                // Positions are sent along with the request for the copy.
                (true, false) if program.tensor_type(value).is_some_and(|t| t.rank() > 0) => {
                    traffic.to_host += read(value);
                }
                (true, _) => {}
            }
        }
        traffic
    }

    /// Returns whether a value stays in the kernel of a product: the op that makes it and the only one that reads it
    /// are the product and an elementwise op. A kernel has one product.
    fn is_inside(&self, value: Value) -> bool {
        let ValueSource::Result(maker, _) = self.program.value_source(value) else { return false };
        if !self.nests.contains_key(&maker) {
            return false;
        }
        let Some(reader) = self.reader(value) else { return false };
        if self.is_product(maker) {
            return self.is_elementwise(reader, value);
        }
        let follows = |source: Value| {
            let made_by = self.program.value_source(source);
            matches!(made_by, ValueSource::Result(op, _) if self.is_product(op)) && self.reader(source) == Some(maker)
        };
        self.is_product(reader)
            && self.is_elementwise(maker, value)
            && !self.fusion.reads(self.program, maker).iter().any(|source| follows(source.value))
    }

    /// Returns the only op whose kernel reads a value; `None` also where more than [`MOST_READERS`] ops read it.
    fn reader(&self, value: Value) -> Option<Op> {
        let mut folded: SmallVec<[Op; MOST_READERS]> = SmallVec::new();
        let mut values: SmallVec<[Value; MOST_READERS]> = SmallVec::from_slice(&[value]);
        let mut reader = None;
        while let Some(value) = values.pop() {
            for &(op, _) in self.uses.get(value) {
                if folded.contains(&op) {
                    continue;
                }
                if self.fusion.is_folded(op) {
                    if folded.len() == MOST_READERS {
                        return None;
                    }
                    folded.push(op);
                    values.extend(self.program.results(op));
                } else if *reader.get_or_insert(op) != op {
                    return None;
                }
            }
        }
        reader
    }

    fn is_product(&self, op: Op) -> bool {
        self.nests.get(&op) == Some(&NestKind::Product)
    }

    /// Returns whether a kernel computes one element for each element of `value`.
    fn is_elementwise(&self, op: Op, value: Value) -> bool {
        let elements = |v: Value| {
            self.program.tensor_type(v).map(|ty| ty.shape.iter().fold(1, |n: i64, &size| n.saturating_mul(size)))
        };
        self.nests.get(&op).is_some_and(|&kind| {
            elements(value).is_some_and(|n| kind == NestKind::Loops(n))
                && self.program.results(op).all(|result| elements(result) == elements(value))
        })
    }

    /// Returns whether the only op that reads a buffer may write into it.
    fn is_free(&self, buffer: Value) -> bool {
        let is_own = match self.program.value_source(buffer) {
            ValueSource::Arg(block, _) => block != self.main,
            ValueSource::Result(op, _) => self.program.op(op).def.constant(self.program.view(op)).is_none(),
        };
        is_own && self.fusion.in_memory(self.program, buffer) && self.uses.get(buffer).len() == 1
    }
}

/// An op whose results are operands of which it changes parts.
struct Update {
    buffers: Vec<Value>,
    /// The new contents of the parts.
    parts: Vec<Value>,
    /// Whether it also reads what it changes.
    adds: bool,
}

impl Update {
    fn of(view: OpRef<'_>, kernel: &Kernel) -> Option<Self> {
        let operands = view.operands();
        match kernel {
            Kernel::External(External::Scatter(scatter)) => {
                let n = scatter.dims.inputs;
                Some(Self { buffers: operands[..n].to_vec(), parts: operands[n + 1..].to_vec(), adds: true })
            }
            _ if view.def().residence(view) == Residence::Updated => {
                let (&buffer, &part) = (operands.first()?, operands.get(1)?);
                Some(Self { buffers: vec![buffer], parts: vec![part], adds: false })
            }
            _ => None,
        }
    }
}

/// Returns the bytes of a value on one device; 0 for tokens and unknown sizes.
pub(crate) fn bytes_of(program: &Program, value: Value) -> f64 {
    program.tensor_type(value).and_then(|t| t.bytes()).unwrap_or(0) as f64
}
