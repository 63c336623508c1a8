//! Random changes of the sharding of one value, including sub-axes, partial sums and sizes without divisors: every
//! device ends up with exactly its shard. Values are integers, so they are compared bit for bit.
//!
//! `RESHARDS_FROM` and `RESHARDS_PROGRAMS` choose the seeds.

use std::fmt::Write;

use fastrand::Rng;
use shardc::{Backend, CompileOptions, Compiler, ExecuteOptions, Interface, PrintOptions, Source, random_inputs};
use shardc_tests::sharded::{self, done, messages, number};

/// Returns the axes and parts of axes, as text, of which any may shard any dimension.
fn parts(random: &mut Rng, mesh: &[(&str, i64)]) -> Vec<String> {
    let mut parts = Vec::new();
    for &(name, size) in mesh {
        let inner: Vec<i64> = (2..size).filter(|n| size % n == 0).collect();
        if !inner.is_empty() && random.u8(0..3) == 0 {
            let n = inner[random.usize(0..inner.len())];
            parts.extend([format!("\"{name}\":(1){n}"), format!("\"{name}\":({n}){}", size / n)]);
        } else {
            parts.push(format!("\"{name}\""));
        }
    }
    random.shuffle(&mut parts);
    parts
}

fn sharding(random: &mut Rng, mesh: &[(&str, i64)], rank: usize, partial: bool) -> String {
    let mut dims: Vec<Vec<String>> = vec![Vec::new(); rank];
    let mut unreduced: Vec<String> = Vec::new();
    for part in parts(random, mesh) {
        match random.usize(0..rank * 2 + 1) {
            d if d < rank * 2 => dims[d % rank].push(part),
            _ if partial => unreduced.push(part),
            _ => {}
        }
    }
    // Shardings name the largest parts, so adjacent parts are merged.
    let mut text = String::new();
    for dim in dims {
        let sep = if text.is_empty() { "" } else { ", " };
        write!(text, "{sep}{{{}}}", merged(dim).join(", ")).unwrap();
    }
    unreduced.sort();
    let unreduced = merged(unreduced);
    let rest = if unreduced.is_empty() { String::new() } else { format!(", unreduced={{{}}}", unreduced.join(", ")) };
    format!("{{sdy.sharding = #sdy.sharding<@mesh, [{text}]{rest}>}}")
}

/// Merges the major part of an axis and the rest that directly follows it into the whole axis.
fn merged(parts: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for part in parts {
        let axis = |p: &str| p[..3].to_owned();
        match out.last() {
            Some(last) if axis(last) == axis(&part) && last.contains(":(1)") && !part.contains(":(1)") => {
                let whole = axis(&part);
                out.pop();
                out.push(whole);
            }
            _ => out.push(part),
        }
    }
    out
}

fn program(seed: u64) -> String {
    let mut random = Rng::with_seed(seed);
    let meshes: [&[(&str, i64)]; 9] = [
        &[("x", 2), ("y", 4)],
        &[("x", 2), ("y", 8)],
        &[("x", 4), ("y", 4)],
        &[("x", 2), ("y", 2), ("z", 2)],
        &[("x", 2), ("y", 3)],
        &[("x", 2), ("y", 6)],
        &[("x", 3), ("y", 4)],
        &[("x", 4), ("y", 2), ("z", 2)],
        &[("x", 6)],
    ];
    let mesh = meshes[random.usize(0..meshes.len())];
    let all: i64 = mesh.iter().map(|a| a.1).product();
    let rank = random.usize(1..4);
    let size = |random: &mut Rng| if random.u8(0..3) > 0 { all } else { random.i64(1..2 * all) };
    let shape: Vec<i64> = (0..rank).map(|_| size(&mut random)).collect();
    let ty = format!("tensor<{}i32>", shape.iter().map(|n| format!("{n}x")).collect::<String>());
    let partial = random.u8(0..3) == 0;
    let from = sharding(&mut random, mesh, rank, partial);
    let to = sharding(&mut random, mesh, rank, false);
    let sizes: Vec<String> = mesh.iter().map(|(name, n)| format!("\"{name}\"={n}")).collect();
    let mut order: Vec<i64> = (0..all).collect();
    let order = match random.u8(0..4) {
        0 => {
            random.shuffle(&mut order);
            if order.is_sorted() { String::new() } else { format!(", device_ids={order:?}") }
        }
        _ => String::new(),
    };
    format!(
        "module {{\n  sdy.mesh @mesh = <[{}]{order}>\n  func.func @main(%a: {ty} {from}) -> ({ty} {to}) {{\n    return \
         %a : {ty}\n  }}\n}}\n",
        sizes.join(", "),
    )
}

/// Checks that every device gets its shard; returns the number of permutes in the per-device program.
fn same(compiler: &Compiler, text: &str) -> Result<usize, String> {
    let module = done(compiler.parse(Source::new("program.mlir", text)))?;
    let options = CompileOptions { target: Some("slow".to_owned()), ..CompileOptions::default() };
    let device = done(compiler.compile(module.clone(), "compile", &options))?;
    let inputs = random_inputs(&Interface::of(&module).ok_or("no interface")?.arguments, 1, 1);
    let execute = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
    let got = compiler.execute(&device, &inputs, &execute);
    let Some(got) = got.value else { return Err(messages(got.diagnostics)) };
    if got.results != inputs {
        return Err("the value differs".to_owned());
    }
    Ok(compiler.print(&device, PrintOptions::default()).matches("\"stablehlo.collective_permute\"").count())
}

#[test]
fn every_device_gets_its_shard() {
    let compiler = sharded::compiler();
    let (from, count) = (number("RESHARDS_FROM", 0), number("RESHARDS_PROGRAMS", 300));
    let (mut faults, mut in_parts) = (Vec::new(), 0);
    for seed in from..from + count {
        let text = program(seed);
        match same(&compiler, &text) {
            Ok(permutes) => in_parts += u64::from(permutes > 1),
            Err(fault) => faults.push(format!("seed {seed}: {fault}\n{text}")),
        }
    }
    assert!(faults.is_empty(), "{} of {count} programs:\n{}", faults.len(), faults.join("\n"));
    println!("shards move in parts in {in_parts} of {count} programs");
    assert!(in_parts * 25 >= count, "shards move in parts in only {in_parts} of {count} programs");
}
