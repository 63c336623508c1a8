//! Proofs of rewrites, built-in and custom: on random small programs over random distributions, every term that a
//! rewrite adds is evaluated on simulated devices from global values sharded like its operands, and must give its
//! class's value in its class's distribution.

use std::collections::HashSet;
use std::rc::Rc;

use dialect::diagnostic::Diagnostics;
use dialect::id::TiVec;
use dialect::ir::{ElementType, Op, Program};
use dialect::kernel::Kernel;
use dialect::literal::Literal;
use dialect::memory::MemorySpaces;
use dialect::ops::func;
use dialect::scalar::Scalar;
use dialect::sharding::{Axes, AxisPart, Distribution, MeshAxes, Reshard};

use super::rewrite::Rewrite;
use super::term::{Facts, Term, TermKind, Terms, class, moved};
use super::window::Window;
use crate::estimate::{Machine, Target};
use crate::layouts::Layouts;
use crate::plan::model::choice::{Choice, Placer};
use crate::plan::model::machine_cost::MachineCost;
use crate::plan::model::meaning::Models;
use crate::plan::model::strategy::{OpModel, Strategy};
use crate::plan::program::graph::{Graph, OpId, ValueId, Variant};
use crate::plan::program::reader::Reader;
use crate::plan::reshard::cache::ReshardCache;
use crate::plan::reshard::simulate::Pieces;
use crate::plan::reshard::step::Step;

/// An op in generic form (`T` stands for its type) over earlier values, and its result's shape and element.
pub(super) type OpText<'a> = (&'a str, &'a [usize], &'a [i64], &'a str);

const ADD: &str = r#""stablehlo.add"(A) : T"#;
const MUL: &str = r#""stablehlo.multiply"(A) : T"#;
const ABS: &str = r#""stablehlo.abs"(A) : T"#;
pub(super) const CONVERT: &str = r#""stablehlo.convert"(A) : T"#;
const TRANSPOSE: &str = r#""stablehlo.transpose"(A) <{permutation = array<i64: 1, 0>}> : T"#;
pub(super) const DOT: &str = r#""stablehlo.dot_general"(A) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : T"#;
const MAX: &str = r#""stablehlo.reduce"(A) <{dimensions = array<i64: 1>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %m = stablehlo.maximum %x, %y : tensor<f32> stablehlo.return %m : tensor<f32> }) : T"#;

/// Arguments and ops of the programs.
pub(super) const PROGRAMS: &[(&[&[i64]], &[OpText<'static>])] = &[
    (
        &[&[8, 8], &[8, 8], &[8, 8]],
        &[(DOT, &[0, 1], &[8, 8], "f32"), (ADD, &[3, 2], &[8, 8], "f32"), (ABS, &[4], &[8, 8], "f32")],
    ),
    (
        &[&[8, 8], &[8, 8]],
        &[(DOT, &[0, 1], &[8, 8], "f32"), (CONVERT, &[2], &[8, 8], "f64"), (TRANSPOSE, &[3], &[8, 8], "f64")],
    ),
    (
        &[&[8, 8], &[8, 8]],
        &[(DOT, &[0, 1], &[8, 8], "f32"), (CONVERT, &[2], &[8, 8], "bf16"), (ADD, &[3, 3], &[8, 8], "bf16")],
    ),
    (
        &[&[8, 8], &[8, 8], &[8, 8]],
        &[
            (DOT, &[0, 1], &[8, 8], "f32"),
            (DOT, &[0, 2], &[8, 8], "f32"),
            (ADD, &[3, 4], &[8, 8], "f32"),
            (MUL, &[5, 2], &[8, 8], "f32"),
        ],
    ),
    (
        &[&[8, 8], &[8, 8]],
        &[(TRANSPOSE, &[0], &[8, 8], "f32"), (DOT, &[2, 1], &[8, 8], "f32"), (DOT, &[3, 0], &[8, 8], "f32")],
    ),
    (&[&[8, 8], &[]], &[(MAX, &[0, 1], &[8], "f32"), (ADD, &[2, 2], &[8], "f32")]),
];

/// A random generator of small numbers and distributions.
pub(super) struct Random(pub(super) fastrand::Rng);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n)
    }

    /// Returns a random distribution: some of the mesh axes on some dimensions, whole or halved.
    fn distribution(&mut self, mesh_axes: &MeshAxes, rank: usize) -> Distribution {
        let mut dims = vec![Axes::new(); rank];
        for whole in mesh_axes.nontrivial() {
            let halves = [AxisPart { size: 2, ..whole }, AxisPart { pre: 2, size: whole.size / 2, ..whole }];
            let parts = if whole.size > 2 && self.below(3) == 0 { halves.to_vec() } else { vec![whole] };
            for part in parts {
                let dim = self.below(rank + 1);
                if dim < rank {
                    dims[dim].push(part);
                }
            }
        }
        Distribution::of_dims(dims)
    }
}

