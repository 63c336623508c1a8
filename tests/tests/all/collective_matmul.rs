//! Random products of sharded tensors give the same results whether their operands are gathered and their sums
//! scattered, or move around rings during the multiplication. All are of integers, so results are compared bit for bit.
//!
//! `RINGS_FROM` and `RINGS_PROGRAMS` choose the seeds.

use fastrand::Rng;
use shardc::{Backend, Compiler, ExecuteOptions, Interface, Module, PrintOptions, Source, random_inputs};
use shardc_tests::sharded::{self, done, messages, number, sharding, ty};

/// Returns `%name = stablehlo.dot_general …` over a batch dimension, `m` rows, `k` contracted and `n` columns, with
/// operands' dimensions in any order.
fn product(name: &str, [left, right]: [&(String, Vec<(char, i64)>); 2]) -> (String, Vec<i64>) {
    let at = |dims: &[(char, i64)], c: char| dims.iter().position(|d| d.0 == c);
    let shared = |c: char| Some((at(&left.1, c)?, at(&right.1, c)?));
    let (batch, contracted) = (shared('b'), shared('k').unwrap_or_default());
    let free = |dims: &[(char, i64)]| dims.iter().filter(|d| d.0 != 'b' && d.0 != 'k').map(|d| d.1).collect::<Vec<_>>();
    let shape: Vec<i64> = batch.map(|b| left.1[b.0].1).into_iter().chain(free(&left.1)).chain(free(&right.1)).collect();
    let sizes = |dims: &[(char, i64)]| dims.iter().map(|d| d.1).collect::<Vec<_>>();
    let batching = batch.map_or(String::new(), |b| format!("batching_dims = [{}] x [{}], ", b.0, b.1));
    let line = format!(
        "  {name} = stablehlo.dot_general {}, {}, {batching}contracting_dims = [{}] x [{}] : ({}, {}) -> {}\n",
        left.0,
        right.0,
        contracted.0,
        contracted.1,
        ty(&sizes(&left.1), "i32"),
        ty(&sizes(&right.1), "i32"),
        ty(&shape, "i32")
    );
    (line, shape)
}

fn program(seed: u64) -> String {
    let mut random = Rng::with_seed(seed);
    let meshes: [(&str, &[&str]); 5] = [
        ("\"x\"=2", &["x"]),
        ("\"x\"=4", &["x"]),
        ("\"x\"=3, \"y\"=2", &["x", "y"]),
        ("\"x\"=2, \"y\"=4", &["x", "y"]),
        ("\"x\"=5", &["x"]),
    ];
    let (mesh, axes) = meshes[random.usize(0..meshes.len())];
    let devices = [2, 4, 6, 8, 5][meshes.iter().position(|m| m.0 == mesh).unwrap()];
    let batched = random.u8(0..3) == 0;
    // Usually, sizes divide evenly.
    let size = |random: &mut Rng| if random.u8(0..6) == 0 { random.i64(1..20) } else { devices * random.i64(1..3) };
    let sizes: Vec<(char, i64)> = "bmkncd".chars().map(|c| (c, size(&mut random))).collect();
    let dims = |random: &mut Rng, names: &str| {
        let mut dims: Vec<(char, i64)> =
            sizes.iter().filter(|s| names.contains(s.0) && (batched || s.0 != 'b')).copied().collect();
        random.shuffle(&mut dims);
        dims
    };
    // A tensor that is multiplied by two others, and sometimes a product with the first product.
    let operands: Vec<(String, Vec<(char, i64)>)> =
        ["bmk", "bkn", "bkc"].iter().enumerate().map(|(i, d)| (format!("%a{i}"), dims(&mut random, d))).collect();
    let arguments: Vec<String> = operands
        .iter()
        .map(|(name, dims)| {
            let shape: Vec<i64> = dims.iter().map(|d| d.1).collect();
            format!("{name}: {} {}", ty(&shape, "i32"), sharding(&mut random, axes, shape.len()))
        })
        .collect();
    let mut text = String::new();
    let mut results = Vec::new();
    for i in 1..=random.usize(1..3) {
        let mut pair = [&operands[0], &operands[i]];
        if random.bool() {
            pair.reverse();
        }
        let name = format!("%p{i}");
        let (line, shape) = product(&name, pair);
        text += &line;
        results.push((name, shape));
    }
    let types: Vec<String> = results.iter().map(|r| ty(&r.1, "i32")).collect();
    let outs: Vec<String> =
        results.iter().zip(&types).map(|(r, t)| format!("{t} {}", sharding(&mut random, axes, r.1.len()))).collect();
    let names: Vec<&str> = results.iter().map(|r| r.0.as_str()).collect();
    format!(
        "module {{\n  sdy.mesh @mesh = <[{mesh}]>\n  func.func @main({}) -> ({}) {{\n{text}  return {} : {}\n  }}\n}}\n",
        arguments.join(", "),
        outs.join(", "),
        names.join(", "),
        types.join(", ")
    )
}

/// Returns the number of permutes in the program compiled with rings `when`, and the results of its devices.
fn computed(compiler: &Compiler, module: &Module, options: &str) -> Result<(usize, Vec<Vec<shardc::Literal>>), String> {
    let passes = format!("compile{{search=greedy {options}}}");
    let device = done(compiler.run_passes(module.clone(), &passes))?;
    let inputs = random_inputs(&Interface::of(module).ok_or("no interface")?.arguments, 1, 1);
    let execute = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
    let got = compiler.execute(&device, &inputs, &execute);
    let Some(got) = got.value else { return Err(messages(got.diagnostics)) };
    let permutes = compiler.print(&device, PrintOptions::default()).matches("collective_permute").count();
    Ok((permutes, got.results))
}

#[test]
fn rings_compute_what_gathers_and_scatters_do() {
    let compiler = sharded::compiler();
    let (from, count) = (number("RINGS_FROM", 0), number("RINGS_PROGRAMS", 30));
    let (mut faults, mut rings) = (Vec::new(), 0);
    for seed in from..from + count {
        let text = program(seed);
        let all = || {
            let module = done(compiler.parse(Source::new("program.mlir", &text)))?;
            let inputs = random_inputs(&Interface::of(&module).ok_or("no interface")?.arguments, 1, 1);
            let want = done(compiler.evaluate(&module, &inputs))?;
            let before = computed(&compiler, &module, "when=never")?.0;
            // On the slices, rings have other orders.
            for options in ["directions=one", "directions=both", "target=v5e:4x6", "target=v5p:2x2x2"] {
                let Ok((permutes, got)) = computed(&compiler, &module, &format!("when=always {options}")) else {
                    assert!(options.contains("v5"), "{options}: not compiled\n{text}");
                    continue;
                };
                rings += u64::from(permutes > before);
                if want != got {
                    return Err(format!("the results differ, {options}"));
                }
            }
            Ok(())
        };
        if let Err(fault) = { all }() {
            faults.push(format!("seed {seed}: {fault}\n{text}"));
        }
    }
    assert!(faults.is_empty(), "{} of {count} programs:\n{}", faults.len(), faults[..faults.len().min(3)].join("\n"));
    println!("{rings} of {} compilations have rings", 4 * count);
    assert!(rings * 4 >= count, "only {rings} of {} compilations have rings", 4 * count);
}
