//! A key by which equal ops are found.

use rustc_hash::FxHashMap;

use super::{Op, Program, Value};

/// Appends a key of an op: names, attributes (except those named `ignored`) and types of the op and of all ops inside
/// it, as ids of hash-consed tables. In one program, ops of equal keys compute the same from equal operands.
pub fn op_key(program: &Program, op: Op, ignored: &str, key: &mut Vec<u32>) {
    let data = program.op(op);
    describe(program, op, ignored, &FxHashMap::default(), key);
    if !data.regions.is_empty() {
        let mut numbers = FxHashMap::default();
        number(program.results(op), &mut numbers);
        inside(program, op, ignored, &mut numbers, key);
    }
    let values = data.operands.iter().copied().chain(program.results(op));
    key.extend(values.map(|v| program.value_type(v).index() as u32));
}

/// Appends an op without its regions: its operands by the numbers in `numbers` of the values defined inside the outer
/// op.
fn describe(program: &Program, op: Op, ignored: &str, numbers: &FxHashMap<Value, u32>, key: &mut Vec<u32>) {
    let data = program.op(op);
    key.push(data.name.index() as u32);
    let start = key.len();
    key.push(0);
    for &(name, attr) in &data.attrs {
        if program.name_text(name) != ignored {
            key.extend([name.index() as u32, attr.index() as u32]);
        }
    }
    key[start] = (key.len() - start) as u32;
    key.push(data.operands.len() as u32);
    if !numbers.is_empty() {
        key.extend(data.operands.iter().map(|v| numbers.get(v).copied().unwrap_or(u32::MAX)));
    }
}

/// Appends the ops inside an op.
fn inside(program: &Program, op: Op, ignored: &str, numbers: &mut FxHashMap<Value, u32>, key: &mut Vec<u32>) {
    for &block in program.op(op).regions.iter().flat_map(|&r| program.region_blocks(r)) {
        number(program.block_args(block).iter().copied(), numbers);
        for &inner in program.block_ops(block) {
            describe(program, inner, ignored, numbers, key);
            number(program.results(inner), numbers);
            inside(program, inner, ignored, numbers, key);
        }
    }
}

fn number(values: impl Iterator<Item = Value>, numbers: &mut FxHashMap<Value, u32>) {
    for value in values {
        let next = numbers.len() as u32;
        numbers.insert(value, next);
    }
}
