//! The families of programs: what each has, how it is compiled, and what must be found in the compiled programs.

use dialect::ir::{ElementClass, TensorType};
use dialect::literal::{Indices, Literal};
use dialect::scalar::Scalar;
use fastrand::Rng;

use super::{Step, Writer, written};

/// A kind of programs.
#[derive(Clone)]
pub struct Family {
    /// The name, which is also that of its test.
    pub name: &'static str,
    /// The number of programs that the test runs.
    pub programs: u64,
    /// The meshes, of which each program has one, by the sizes of their axes; none for those of the description.
    pub meshes: &'static [&'static [i64]],
    /// Writes a program.
    pub write: fn(&mut Writer),
    /// Returns the pipelines that must keep the results of a program, given its seed and text.
    pub pipelines: fn(u64, &str) -> Vec<String>,
    /// Returns the inputs of a program.
    pub inputs: fn(&mut Rng, &str, &[TensorType]) -> Vec<Literal>,
    /// Returns whether a result of a program, which comes second, is as expected.
    pub equal: fn(&str, &Literal, &Literal) -> bool,
    /// What must be found in the compiled programs, because otherwise the programs would show nothing.
    pub evidence: &'static str,
    /// Returns in how many of the outputs of `pipelines` it is found, and in how many it could be.
    pub found: fn(&str, &[String]) -> (usize, usize),
    /// The smallest share of the compiled programs in which it must be found.
    pub at_least: f64,
}

impl Family {
    /// Returns the program of a seed.
    pub fn program(&self, seed: u64) -> String {
        written(seed, self.meshes, self.write).text()
    }
}

