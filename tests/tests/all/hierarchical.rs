//! Random sums and moves of sharded tensors over several slices give the same results whether their collectives run
//! whole or in stages. All are of integers, so results are compared bit for bit.
//!
//! `STAGES_FROM` and `STAGES_PROGRAMS` choose the seeds.

use fastrand::Rng;
use shardc::{Backend, Compiler, ExecuteOptions, Interface, Literal, Module, PrintOptions, Source, random_inputs};
use shardc_tests::sharded::{self, done, number, sharding, ty};

/// Meshes, their axes, and targets whose slices are the major axis, a minor axis, or a part of an axis.
const MESHES: [(&str, &[&str], &[&str]); 4] = [
    ("\"x\"=8", &["x"], &["2xv5e:2x2", "4xh100:2", "8xh100:1"]),
    ("\"x\"=2, \"y\"=4", &["x", "y"], &["2xv5e:2x2", "4xh100:2", "2xv5p:2x2x1"]),
    ("\"x\"=3, \"y\"=2, \"z\"=2", &["x", "y", "z"], &["3xv5e:2x2", "2xh100:6", "2xv5e:2x3"]),
    ("\"x\"=4, \"y\"=6", &["x", "y"], &["2xv5e:3x4", "3xv5e:2x4", "6xh100:4", "4xh100:6"]),
];

/// Returns `%name = stablehlo.reduce …` over one dimension.
fn reduced(random: &mut Rng, name: &str, (of, shape): (&str, &[i64]), dim: usize) -> (String, Vec<i64>) {
    let (op, unit) =
        [("add", "%zero"), ("maximum", "%least"), ("and", "%ones"), ("multiply", "%one")][random.usize(0..4)];
    let mut left = shape.to_vec();
    left.remove(dim);
    let line = format!(
        "  {name} = stablehlo.reduce({of} init: {unit}) applies stablehlo.{op} across dimensions = [{dim}] : ({}, tensor<i32>) -> {}\n",
        ty(shape, "i32"),
        ty(&left, "i32")
    );
    (line, left)
}

/// Returns a program and the targets for its mesh.
fn program(seed: u64) -> (String, &'static [&'static str]) {
    let mut random = Rng::with_seed(seed);
    let (mesh, axes, targets) = MESHES[random.usize(0..MESHES.len())];
    let (mut arguments, mut text, mut results) = (Vec::new(), String::new(), Vec::new());
    for (name, value) in [("zero", "0"), ("one", "1"), ("ones", "-1"), ("least", "-2147483648")] {
        text += &format!("  %{name} = stablehlo.constant dense<{value}> : tensor<i32>\n");
    }
    for i in 0..random.usize(1..4) {
        let rank = random.usize(1..4);
        let size = |random: &mut Rng| if random.u8(0..6) == 0 { random.i64(1..20) } else { 24 * random.i64(1..3) };
        let shape: Vec<i64> = (0..rank).map(|_| size(&mut random)).collect();
        arguments.push(format!("%a{i}: {} {}", ty(&shape, "i32"), sharding(&mut random, axes, rank)));
        let (name, shape) = match random.bool() {
            true => {
                let dim = random.usize(0..rank);
                let (line, left) = reduced(&mut random, &format!("%r{i}"), (&format!("%a{i}"), &shape), dim);
                text += &line;
                (format!("%r{i}"), left)
            }
            false => {
                text += &format!("  %n{i} = stablehlo.not %a{i} : {}\n", ty(&shape, "i32"));
                (format!("%n{i}"), shape)
            }
        };
        // Sometimes another op reads it between its stages and the end.
        if random.bool() {
            text += &format!("  %m{i} = stablehlo.negate {name} : {}\n", ty(&shape, "i32"));
            results.push((format!("%m{i}"), shape.clone()));
        }
        results.push((name, shape));
    }
    let types: Vec<String> = results.iter().map(|r| ty(&r.1, "i32")).collect();
    let whole = |rank: usize| format!("{{sdy.sharding = #sdy.sharding<@mesh, [{}]>}}", vec!["{}"; rank].join(", "));
    let of = |random: &mut Rng, rank: usize| if random.bool() { whole(rank) } else { sharding(random, axes, rank) };
    let outs: Vec<String> =
        results.iter().zip(&types).map(|(r, t)| format!("{t} {}", of(&mut random, r.1.len()))).collect();
    let names: Vec<&str> = results.iter().map(|r| r.0.as_str()).collect();
    let text = format!(
        "module {{\n  sdy.mesh @mesh = <[{mesh}]>\n  func.func @main({}) -> ({}) {{\n{text}  return {} : {}\n  }}\n}}\n",
        arguments.join(", "),
        outs.join(", "),
        names.join(", "),
        types.join(", ")
    );
    (text, targets)
}

/// Compiles the program with collectives in stages or whole. Returns a count of its collectives and the results of its
/// devices.
fn computed(
    compiler: &Compiler,
    module: &Module,
    inputs: &[Vec<Literal>],
    options: &str,
) -> Result<(usize, Vec<Vec<Literal>>), String> {
    let device = done(compiler.run_passes(module.clone(), &format!("compile{{search=greedy {options}}}")))?;
    let execute = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
    let got = done(compiler.execute(&device, inputs, &execute))?;
    let collectives = compiler.print(&device, PrintOptions::default()).matches("channel_handle =").count();
    Ok((collectives, got.results))
}

#[test]
fn stages_compute_what_whole_collectives_do() {
    let compiler = sharded::compiler();
    let (from, count) = (number("STAGES_FROM", 0), number("STAGES_PROGRAMS", 30));
    let (mut faults, mut staged, mut all) = (Vec::new(), 0, 0);
    for seed in from..from + count {
        let (text, targets) = program(seed);
        let mut compared = || {
            let module = done(compiler.parse(Source::new("program.mlir", &text)))?;
            let inputs = random_inputs(&Interface::of(&module).ok_or("no interface")?.arguments, 1, 1);
            let want = done(compiler.evaluate(&module, &inputs))?;
            for target in targets {
                let (whole, _) = computed(&compiler, &module, &inputs, &format!("hierarchical=never target={target}"))?;
                for stages in ["always", "shorter"] {
                    let options = format!("hierarchical={stages} target={target}");
                    let (collectives, got) = computed(&compiler, &module, &inputs, &options)?;
                    (all, staged) = (all + 1, staged + u64::from(collectives > whole));
                    if want != got {
                        return Err(format!("the results differ, {options}"));
                    }
                }
            }
            Ok(())
        };
        if let Err(fault) = compared() {
            faults.push(format!("seed {seed}: {fault}\n{text}"));
        }
    }
    assert!(faults.is_empty(), "{} of {count} programs:\n{}", faults.len(), faults[..faults.len().min(3)].join("\n"));
    println!("{staged} of {all} compilations have stages");
    assert!(staged * 5 >= count, "only {staged} of {all} compilations have stages");
}