fn type_text(shape: &[i64], element: &str) -> String {
    format!("tensor<{}{element}>", shape.iter().map(|n| format!("{n}x")).collect::<String>())
}

fn parsed(text: &str) -> Program {
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{:?} in {text}", diagnostics.iter().next());
    program
}

/// A program of [`PROGRAMS`], with its values' shapes and elements.
pub(super) struct Written<'a> {
    program: Program,
    ops: &'a [OpText<'a>],
    args: usize,
    types: Vec<(Vec<i64>, &'a str)>,
    values: Vec<Literal>,
}

impl<'a> Written<'a> {
    pub(super) fn new(args: &[&[i64]], ops: &'a [OpText<'a>], sizes: &[i64]) -> Self {
        let mut types: Vec<(Vec<i64>, &'a str)> = args.iter().map(|s| (s.to_vec(), "f32")).collect();
        let mesh: Vec<String> = sizes.iter().zip(["x", "y", "z"]).map(|(n, name)| format!("\"{name}\"={n}")).collect();
        let arguments = types.iter().enumerate().map(|(i, t)| format!("%v{i}: {}", type_text(&t.0, t.1)));
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        let mut body = String::new();
        for op in ops {
            body.push_str(&line(op, types.len(), &types));
            types.push((op.2.to_vec(), op.3));
        }
        let last = types.len() - 1;
        let result = type_text(&types[last].0, types[last].1);
        let text = format!(
            "sdy.mesh @mesh = <[{}]>\nfunc.func @main({arguments}) -> {result} {{\n{body}return %v{last} : {result}\n}}",
            mesh.join(", ")
        );
        let mut random = Random(fastrand::Rng::with_seed(7));
        let mut values: Vec<Literal> = Vec::new();
        for (shape, _) in &types[..args.len()] {
            let numbers = (0..shape.iter().product::<i64>()).map(|_| Scalar::Float(random.below(4) as f64 - 1.0));
            values.push(Literal::from_scalars(ElementType::F32, shape, numbers.collect::<Vec<_>>()));
        }
        for op in ops {
            let operands: Vec<Literal> = op.1.iter().map(|&i| values[i].clone()).collect();
            values.push(evaluate(op, &operands, op.2));
        }
        Self { program: parsed(&text), ops, args: args.len(), types, values }
    }

    fn number(&self, value: ValueId, index: &[i64]) -> i64 {
        number(&self.values[value.index()], index)
    }
}

fn number(of: &Literal, index: &[i64]) -> i64 {
    let at = index.iter().zip(&of.shape).fold(0, |at, (i, n)| at * n + i);
    match of.get(at as usize) {
        Scalar::Float(x) => x as i64,
        other => panic!("{other:?}"),
    }
}

fn line(op: &OpText<'_>, result: usize, types: &[(Vec<i64>, &str)]) -> String {
    let operands: Vec<String> = op.1.iter().map(|i| format!("%v{i}")).collect();
    let from: Vec<String> = op.1.iter().map(|&i| type_text(&types[i].0, types[i].1)).collect();
    let ty = format!("({}) -> {}", from.join(", "), type_text(op.2, op.3));
    format!(
        "%v{result} = {}\n",
        op.0.replace("(A)", &format!("({})", operands.join(", "))).replace(": T", &format!(": {ty}"))
    )
}

/// Evaluates the op on concrete operands of any shapes.
fn evaluate(op: &OpText<'_>, operands: &[Literal], shape: &[i64]) -> Literal {
    let named = |l: &Literal| (l.shape.to_vec(), l.element.text().expect("a plain type"));
    let types: Vec<(Vec<i64>, &str)> = operands.iter().map(named).collect();
    let args: Vec<String> = types.iter().enumerate().map(|(i, t)| format!("%v{i}: {}", type_text(&t.0, t.1))).collect();
    let numbers: Vec<usize> = (0..operands.len()).collect();
    let local: OpText<'_> = (op.0, &numbers, shape, op.3);
    let result = type_text(shape, op.3);
    let n = operands.len();
    let body = line(&local, n, &types);
    let program =
        parsed(&format!("func.func @main({}) -> {result} {{\n{body}return %v{n} : {result}\n}}", args.join(", ")));
    let (_, block) = program.functions()[0];
    let op: Op = program.block_ops(block)[0];
    let view = program.view(op);
    let Kernel::Nest(nest) = view.def().kernel(view) else { panic!("an op without a nest") };
    nest.eval(operands).remove(0)
}