/// All families.
pub static FAMILIES: [Family; 12] = [
    Family {
        name: "every_op",
        programs: 150,
        meshes: &[],
        write: Writer::every_op,
        // The two plans are often equal, so only every second program is planned twice.
        pipelines: |seed, _| compile(&["search=full", "search=greedy"][..2 - (seed % 2) as usize]),
        inputs: small_numbers,
        equal: bits,
        evidence: "collectives",
        found: |_, outputs| holding(outputs, |text| text.contains("replica_groups") || text.contains("_pairs")),
        at_least: 0.3,
    },
    Family {
        name: "windows",
        programs: 120,
        meshes: &[&[2], &[4], &[3], &[8], &[2, 3], &[2, 2, 3]],
        write: |w| {
            for _ in 0..2 {
                let (shape, at) = ([w.random.i64(1..25), w.random.i64(1..25)], w.scattered(2));
                w.argument(&shape, "i32", at);
            }
            let (slice, pooling) = (Writer::slice as Step, Writer::select_and_scatter);
            let moves = [slice, slice, Writer::pad, Writer::reverse, Writer::roll, Writer::concatenate];
            let windows = [Writer::reduce_window, Writer::convolution, pooling, Writer::binary];
            w.steps(1..6, &[&moves[..], &windows].concat());
            w.return_last(Writer::scattered);
        },
        pipelines: |_, _| compile(&["search=full target=slow", "search=greedy target=slow"]),
        inputs: small_numbers,
        equal: bits,
        evidence: "rows that move between neighbors",
        found: |_, outputs| holding(outputs, |text| text.contains("collective_permute")),
        at_least: 0.25,
    },
    Family {
        name: "indexed",
        programs: 120,
        meshes: &[&[2], &[4], &[3], &[2, 3], &[2, 2]],
        write: |w| {
            for (rank, size) in [(w.random.usize(1..4), 10), (w.random.usize(0..3), 6)] {
                let shape: Vec<i64> = (0..rank).map(|_| w.random.i64(1..size)).collect();
                let at = w.scattered(rank);
                w.argument(&shape, "i32", at);
            }
            let slices = [Writer::dynamic_slice as Step, Writer::dynamic_update_slice];
            w.steps(1..2, &[slices[0], slices[1], Writer::gather, Writer::gather, Writer::scatter, Writer::scatter]);
            w.return_last(Writer::scattered);
        },
        pipelines: |_, _| compile(&["target=slow"]),
        inputs: small_numbers,
        equal: bits,
        evidence: "positions that devices look up in their shards",
        found: |_, outputs| {
            holding(outputs, |text| {
                text.contains("partition_id") && !text.contains("all_gather") && !text.contains("all_to_all")
            })
        },
        at_least: 1.0 / 8.0,
    },
    Family {
        name: "ordered",
        programs: 200,
        meshes: &[&[2], &[4], &[3], &[2, 3], &[2, 2]],
        write: Writer::ordered,
        pipelines: |_, _| compile(&["target=slow"]),
        inputs: tied_numbers,
        equal: |text, want, got| if text.contains("stablehlo.fft") { close(want, got) } else { want == got },
        evidence: "ops in several steps",
        found: |text, outputs| holding(outputs, |output| steps(output) > steps(text)),
        at_least: 0.2,
    },
    Family {
        name: "long_sorts",
        programs: 16,
        // With few devices, gathering the sorted values costs no more than distributing them.
        meshes: &[&[8], &[2, 4], &[7]],
        write: Writer::long_sort,
        pipelines: |_, _| compile(&["target=slow"]),
        inputs: tied_numbers,
        equal: |_, want, got| want == got,
        evidence: "sorts that distribute elements",
        found: |_, outputs| holding(outputs, |text| text.matches("stablehlo.sort\"").count() == 5),
        at_least: 1.0 / 6.0,
    },
    Family {
        name: "scans",
        programs: 80,
        meshes: &[&[2], &[3], &[4], &[8], &[2, 3], &[2, 2, 3]],
        write: Writer::scans,
        pipelines: |_, _| compile(&["search=full target=slow", "search=greedy target=slow"]),
        inputs: scanned_numbers,
        equal: |_, want, got| want == got,
        // If other dimensions of one or two elements are sharded many ways, moving them is more expensive than the
        // scan.
        evidence: "scans in parts",
        found: |text, outputs| match splits(text) {
            true => holding(&outputs[..1], |output| gathered(output) < scanned(text).iter().product()),
            false => (0, 0),
        },
        at_least: 0.9,
    },
    Family {
        name: "joins",
        programs: 60,
        meshes: &[&[2], &[3], &[4], &[8], &[5, 2]],
        write: Writer::joins,
        pipelines: |_, _| {
            let options = ["search=full target=slow", "search=full target=flat", "search=greedy target=slow"];
            let both = |options| ["planned", "compile"].map(|pipeline| format!("{pipeline}{{{options}}}"));
            options.into_iter().flat_map(both).collect()
        },
        inputs: small_numbers,
        equal: bits,
        evidence: "rows of several values that are sent together",
        found: |_, outputs| {
            let (found, of) = holding(outputs, |text| text.contains("shardc.assemble"));
            (found, of / 2)
        },
        at_least: 1.0 / 12.0,
    },
    Family {
        name: "carried",
        programs: 40,
        meshes: &[&[4], &[2, 2], &[3, 2], &[2, 4]],
        write: Writer::carried,
        pipelines: |_, _| vec!["planned{target=slow}".to_owned(), "compile{target=slow}".to_owned()],
        inputs: small_numbers,
        equal: bits,
        evidence: "loops that carry partial sums",
        found: |_, outputs| {
            let carries = |line: &str| line.contains("stablehlo.while") && line.contains("unreduced=");
            holding(&outputs[..1], |text| text.lines().any(carries))
        },
        at_least: 0.25,
    },
    Family {
        name: "systems",
        programs: 80,
        meshes: &[&[2, 2], &[3, 2], &[4, 2]],
        write: Writer::systems,
        pipelines: |_, _| compile(&["target=slow"]),
        inputs: triangles,
        // Zeros of both signs are equal.
        equal: |_, want, got| numbers(want) == numbers(got),
        evidence: "systems that are solved block by block",
        found: |_, outputs| holding(outputs, |text| text.contains("stablehlo.dot_general")),
        at_least: 0.2,
    },
    Family {
        name: "products",
        programs: 30,
        meshes: &[&[2], &[4], &[3, 2], &[2, 4], &[5]],
        write: Writer::products,
        // On the slices, rings have other orders.
        pipelines: |_, text| {
            let slice = match text {
                text if text.contains("\"x\"=5") => "flat",
                text if text.contains("\"y\"=2") => "v5e:4x6",
                _ => "v5p:2x2x2",
            };
            let of = |options: &str| format!("search=greedy when={options}");
            let on_slice = format!("always target={slice}");
            compile(&["never", "always directions=one", "always directions=both", &on_slice].map(of))
        },
        inputs: small_numbers,
        equal: bits,
        evidence: "rings",
        found: |_, outputs| more(outputs, "collective_permute"),
        at_least: 0.07,
    },
    Family {
        name: "sums",
        programs: 30,
        meshes: &[&[8], &[2, 4], &[3, 2, 2], &[4, 6]],
        write: Writer::sums,
        // Slices are the major axis, a minor axis, or a part of an axis.
        pipelines: |seed, text| {
            let targets = match text {
                text if text.contains("\"z\"=2") => ["3xv5e:2x2", "2xh100:6", "2xv5e:2x3"],
                text if text.contains("\"y\"=6") => {
                    ["2xv5e:3x4", "3xv5e:2x4", ["6xh100:4", "4xh100:6"][seed as usize % 2]]
                }
                text if text.contains("\"y\"=4") => ["2xv5e:2x2", "4xh100:2", "2xv5p:2x2x1"],
                _ => ["2xv5e:2x2", "4xh100:2", "8xh100:1"],
            };
            let ways = ["never", "always", "shorter"];
            let of = |target| ways.map(|how| format!("search=greedy hierarchical={how} target={target}"));
            compile(&targets.map(of).concat())
        },
        inputs: small_numbers,
        equal: bits,
        evidence: "collectives in stages",
        found: |_, outputs| {
            let each = outputs.chunks(3).map(|outputs| more(outputs, "channel_handle ="));
            each.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        },
        at_least: 1.0 / 30.0,
    },
    Family {
        name: "reshards",
        programs: 300,
        meshes: &[&[2, 4], &[2, 8], &[4, 4], &[2, 2, 2], &[2, 3], &[2, 6], &[3, 4], &[4, 2, 2], &[6]],
        write: Writer::reshards,
        pipelines: |_, _| compile(&["target=slow"]),
        inputs: small_numbers,
        equal: bits,
        evidence: "shards that move in parts",
        found: |_, outputs| holding(outputs, |text| text.matches("\"stablehlo.collective_permute\"").count() > 1),
        at_least: 0.04,
    },
];

