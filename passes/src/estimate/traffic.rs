//! What of a program's values ever reaches memory, and what each op reads and writes there.
//!
//! Compilers fuse: the result of an op that only computes elements from elements is kept in registers when one other
//! nest reads it, and repeated in every reader when it is made from little (broadcasts, iotas). Such a value costs
//! nothing; its readers read what it was made from.

use dialect::ir::{Block, Op, Program, Uses, Value};
use dialect::kernel::Kernel;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Values that a fused op reads in place of its operand.
type Sources = SmallVec<[Value; 4]>;

/// A fused op that would read more values than this is kept in memory instead.
const MAX_SOURCES: usize = 32;

/// What the ops under one block read.
pub(super) struct Traffic {
    /// For values that never reach memory: what their readers read instead.
    fused: FxHashMap<Value, Sources>,
}

impl Traffic {
    /// Looks at everything under `block`.
    pub(super) fn of(program: &Program, block: Block) -> Self {
        let uses = Uses::of(program, block);
        let mut places = Places::default();
        note_places(program, block, &mut places);
        let mut traffic = Self { fused: FxHashMap::default() };
        program.walk(block, &mut |op| {
            if let Some((value, sources)) = traffic.fuse(program, &uses, &places, op) {
                traffic.fused.insert(value, sources);
            }
        });
        traffic
    }

    /// Whether the value is kept in memory.
    pub(super) fn in_memory(&self, value: Value) -> bool {
        !self.fused.contains_key(&value)
    }

    /// The values in memory that `op` reads, each once.
    pub(super) fn reads(&self, program: &Program, op: Op) -> Sources {
        let mut sources = Sources::new();
        for &operand in &program.op(op).operands {
            match self.fused.get(&operand) {
                Some(inner) => inner.iter().for_each(|&v| add(&mut sources, v)),
                None => add(&mut sources, operand),
            }
        }
        sources
    }

    /// Bytes `op` reads and writes: of an operand no more than its loops touch.
    pub(super) fn bytes(&self, program: &Program, op: Op) -> f64 {
        let view = program.view(op);
        if view.def().constant(view).is_some() || view.def().terminator() {
            return 0.0;
        }
        let written: f64 = view.results().filter(|&v| self.in_memory(v)).map(|v| bytes_of(program, v)).sum();
        if written == 0.0 && view.result_count() > 0 {
            // Its reader does the work.
            return 0.0;
        }
        let touched = match view.def().kernel(view) {
            Kernel::Nest(nest) => nest.loops.iter().map(|&n| n.max(0) as f64).product(),
            _ => f64::INFINITY,
        };
        let read = |&v: &Value| {
            let element = program.tensor_type(v).map_or(0, |t| t.element.bytes()) as f64;
            bytes_of(program, v).min(touched * element)
        };
        written + self.reads(program, op).iter().map(read).sum::<f64>()
    }

    /// The result of `op` and what stands for it, if it is fused into its readers.
    fn fuse(&self, program: &Program, uses: &Uses, places: &Places, op: Op) -> Option<(Value, Sources)> {
        let view = program.view(op);
        if view.result_count() != 1 {
            return None;
        }
        let value = view.results().next()?;
        if view.def().constant(view).is_some_and(|l| l.stored_bytes().len() <= 16) {
            return Some((value, Sources::new()));
        }
        let Kernel::Nest(nest) = view.def().kernel(view) else { return None };
        if nest.loops.len() > nest.parallel {
            return None;
        }
        let readers = uses.get(value);
        let fusing = |&(reader, _): &(Op, u32)| {
            let reader = program.view(reader);
            matches!(reader.def().kernel(reader), Kernel::Nest(_)) && reader.def().flops(reader) == 0.0
        };
        if readers.is_empty() || !readers.iter().all(fusing) {
            return None;
        }
        let sources = self.reads(program, op);
        let small = sources.iter().map(|&v| bytes_of(program, v)).sum::<f64>() * 4.0 <= bytes_of(program, value);
        let fits = (readers.len() == 1 || small) && sources.len() <= MAX_SOURCES;
        // A reader in a loop reads every time round; what is made outside is then better kept.
        let beside = readers.iter().all(|(reader, _)| places.get(reader) == places.get(&op));
        (fits && (beside || small)).then_some((value, sources))
    }
}

/// The block each op stands in.
type Places = FxHashMap<Op, Block>;

fn note_places(program: &Program, block: Block, places: &mut Places) {
    for &op in program.block_ops(block) {
        places.insert(op, block);
        for &region in &program.op(op).regions {
            for &inner in program.region_blocks(region) {
                note_places(program, inner, places);
            }
        }
    }
}

/// Bytes of a value on one device; 0 for tokens and sizes that aren't known.
pub(crate) fn bytes_of(program: &Program, value: Value) -> f64 {
    program.tensor_type(value).and_then(|t| t.bytes()).unwrap_or(0) as f64
}

fn add(sources: &mut Sources, value: Value) {
    if !sources.contains(&value) {
        sources.push(value);
    }
}