/// Returns the result of a node, computed from global values sharded like its operands.
fn result(
    written: &Written<'_>,
    terms: &mut Terms<'_, '_>,
    mesh_axes: &MeshAxes,
    term: &Term,
) -> Result<Pieces, String> {
    let shard = |terms: &Terms<'_, '_>, id| {
        let (value, at) = terms[id].data.expect("a value");
        let at = terms.analysis.cache.distribution(at).clone();
        Pieces::shard(mesh_axes, &written.types[value.index()].0, &at, &|i| written.number(value, i))
    };
    match term.head {
        TermKind::Step { kind, to } => {
            let step = Step {
                kind: terms.analysis.cache.step(kind).clone(),
                to: terms.analysis.cache.distribution(to).clone(),
            };
            shard(terms, term.children[0]).step(mesh_axes, &step)
        }
        TermKind::Op { op, id, .. } => {
            let op = &written.ops[op.index()];
            let at = terms.analysis.places(term_op(term), id).results[0];
            let at = terms.analysis.cache.distribution(at).clone();
            let shape = at.local_shape(op.2);
            let operands: Vec<Pieces> = term.children.iter().map(|&c| shard(terms, c)).collect();
            let piece = |device: usize| {
                let local = op.1.iter().zip(&operands).map(|(&v, p)| {
                    let element = ElementType::from_text(written.types[v].1).expect("an element type");
                    let numbers = p.pieces[device].iter().map(|&n| Scalar::Float(n as f64).round(element));
                    Literal::from_scalars(element, &p.at.local_shape(&p.shape), numbers.collect::<Vec<_>>())
                });
                let local: Vec<Literal> = local.collect();
                let result = evaluate(op, &local, &shape);
                dialect::literal::Indices::of(&shape).map(|i| number(&result, &i)).collect()
            };
            let pieces = (0..mesh_axes.devices()).map(piece).collect();
            Ok(Pieces { shape: op.2.to_vec(), at, pieces })
        }
        TermKind::Given { .. } | TermKind::Wanted => Err("nothing to evaluate".into()),
    }
}

fn term_op(term: &Term) -> OpId {
    match term.head {
        TermKind::Op { op, .. } => op,
        _ => panic!("{term:?} is not an op"),
    }
}

/// Applies `row` to the terms of one program under the strategies that `choose` returns for its ops, with its values
/// moved at random. Checks every term it adds and returns how often it added terms. Pushes onto `reduced` the values of
/// added terms that are reductions.
///
/// # Errors
/// Returns the first term with a wrong result, and that result.
pub(super) fn prove_on(
    row: &Rewrite,
    written: &Written<'_>,
    sizes: &[i64],
    random: &mut Random,
    choose: &mut dyn FnMut(&OpModel, &MeshAxes, &mut Random) -> Strategy,
    reduced: &mut Vec<ValueId>,
) -> Result<usize, String> {
    let program = &written.program;
    let main = func::function(program, "main").expect("main");
    let block = func::block(program, main).expect("a body");
    let layouts = Layouts::of(program, main, block);
    let mesh_axes = layouts.mesh_axes();
    let sizes: Vec<u64> = sizes.iter().map(|&n| n as u64).collect();
    let machine = Machine::new(Target::default(), &sizes).expect("a machine");
    let cost = MachineCost::new(&machine);
    let mut cache = ReshardCache::new(mesh_axes, &cost);
    let (mut models, mut placer) = (Models::default(), Placer::default());
    let graph = {
        let (models, cache, diagnostics) = (&mut models, &mut cache, &mut Diagnostics::default());
        let (donated, spaces) = (&Default::default(), &MemorySpaces::default());
        let args = written.types[..written.args].iter().map(|t| random.distribution(mesh_axes, t.0.len()));
        let args: Vec<Distribution> = args.collect();
        let wanted = [random.distribution(mesh_axes, written.types.last().expect("a value").0.len())];
        let mut reader = Reader {
            program,
            layouts: &layouts,
            variant: &Variant::default(),
            models,
            cache,
            diagnostics,
            machine: &machine,
            donated,
            spaces,
            graph: Graph::default(),
            moments: Vec::new(),
            weight: 1.0,
        };
        reader.block(block, &args, &wanted);
        reader.graph
    };
    let mut choice = Choice { strategies: TiVec::new(), places: TiVec::new() };
    for node in &graph.ops {
        let Some(model) = node.model else {
            choice.strategies.push(placer.strategy_id(Default::default()));
            choice.places.push(Rc::new(node.fixed.clone().expect("a border")));
            continue;
        };
        let strategy = choose(&models.get(model).clone(), mesh_axes, random);
        let id = placer.strategy_id(strategy);
        choice.places.push(placer.places(&models, &mut cache, model, id));
        choice.strategies.push(id);
    }
    let facts = Facts::new(&graph, &models, &mut cache, &mut placer);
    let mut terms = moved_at_random(Terms::new(facts), written, mesh_axes, &choice, random);
    let seeded: HashSet<Term> = terms.classes().flat_map(|c| c.nodes.clone()).collect();
    let found = apply_twice(row, &mut terms)?;
    let added: Vec<(ValueId, Term)> = terms
        .classes()
        .filter_map(|c| Some((c.data?.0, c)))
        .flat_map(|(value, c)| c.nodes.iter().map(move |n| (value, n.clone())))
        .filter(|(_, n)| !matches!(n.head, TermKind::Given { .. }) && !seeded.contains(n))
        .collect();
    for (value, term) in added {
        let all_reduces = |kind| matches!(terms.analysis.cache.step(kind), Reshard::AllReduce(..));
        if matches!(term.head, TermKind::Step { kind, .. } if all_reduces(kind)) {
            reduced.push(value);
        }
        let made = result(written, &mut terms, mesh_axes, &term);
        let checked = made.and_then(|m| m.check(mesh_axes, &|i| written.number(value, i)));
        checked.map_err(|fault| format!("{}: {} doesn't hold for {term:?}: {fault}", row.name, row.doc))?;
    }
    Ok(found)
}