fn compile(options: &[impl std::fmt::Display]) -> Vec<String> {
    options.iter().map(|options| format!("compile{{{options}}}")).collect()
}

/// Returns the number of outputs that hold something, and the number of all.
fn holding(outputs: &[String], holds: impl Fn(&String) -> bool) -> (usize, usize) {
    (outputs.iter().filter(|output| holds(output)).count(), outputs.len())
}

/// Returns in how many of the outputs after the first there is more of something than in the first.
fn more(outputs: &[String], what: &str) -> (usize, usize) {
    let first = outputs[0].matches(what).count();
    holding(&outputs[1..], |output| output.matches(what).count() > first)
}

fn steps(text: &str) -> usize {
    ["sort\"", "stablehlo.reduce(", "top_k", "fft "].iter().map(|op| text.matches(op).count()).sum()
}

/// Returns the maximum number of elements that a device receives in a collective other than a permute.
fn gathered(text: &str) -> i64 {
    let moving = |line: &&str| ["all_gather", "all_to_all", "all_reduce"].iter().any(|op| line.contains(op));
    text.lines().filter(moving).map(|line| sizes(line).iter().product()).max().unwrap_or(0)
}

/// Returns the sizes in the last tensor type of a line.
fn sizes(line: &str) -> Vec<i64> {
    let ty = line.rsplit("tensor<").next().unwrap_or_default();
    ty.split('x').filter_map(|n| n.parse().ok()).collect()
}

/// Returns the shape of the argument that a program scans.
fn scanned(text: &str) -> Vec<i64> {
    let argument = text.split("%a0: ").nth(1).unwrap_or_default();
    sizes(argument.split('>').next().unwrap_or_default())
}

/// Returns whether a scan can be done in parts: every device has several elements, and the initial value may be
/// combined several times.
fn splits(text: &str) -> bool {
    let mesh = text.lines().find(|line| line.contains("sdy.mesh")).unwrap_or_default();
    let sizes = mesh.split('=').filter_map(|part| part.split([',', ']']).next()?.trim().parse::<i64>().ok());
    let longest = scanned(text).into_iter().max().unwrap_or(0);
    longest > 2 * sizes.product::<i64>() && !text.contains("dense<3>")
}

