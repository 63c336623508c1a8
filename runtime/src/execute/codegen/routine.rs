//! Machine code for the scalar computations that native code calls.

#![allow(unsafe_code, reason = "machine code takes addresses of elements")]

use std::sync::Arc;

use dialect::ir::Value;
use dialect::kernel::{Arg, Body, Index, Inst};
use smallvec::{SmallVec, smallvec};

use super::{Target, emit};
use crate::collective::Combiner;
use crate::execute::fuse::fused::{Fused, Node, NodeData, Output};
use crate::kernels::native::{MOST, Routine, Times, read, write};
#[cfg(test)]
use {
    super::arith::Math,
    crate::execute::tuning::Tuning,
    crate::jit::{Engine, KernelFn},
    crate::kernels::native::Native,
    std::collections::BTreeMap,
    std::sync::{Mutex, PoisonError},
};

/// Returns the text of the kernel of a routine, a function `name`. Its parameters are the addresses of inputs,
/// accumulators and results, and for many elements their range.
pub(in crate::execute) fn text(routine: &Routine, name: &str, target: Target) -> String {
    let mut text = String::new();
    // Callers pass few elements as well as many. LLVM writes loops for both cases.
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
            // These buffers aren't values of ops. They only have to differ.
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
    fused.outputs = body.results.iter().map(|&r| Output::plain(body.arg_type(r))).collect();
    fused
}

/// Returns a routine of two inputs and a result as a function by which a collective combines elements.
pub(in crate::execute) fn combiner(routine: Routine) -> Combiner {
    let widths = [0, 1].map(|i| routine.body().inputs.get(i).map_or(0, |ty| ty.bytes()));
    Arc::new(move |sums, values, combined, count| {
        let bytes = [(sums, widths[0]), (values, widths[1]), (&*combined, widths[0])];
        assert!(bytes.iter().all(|(all, width)| count * width <= 8 * all.len()), "elements outside of their memory");
        // SAFETY: the assertion shows that each buffer has `count` elements. Buffers of `u64` are aligned for all
        // element types, and `combined` is borrowed mutably.
        unsafe { routine.call(&[read(sums), read(values), write(combined)], count) };
    })
}

/// Returns native code with its routines compiled. Each distinct routine is compiled once per process.
#[cfg(test)]
pub(crate) fn linked(mut native: Box<dyn Native>) -> Result<Box<dyn Native>, String> {
    static KNOWN: Mutex<BTreeMap<String, KernelFn>> = Mutex::new(BTreeMap::new());
    let target = Target { threads: 1, math: Math::Fast, vector_bytes: 16, tuning: Tuning::SHIPPED };
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

#[cfg(test)]
mod tests {
    use dialect::diagnostic::Diagnostics;
    use dialect::ir::ElementType;
    use dialect::op::Collective;
    use dialect::ops::func;
    use dialect::scalar::Scalar;

    use super::*;
    use crate::collective::Plan;

    /// Returns the all_reduce of a program with this region over elements of a type.
    fn all_reduce(ty: &str, region: &str) -> Collective {
        let mut diagnostics = Diagnostics::default();
        let text = format!(
            "func.func @main(%x: tensor<7x{ty}>) -> tensor<7x{ty}> {{
              %r = \"stablehlo.all_reduce\"(%x) <{{replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}}> ({{
              ^bb0(%a: tensor<{ty}>, %b: tensor<{ty}>):
                {region}
                stablehlo.return %c : tensor<{ty}>
              }}) : (tensor<7x{ty}>) -> tensor<7x{ty}>
              return %r : tensor<7x{ty}>
            }}"
        );
        let program = dialect::parse(&text, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:?}");
        let main = func::function(&program, "main").expect("a main");
        let op = program.block_ops(func::block(&program, main).expect("a body"))[0];
        let view = program.view(op);
        view.def().collective(view).expect("a collective")
    }

    /// Compiled code combines elements to the same bits as the evaluated region.
    #[test]
    fn regions_of_collectives_are_compiled() {
        let regions = [
            "%d = stablehlo.add %a, %b : tensor<T> %c = stablehlo.subtract %d, %a : tensor<T>",
            "%p = stablehlo.compare LT, %b, %a, C : (tensor<T>, tensor<T>) -> tensor<i1> %c = stablehlo.select %p, %b, %a : tensor<i1>, tensor<T>",
            "%c = stablehlo.add %b, %b : tensor<T>",
            "%c = stablehlo.add %a, %b : tensor<T>",
        ];
        let types = [
            ("f32", "TOTALORDER"),
            ("f64", "FLOAT"),
            ("bf16", "FLOAT"),
            ("f8E4M3FN", "TOTALORDER"),
            ("complex<f64>", "FLOAT"),
            ("i32", "SIGNED"),
            ("ui8", "UNSIGNED"),
            ("i1", "UNSIGNED"),
        ];
        let mut random = fastrand::Rng::with_seed(7);
        let mut compiled = 0;
        for (ty, comparison) in types {
            for region in regions.iter().filter(|r| ty != "i1" || !r.contains("subtract")) {
                let region = region.replace("<T>", &format!("<{ty}>")).replace(", C :", &format!(", {comparison} :"));
                // Complex numbers have no order.
                let region = if ty.contains("complex") { region.replace("LT", "NE") } else { region };
                let collective = all_reduce(ty, &region);
                let element = collective.computation.as_ref().expect("a scalar computation").inputs[0];
                let plan = Plan::new(&collective, element, &[7], 3);
                let Some(body) = plan.uncompiled() else { continue };
                let mut routine = Routine::new(body.clone(), Times::Many);
                assert!(routine.compiles(), "{ty} {region}");
                let target = Target { threads: 1, math: Math::Fast, vector_bytes: 16, tuning: Tuning::SHIPPED };
                let text = text(&routine, "routine", target);
                let module = Engine::new().expect("an engine").compile_all(&[text], None).expect("compiles");
                routine.link(module.function("routine").expect("is there"));
                let mut by_code = plan.clone();
                by_code.link(combiner(routine));
                compiled += 1;
                for count in [0, 1, 7, 1300] {
                    let mut operand = || {
                        let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
                        let mut bytes = Vec::new();
                        for _ in 0..count {
                            let mut number = || match random.usize(..12) {
                                i if i < special.len() => special[i],
                                _ => f64::from(random.i16(-64..64)) / 8.0,
                            };
                            let value = match element {
                                ElementType::C128 => Scalar::Complex(number(), number()),
                                _ if element.is_float() => Scalar::Float(number()).round(element),
                                _ => Scalar::Int(random.i64(..).into()).round(element),
                            };
                            value.encode(element, &mut bytes);
                        }
                        bytes
                    };
                    let operands = [operand(), operand(), operand()];
                    let parts: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
                    let [mut got, mut want] = [(); 2].map(|()| vec![1; operands[0].len()]);
                    by_code.combine(&parts, &mut got);
                    plan.combine(&parts, &mut want);
                    let elements = |bytes: &[u8]| {
                        let each = bytes.chunks(element.bytes()).map(|b| format!("{:?}", Scalar::decode(element, b)));
                        each.collect::<Vec<String>>()
                    };
                    assert_eq!(elements(&got), elements(&want), "{ty} {region}");
                }
            }
        }
        // Sums of most types already have code. Sums of floats of a byte and of complex numbers don't.
        assert_eq!(compiled, 7 * 3 + 2 + 2);
    }
}
