//! Native code of every op, on the examples of its definition.

use dialect::kernel::{External, Kernel};

use super::check;

/// Returns a program that returns the results of an op's example; `None` for ops that don't compute tensors from
/// tensors.
fn of_example(def: &dyn dialect::op::OpDef, text: &str) -> Option<String> {
    let program = dialect::proofs::example_program(text);
    let ops = program.block_ops(dialect::proofs::example_block(&program));
    let op = program.view(*ops.iter().rev().find(|&&op| program.op_name(op) == def.name())?);
    let computes = match def.kernel(op) {
        Kernel::Nest(_) => true,
        Kernel::External(kind) => !matches!(kind, External::Collective | External::PartitionId | External::ReplicaId),
        Kernel::Control | Kernel::None => false,
    };
    let tensors = op.operand_types().chain(op.result_types()).all(|t| t.tensor().is_some());
    if !computes || !tensors || def.side_effect(op) {
        return None;
    }
    let (args, body) = text[1..].split_once(')')?;
    // The result names before the op's name: `%r =`, `%r:2 =` or `%v, %i =`.
    let before = text[..text.rfind(def.name())?].trim_end_matches('"').trim_end().strip_suffix('=')?;
    let mut names: Vec<&str> = before.split_whitespace().rev().take_while(|w| w.starts_with('%')).collect();
    names.reverse();
    let values: Vec<String> = match names[..] {
        [one] => match one.split_once(':') {
            Some((name, _)) => (0..op.result_count()).map(|i| format!("{name}#{i}")).collect(),
            None => vec![one.to_owned()],
        },
        _ => names.iter().map(|n| n.trim_end_matches(',').to_owned()).collect(),
    };
    let types: Vec<String> = op.result_type_ids().iter().map(|&ty| program.type_text(ty)).collect();
    let types = types.join(", ");
    Some(format!("func.func @main({args}) -> ({types}) {{\n{body}\nreturn {} : {types}\n}}\n", values.join(", ")))
}

#[test]
fn every_op_runs_as_it_is_evaluated() {
    let mut count = 0;
    let mut failures = Vec::new();
    for &def in dialect::ops::OPS {
        for text in def.examples() {
            let Some(program) = of_example(def, text) else { continue };
            if std::panic::catch_unwind(|| check(&program)).is_err() {
                failures.push(program);
            }
            count += 1;
        }
    }
    assert!(failures.is_empty(), "{} of {count}: {}", failures.len(), failures.join("\n"));
    assert!(count >= 220, "only {count} examples run");
}

/// The ops that are run by their reference evaluation, except for those that `import` rewrites as others: none.
const NO_NATIVE_CODE: &[&str] = &[];

#[test]
fn few_ops_have_no_native_code() {
    use dialect::ir::{Loc, build::Builder};
    use dialect::op::Registry;
    use dialect::proofs::Example;
    let reference = |def: &&&'static dyn dialect::op::OpDef| {
        let examples = Example::all_of(**def, &Registry::standard()).expect("examples can be read");
        examples.into_iter().any(|mut e| {
            let external = matches!(def.kernel(e.program.view(e.op)), Kernel::External(External::Reference));
            let mut ops = Vec::new();
            external && e.def.expand(e.op, &mut Builder::new(&mut e.program, &mut ops, Loc::UNKNOWN)).is_none()
        })
    };
    let found: Vec<&str> = dialect::ops::OPS.iter().filter(reference).map(|def| def.name()).collect();
    assert_eq!(found, NO_NATIVE_CODE);
}