fn bits(_: &str, want: &Literal, got: &Literal) -> bool {
    want.shape == got.shape && want.dense_bytes() == got.dense_bytes()
}

fn numbers(literal: &Literal) -> Vec<f64> {
    let parts = |i: usize| match literal.get(i) {
        Scalar::Complex(re, im) => [re, im],
        real => [real.as_f64(), 0.0],
    };
    (0..literal.len()).flat_map(parts).collect()
}

/// Returns whether all elements are as close as the sums in a transform allow.
fn close(want: &Literal, got: &Literal) -> bool {
    let (want, got) = (numbers(want), numbers(got));
    let most = want.iter().fold(1.0f64, |m, v| m.max(v.abs()));
    want.len() == got.len() && want.iter().zip(&got).all(|(a, b)| (a - b).abs() <= 2e-6 * most)
}

/// Returns integers between -50 and 49.
fn small_numbers(random: &mut Rng, _: &str, types: &[TensorType]) -> Vec<Literal> {
    types.iter().map(|ty| Literal::from_fn(ty, |_| Scalar::Int(random.i128(-50..50)))).collect()
}

/// Returns few different numbers, so that most are tied, among them NaN, infinities and both zeros. Where results
/// aren't exact, numbers are finite.
fn tied_numbers(random: &mut Rng, text: &str, types: &[TensorType]) -> Vec<Literal> {
    let floats = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, 1.0, 2.0, -1.5, -1.5];
    // Some tensors contain no NaN, others no infinities.
    let from = if text.contains("stablehlo.fft") { 3 } else { [0, 1, 3][random.usize(0..3)] };
    let mut number = |ty: &TensorType| match ty.element.class() {
        ElementClass::Float => Scalar::Float(floats[random.usize(from..floats.len())]),
        ElementClass::Complex => Scalar::Complex(random.i8(-8..8).into(), random.i8(-8..8).into()),
        _ => Scalar::Int(random.i128(0..4)),
    };
    types.iter().map(|ty| Literal::from_fn(ty, |_| number(ty))).collect()
}

/// Returns integers of any size, and floats whose sums are exact, or whose maxima cover everything that can be
/// compared.
fn scanned_numbers(random: &mut Rng, text: &str, types: &[TensorType]) -> Vec<Literal> {
    let special = [f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, -7.5, -7.5, f64::NAN];
    // Pairs are ordered by comparisons, which don't order NaN.
    let special = if text.contains("%more") { &special[..6] } else { &special };
    let mut number = |ty: &TensorType| match ty.element.class() {
        ElementClass::Float if !text.contains("stablehlo.add") && random.bool() => {
            Scalar::Float(special[random.usize(0..special.len())])
        }
        ElementClass::Float => Scalar::Float(f64::from(random.i8(-64..65)) / 64.0),
        ElementClass::Bool => Scalar::Int(random.i128(0..2)),
        _ => Scalar::Int(random.i128(0..100)),
    };
    types.iter().map(|ty| Literal::from_fn(ty, |_| number(ty))).collect()
}

/// Returns a triangular matrix with powers of two on its diagonal and NaN where it must not be read, and right sides.
/// All numbers are small integers, so that results are exact.
fn triangles(random: &mut Rng, text: &str, types: &[TensorType]) -> Vec<Literal> {
    let lower = text.contains("lower = true");
    let number = |random: &mut Rng, ty: &TensorType, is_matrix: bool, at: &[i64]| {
        let (i, j) = (at[at.len() - 2], at[at.len() - 1]);
        let value = match is_matrix {
            true if i != j && (i < j) == lower => f64::NAN,
            true if i == j => [1.0, -1.0, 2.0, -2.0][random.usize(0..4)],
            _ => random.i8(-1..2).into(),
        };
        match ty.element.class() {
            ElementClass::Complex if i == j => Scalar::Complex(value, 0.0),
            ElementClass::Complex => Scalar::Complex(value, random.i8(-1..2).into()),
            _ => Scalar::Float(value),
        }
    };
    let tensor = |(i, ty): (usize, &TensorType)| {
        let values: Vec<Scalar> = Indices::of(&ty.shape).map(|at| number(random, ty, i == 0, &at)).collect();
        Literal::from_scalars(ty.element, &ty.shape, values)
    };
    types.iter().enumerate().map(tensor).collect()
}
