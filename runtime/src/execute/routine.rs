//! Machine code for the scalar computations that native code calls.

use dialect::ir::Value;
use dialect::kernel::{Arg, Body, Index, Inst};
use smallvec::{SmallVec, smallvec};

use super::emit::{Target, emit};
use super::fused::{Fused, Node, NodeData};
use crate::native::{MOST, Routine, Times};
#[cfg(test)]
use {
    super::arith::Math,
    crate::jit::{Engine, KernelFn},
    crate::native::Native,
    std::collections::BTreeMap,
    std::sync::{Mutex, PoisonError},
};

/// The text of the kernel of a routine, a function `name`: its parameters are the addresses of inputs, accumulators and
/// results, and for many elements the range of them.
pub(super) fn text(routine: &Routine, name: &str, target: Target) -> String {
    let mut text = String::new();
    // Callers come with few elements as well as with many: LLVM writes loops for both.
    let target = Target { threads: 2, vector_bytes: 0, ..target };
    let ranges = emit(&kernel(routine.body(), routine.times()), name, target, &mut text);
    debug_assert_eq!(ranges.is_some(), routine.times() == Times::Many);
    text
}

fn kernel(body: &Body, times: Times) -> Fused {
    let mut fused = Fused::default();
    let shape: SmallVec<[i64; 4]> = match times {
        Times::One => smallvec![],
        Times::Many => smallvec![MOST as i64],
    };
    fused.loops = shape.iter().copied().collect();
    fused.parallel = shape.len();
    let index: SmallVec<[Index; 4]> = shape.iter().map(|_| Index::Loop(0)).collect();
    let types: Vec<_> = body.inputs.iter().chain(&body.accumulators).copied().collect();
    let loads: Vec<Node> = types
        .iter()
        .enumerate()
        .map(|(buffer, &ty)| {
            // No op's values: all that counts is that they differ.
            fused.buffers.push((Value::new(buffer), ty, shape.clone()));
            fused.node(NodeData::Load { buffer, index: index.clone(), guards: Vec::new(), outside: None }, ty)
        })
        .collect();
    let mut insts: Vec<Node> = Vec::with_capacity(body.insts.len());
    let node = |arg: Arg, insts: &[Node]| match arg {
        Arg::Input(i) => loads[i],
        Arg::Accumulator(i) => loads[body.inputs.len() + i],
        Arg::Inst(i) => insts[i],
    };
    for inst in &body.insts {
        let data = match inst {
            Inst::Op { op, args, .. } => NodeData::Op(*op, args.iter().map(|&a| node(a, &insts)).collect()),
            Inst::Const(value, _) => NodeData::Const(*value),
            Inst::Index(index, _) => NodeData::Index(index.clone()),
        };
        let made = fused.node(data, inst.ty());
        insts.push(made);
    }
    fused.results = body.results.iter().map(|&r| node(r, &insts)).collect();
    fused.result_types = body.results.iter().map(|&r| body.arg_type(r)).collect();
    fused
}

/// Native code with its routines compiled, each distinct one once.
#[cfg(test)]
pub(crate) fn linked(mut native: Box<dyn Native>) -> Result<Box<dyn Native>, String> {
    static KNOWN: Mutex<BTreeMap<String, KernelFn>> = Mutex::new(BTreeMap::new());
    let target = Target { threads: 1, math: Math::Fast, vector_bytes: 16 };
    for routine in native.routines().into_iter().filter(|r| r.compiles()) {
        let text = text(routine, "routine", target);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains_key(&text) {
            let module = Engine::new()?.compile_all(std::slice::from_ref(&text), None)?;
            known.insert(text.clone(), module.function("routine").ok_or("a routine isn't compiled")?);
        }
        routine.link(known[&text].clone());
    }
    Ok(native)
}
