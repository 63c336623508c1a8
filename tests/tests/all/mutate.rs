//! No text makes shardc panic or hang: tests programs of the corpus, of the lit tests and of the ops' examples, mutated
//! at random from fixed seeds.
//!
//! A program that is still valid must print, and the output must parse and print the same. It is compiled too: passes
//! may reject it, but their output must be valid and parse, and it runs if it is small. `RANDOM_PROGRAMS=1000000` runs
//! more, `RANDOM_FROM=123456` starts at another seed, `MUTATE_ONLY=while` mutates only programs that contain that text.

use std::sync::atomic::{AtomicUsize, Ordering};

use dialect::diagnostic::Diagnostics;
use dialect::eval::Lanes;
use dialect::ir::{Program, TensorType};
use dialect::literal::Literal;
use dialect::op::Control;
use dialect::ops::func;
use dialect::scalar::Scalar;
use shardc_tests::attempt::try_all;
use shardc_tests::mutation::{Original, corpus, mutated};

/// The number of mutations per run.
const COUNT: u64 = 100_000;
/// The limit, both in bytes moved and in operations computed, up to which a program is run.
const SMALL: f64 = 1e5;

#[test]
fn damaged_programs_give_diagnostics() {
    let corpus = corpus();
    let only = std::env::var("MUTATE_ONLY").unwrap_or_default();
    let victims: Vec<&Original> = corpus.iter().filter(|o| o.text.contains(&only)).collect();
    assert!(!victims.is_empty(), "no program contains {only:?}");
    let (valid, rejected) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    try_all("mutate", COUNT, cores, |seed| {
        let text = mutated(&victims, &corpus, seed);
        match judge(&text) {
            Ok(true) => valid.fetch_add(1, Ordering::Relaxed),
            Ok(false) => rejected.fetch_add(1, Ordering::Relaxed),
            Err(why) => return Some((why, text.into_bytes())),
        };
        None
    });
    // Mutations must be neither so small that everything stays valid nor so large that nothing does.
    let (valid, rejected) = (valid.into_inner(), rejected.into_inner());
    println!("{valid} valid, {rejected} rejected");
    let all = valid + rejected;
    assert!(all < 100 || valid * 50 > all && rejected * 10 > all, "{valid} valid, {rejected} rejected");
}

/// Returns whether `text` is a valid program; an error if it can't be printed and parsed again.
fn judge(text: &str) -> Result<bool, String> {
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    if !diagnostics.has_errors() {
        dialect::verify(&program, &mut diagnostics);
    }
    for d in diagnostics.iter() {
        let wrong = d.labels.iter().find(|l| l.0.start > l.0.end || l.0.end as usize > text.len());
        if let Some((span, _)) = wrong {
            return Err(format!("'{}' points at {span:?} of {} bytes", d.message, text.len()));
        }
    }
    if diagnostics.has_errors() {
        return Ok(false);
    }
    let printed = dialect::print(&program);
    let mut diagnostics = Diagnostics::default();
    let again = dialect::parse(&printed, &mut diagnostics);
    if let Some(d) = diagnostics.iter().next() {
        return Err(format!("what was printed doesn't read: {}", d.message));
    }
    let second = dialect::print(&again);
    if printed != second {
        let line = printed.lines().zip(second.lines()).find(|(a, b)| a != b);
        return Err(format!("what was printed prints differently: {line:?}"));
    }
    let mut program = program;
    let steps = passes::Registry::standard().parse("compile").expect("there is such a pipeline");
    let report = passes::run_passes(&mut program, &steps, &mut |_, _| {});
    if let Some(pass) = report.broken_by {
        let messages: Vec<&str> = report.diagnostics.iter().map(|d| d.message.as_str()).collect();
        return Err(format!("{pass} makes an invalid program: {messages:?}"));
    }
    if report.ok() {
        per_device(&mut program)?;
    }
    Ok(true)
}

/// Checks that the per-device program parses again, can be priced, and runs if it is small.
fn per_device(program: &mut Program) -> Result<(), String> {
    let printed = dialect::print(program);
    let mut diagnostics = Diagnostics::default();
    let again = dialect::parse(&printed, &mut diagnostics);
    dialect::verify(&again, &mut diagnostics);
    if let Some(d) = diagnostics.iter().next() {
        return Err(format!("the compiled program doesn't read: {}", d.message));
    }
    if dialect::print(&again) != printed {
        return Err("the compiled program prints differently when it was read".to_owned());
    }
    let estimate = passes::estimate::estimate(program, &passes::estimate::Machine::flat(Default::default()));
    if !(estimate.step_seconds >= 0.0 && estimate.peak_bytes >= 0.0) {
        return Err(format!("a step takes {} s and {} bytes", estimate.step_seconds, estimate.peak_bytes));
    }
    let devices = func::num_partitions(program);
    let looping = program.ops_under(program.body()).iter().any(|&op| {
        let view = program.view(op);
        matches!(view.def().control(view), Some(Control::While))
    });
    let work = estimate.memory_traffic + estimate.flops + estimate.peak_bytes;
    if looping || !(1..=16).contains(&devices) || work > SMALL {
        return Ok(());
    }
    let Some(main) = func::function(program, "main") else { return Ok(()) };
    let Some(block) = func::block(program, main) else { return Ok(()) };
    let zeros = |ty: &TensorType| -> Lanes {
        vec![Some(Literal::splat(ty.element, &ty.shape, Scalar::zero(ty.element))); devices as usize]
    };
    let types = program.block_args(block).iter().map(|&arg| program.tensor_type(arg));
    let Some(arguments) = types.map(|ty| ty.map(zeros)).collect::<Option<Vec<Lanes>>>() else { return Ok(()) };
    // The evaluator may return an error.
    let _ = runtime::reference::evaluate(program, "main", 1, devices as usize, &arguments);
    Ok(())
}