/// Adds the terms of a plan, and moves of its values to a few random distributions in turn.
fn moved_at_random<'a, 's>(
    mut terms: Terms<'a, 's>,
    written: &Written<'_>,
    mesh_axes: &MeshAxes,
    choice: &Choice,
    random: &mut Random,
) -> Terms<'a, 's> {
    let ops = (0..written.ops.len()).map(OpId::new).collect();
    let values: Vec<ValueId> = (0..written.types.len()).map(ValueId::new).collect();
    Window { ops, values: values.clone() }.seed(&mut terms, choice);
    for value in values {
        let rank = written.types[value.index()].0.len();
        let made = terms.analysis.graph.made(&choice.places, value);
        let Some(mut id) = class(&terms, value, made) else { continue };
        for _ in 0..3 {
            let to = random.distribution(mesh_axes, rank);
            let to = terms.analysis.cache.dist(&to);
            id = moved(&mut terms, id, to);
        }
    }
    terms.rebuild();
    terms
}

/// Applies `row` to all terms twice, and returns how often it added terms.
fn apply_twice(row: &Rewrite, terms: &mut Terms<'_, '_>) -> Result<usize, String> {
    let mut found = 0;
    for _ in 0..2 {
        let all: Vec<(egg::Id, Term)> =
            terms.classes().flat_map(|c| c.nodes.iter().map(|n| (c.id, n.clone()))).collect();
        for (id, term) in all {
            for equal in row.equal(terms, id, &term) {
                if terms[id].data != terms[equal].data {
                    return Err(format!(
                        "{}: another value, or in another distribution, than what it equals",
                        row.name
                    ));
                }
                found += 1;
            }
        }
        terms.rebuild();
    }
    Ok(found)
}

/// Returns a strategy that keeps what it can of random distributions; sometimes partial sums pass through.
pub(super) fn any_strategy(meaning: &OpModel, mesh_axes: &MeshAxes, random: &mut Random) -> Strategy {
    let tensors = meaning.rule.operands.iter().chain(&meaning.rule.results).map(|t| t.len()).collect::<Vec<_>>();
    let kept: Vec<Distribution> = tensors.iter().map(|&rank| random.distribution(mesh_axes, rank)).collect();
    let first = random.below(kept.len());
    let order = (0..kept.len()).map(|i| ((i + first) % kept.len(), &kept[(i + first) % kept.len()]));
    let mut strategy = meaning.keeping(order);
    if !meaning.linear.is_empty() && random.below(3) == 0 {
        let free = mesh_axes.nontrivial();
        let free: Axes = free.filter(|p| !strategy.factors.iter().flatten().any(|q| q.conflicts_with(*p))).collect();
        if !free.is_empty() {
            strategy.set = meaning.linear[random.below(meaning.linear.len())].clone();
            strategy.through = free;
        }
    }
    strategy
}

/// Runs [`Rewrite::prove`] on all programs over several meshes.
pub(super) fn prove(rewrite: &Rewrite) -> Result<usize, String> {
    let mut found = 0;
    for sizes in [&[2, 2][..], &[2, 4], &[8]] {
        for (args, ops) in PROGRAMS {
            let written = Written::new(args, ops, sizes);
            for seed in 0..6 {
                let mut random = Random(fastrand::Rng::with_seed(seed * 977 + 13));
                found += prove_on(rewrite, &written, sizes, &mut random, &mut any_strategy, &mut Vec::new())?;
            }
        }
    }
    match found {
        0 => Err(format!("{}: it finds nothing in the programs that would prove it", rewrite.name)),
        found => Ok(found),
    }
}
