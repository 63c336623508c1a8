//! The memory of a device while it runs a program, as data.

use std::collections::HashMap;

use dialect::buffers::{Buffer, BufferId, Buffers, simplify};
use dialect::ir::{TensorType, Value, ValueSource};
use dialect::memory::MemorySpace;
use dialect::ops::func;
use serde::Serialize;

use crate::compiler::Compiler;
use crate::module::Module;
use crate::place::{place_or_argument, value_name};

/// A device's memory over the steps of a program. The steps are its ops in order; ops of loops count once.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct MemoryUse {
    /// Bytes of the memory that everything is placed in, the peak that `cost` prints. What is in the host's memory
    /// isn't listed.
    pub bytes: u64,
    /// The number of steps.
    pub steps: u32,
    /// The steps at which the needed bytes change, with the bytes from there on.
    pub needed: Vec<(u32, u64)>,
    /// The buffers of at least a thousandth of the memory, the largest first.
    pub largest: Vec<HeldBuffer>,
}

/// A part of the memory that holds one value after another.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct HeldBuffer {
    /// The first value that it holds.
    pub value: String,
    /// Its type.
    pub ty: String,
    /// The number of values that it holds.
    pub values: usize,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its offset in memory, in bytes.
    pub offset: u64,
    /// The first step that needs it.
    pub first: u32,
    /// The last step that needs it.
    pub last: u32,
    /// The source line of its first value, or the name if that is an argument.
    pub of: Option<String>,
}

/// The threshold for listing a buffer, as a fraction of the memory. Smaller buffers are only counted.
const WORTH_NAMING: f64 = 1e-3;
/// The maximum number of listed buffers.
const MOST: usize = 400;

impl Compiler {
    /// Returns the memory of a device while it runs a per-device program; empty for a program without `@main`.
    pub fn memory_use(&self, module: &Module) -> MemoryUse {
        let mut simple = module.program().clone();
        let program = &mut simple;
        let Some(main) = func::function(program, "main") else { return MemoryUse::default() };
        let Some(block) = func::block(program, main) else { return MemoryUse::default() };
        simplify(program, block);
        let program = &*program;
        let plan = Buffers::of(program, main);
        let mut values: HashMap<BufferId, (Value, usize)> = HashMap::new();
        for (&value, &buffer) in &plan.of_value {
            let held = values.entry(buffer).or_insert((value, 0));
            *held = (held.0.min(value), held.1 + 1);
        }
        let mut changes: Vec<(u32, i64)> = Vec::new();
        let mut steps = 0;
        let in_device = |buffer: &&Buffer| buffer.memory == MemorySpace::Device;
        for buffer in plan.buffers.iter().filter(in_device) {
            steps = steps.max(buffer.live.1);
            changes.extend([(buffer.live.0, buffer.bytes as i64), (buffer.live.1 + 1, -(buffer.bytes as i64))]);
        }
        changes.sort_unstable();
        let mut needed: Vec<(u32, u64)> = Vec::new();
        let mut now = 0i64;
        for (step, change) in changes {
            now += change;
            match needed.last_mut() {
                Some(last) if last.0 == step => last.1 = now.unsigned_abs(),
                _ => needed.push((step, now.unsigned_abs())),
            }
        }
        let constants: HashMap<BufferId, dialect::ir::Op> = plan.constants.iter().map(|&(op, id)| (id, op)).collect();
        let mut largest: Vec<(BufferId, u64)> =
            plan.buffers.iter_enumerated().filter(|(_, b)| in_device(b)).map(|(id, b)| (id, b.bytes as u64)).collect();
        largest.retain(|b| b.1 as f64 >= plan.device_bytes as f64 * WORTH_NAMING);
        largest.sort_by_key(|&(id, bytes)| (std::cmp::Reverse(bytes), id));
        largest.truncate(MOST);
        let held = |(id, bytes): (BufferId, u64)| {
            let buffer = plan.buffer(id);
            let (value, count) = values.get(&id).map_or((None, 0), |&(value, count)| (Some(value), count));
            let op = match value.map(|value| program.value_source(value)) {
                Some(ValueSource::Result(op, _)) => Some(op),
                Some(ValueSource::Arg(..)) => None,
                None => constants.get(&id).copied(),
            };
            let name = match (value, op) {
                (Some(value), _) => value_name(program, value),
                (None, Some(op)) => program.op_name(op).to_owned(),
                (None, None) => "a copy".to_owned(),
            };
            let of = match op {
                Some(op) => place_or_argument(program, module.source(), op),
                None => value.map(|_| name.clone()),
            };
            let ty = TensorType::new(&buffer.shape, buffer.element);
            HeldBuffer {
                value: name,
                ty: program.type_data_text(&ty.into()),
                values: count,
                bytes,
                offset: buffer.offset as u64,
                first: buffer.live.0,
                last: buffer.live.1,
                of,
            }
        };
        let largest = largest.into_iter().map(held).collect();
        MemoryUse { bytes: plan.device_bytes as u64, steps, needed, largest }
    }
}
