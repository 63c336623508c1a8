//! mpmd-partition: turns every fragment into a function for the devices of its mesh, by the passes for one mesh, and
//! gives every value its sharding.
//!
//! The pass goes through `@main` in order. Shardings of a fragment's operands and results that are known are fixed; a
//! result without a sharding in its type, and an argument that no fragment has read yet, get the sharding that the
//! fragment's own plan chooses. Equal fragments become one function. A transfer moves shards between meshes of the same
//! axes, and replicated values between others; extra fragments before and after it make all other changes of sharding.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::build::Builder;
use dialect::ir::{Attr, AttrData, Block, ElementType, Loc, MeshTensor, Name, Op, Program, TypeData, Value};
use dialect::ops::mhlo::NUM_REPLICAS;
use dialect::ops::mpmd::{self, Kind, Topology};
use dialect::ops::{func, sdy};
use dialect::sharding::{MeshRef, TensorSharding};
use dialect::signature::{GLOBAL_TYPE, SHARDING, Signature};
use rustc_hash::{FxHashMap, FxHashSet};

use super::outline::{self, Alone, BlockKey, NamedMesh};
use crate::compile_options::CompileOptions;
use crate::estimate::{Machine, estimate};
use crate::options::Options;

type Shardings = Vec<Option<TensorSharding>>;

/// A fragment on its mesh.
#[derive(Clone)]
struct Partitioned {
    /// The name of its function.
    name: String,
    ins: Shardings,
    outs: Shardings,
}

struct Pass<'a> {
    program: &'a mut Program,
    options: &'a Options,
    diagnostics: &'a mut Diagnostics,
    topology: Topology,
    done: FxHashMap<(Name, BlockKey, Shardings, Shardings), Partitioned>,
    names: FxHashSet<String>,
    functions: Vec<Op>,
    /// The new values for values of the old `@main`.
    values: FxHashMap<Value, Value>,
    /// Arguments that have no sharding yet.
    undecided: FxHashSet<Value>,
    /// Results that are sent to a mesh of other axes.
    leaves: FxHashSet<Value>,
    ops: Vec<Op>,
}

pub(super) fn partition(program: &mut Program, options: &Options, diagnostics: &mut Diagnostics) {
    let Some(main) = func::function(program, "main") else { return };
    let (Some(topology), Some(block)) = (Topology::of(program, main), func::block(program, main)) else { return };
    let ops = program.block_ops(block).to_vec();
    let kinds = |op: Op| mpmd::kind(program.view(op));
    if !ops.iter().any(|&op| matches!(kinds(op), Some(Kind::Fragment | Kind::Transfer))) {
        return;
    }
    if func::num_replicas(program) > 1 {
        let d = Diagnostic::error(
            codes::PARTITION_COUNT,
            program.op(main).span,
            "a program over several meshes can't have several replicas",
        );
        return diagnostics.push(d.note("give each mesh the devices of all replicas, along an axis"));
    }
    for &op in &ops {
        let view = program.view(op);
        let known = matches!(mpmd::kind(view), Some(Kind::Fragment | Kind::FragmentCall | Kind::Transfer));
        if !known && !view.def().terminator() {
            let d = Diagnostic::error(codes::MESH_ASSIGNMENT, view.span(), format!("'{}' is on no mesh", view.name()));
            return diagnostics.push(d.note("run the pass mpmd-assign first, or move the op into a fragment"));
        }
    }
    // From here on, groups consist of a mesh's devices. Without a number of partitions, a stated single replica would
    // mean a single device.
    program.remove_attr(program.module, NUM_REPLICAS);
    let names = func::functions(program).filter_map(|f| func::symbol(program, f).map(str::to_owned)).collect();
    let leaves = sent_elsewhere(program, &topology, &ops);
    let mut pass = Pass {
        program,
        options,
        diagnostics,
        topology,
        done: FxHashMap::default(),
        names,
        functions: Vec::new(),
        values: FxHashMap::default(),
        undecided: FxHashSet::default(),
        leaves,
        ops: Vec::new(),
    };
    for &argument in &pass.program.block_args(block).to_vec() {
        pass.values.insert(argument, argument);
        if pass.tensor(argument).is_some_and(|t| t.sharding.is_none()) {
            pass.undecided.insert(argument);
        }
    }
    for op in ops {
        if pass.op(op).is_none() {
            return;
        }
    }
    let Pass { ops, functions, .. } = pass;
    let returned = ops.last().map(|&last| program.op(last).operands.to_vec()).unwrap_or_default();
    outline::replace_body(program, main, block, ops, &returned);
    functions.into_iter().for_each(|function| program.append(program.body(), function));
}

/// Returns the values that are sent to a mesh of other axes than their own; they stay replicated.
fn sent_elsewhere(program: &Program, topology: &Topology, ops: &[Op]) -> FxHashSet<Value> {
    let transfers = ops.iter().filter(|&&op| mpmd::kind(program.view(op)) == Some(Kind::Transfer));
    let ends = transfers.filter_map(|&op| Some((*program.op(op).operands.first()?, program.result(op, 0))));
    let axes = |v: Value| mpmd::mesh_of(program, v).and_then(|mesh| topology.alone(mesh));
    ends.filter(|&(from, to)| axes(from) != axes(to)).map(|end| end.0).collect()
}

impl Pass<'_> {
    /// Returns the type of a value on a mesh; its sharding is closed, over that mesh, and missing if it shards nothing.
    fn tensor(&self, value: Value) -> Option<MeshTensor> {
        let mut tensor = self.program.type_data(self.program.value_type(value)).mesh_tensor().cloned()?;
        tensor.sharding = tensor.sharding.and_then(|s| over(&s, tensor.mesh));
        Some(tensor)
    }

    /// Partitions one op; returns `None` after an error.
    fn op(&mut self, op: Op) -> Option<()> {
        let old = self.program.op(op).operands.to_vec();
        let operands: Vec<Value> = old.iter().map(|v| self.values.get(v).copied()).collect::<Option<_>>()?;
        match mpmd::kind(self.program.view(op)) {
            Some(Kind::Fragment) => self.fragment(op, &operands),
            Some(Kind::Transfer) => {
                let (from, result) = (*operands.first()?, self.program.result(op, 0));
                let sent = self.transfer(from, result, self.program.op(op).loc)?;
                self.values.insert(result, sent);
                Some(())
            }
            _ => {
                self.program.op_mut(op).operands = operands.into_iter().collect();
                let results: Vec<Value> = self.program.results(op).collect();
                self.values.extend(results.into_iter().map(|v| (v, v)));
                self.ops.push(op);
                Some(())
            }
        }
    }

    fn fragment(&mut self, op: Op, operands: &[Value]) -> Option<()> {
        let view = self.program.view(op);
        let (body, loc, span) = (view.block(0)?, self.program.op(op).loc, view.span());
        let stated = |name: &str, i: usize| match view.attr(name) {
            Some(AttrData::ShardingPerValue(list)) => list.get(i).map(TensorSharding::closed),
            _ => None,
        };
        let results: Vec<MeshTensor> = view.result_types().filter_map(|ty| ty.mesh_tensor().cloned()).collect();
        let mesh = self.program.find_name(view.attr(mpmd::MESH_NAME)?.as_str()?)?;
        if operands.iter().any(|&v| self.tensor(v).is_none()) || results.len() != view.result_count() {
            let d = Diagnostic::error(codes::MESH_TENSOR, span, "a fragment over tokens can't be partitioned");
            self.diagnostics.push(d.note("order its effects inside one fragment"));
            return None;
        }
        let outs: Shardings = results
            .iter()
            .zip(view.results())
            .enumerate()
            .map(|(i, (tensor, result))| {
                let fixed = tensor.sharding.as_ref().map(TensorSharding::closed);
                let fixed = fixed.or_else(|| stated(sdy::OUT_SHARDINGS, i));
                fixed.or_else(|| self.leaves.contains(&result).then(|| self.replicated(tensor)))
            })
            .collect();
        let mut seen = FxHashSet::default();
        let mut ins = Shardings::with_capacity(operands.len());
        for (i, &operand) in operands.iter().enumerate() {
            let tensor = self.tensor(operand)?;
            // An argument that the fragment reads twice gets one sharding.
            let open = self.undecided.contains(&operand) && seen.insert(operand) && !self.leaves.contains(&operand);
            let own = stated(sdy::IN_SHARDINGS, i).filter(|_| open);
            ins.push(if open {
                own
            } else {
                Some(tensor.sharding.clone().unwrap_or_else(|| self.replicated(&tensor)))
            });
        }
        let name =
            mpmd::origins(self.program.view(op)).first().map_or("inferred", |o| self.program.name_text(o.0)).to_owned();
        let part = self.partitioned(mesh, body, (ins, outs), &name, op)?;
        for (&operand, sharding) in operands.iter().zip(&part.ins) {
            if self.undecided.remove(&operand) {
                self.decide(operand, sharding.clone());
            }
        }
        let types: Vec<TypeData> = results
            .into_iter()
            .zip(&part.outs)
            .map(|(tensor, sharding)| MeshTensor { sharding: sharding.clone(), ..tensor }.into())
            .collect();
        let kept = [mpmd::MESH_NAME, mpmd::ORIGIN, mpmd::CALL_COUNTER];
        let made = self.call(operands, types, &part.name, loc);
        for name in kept {
            if let Some(attr) = self.program.attr(op, name) {
                self.program.set_attr(made, name, attr);
            }
        }
        self.program.op_mut(made).span = span;
        let old: Vec<Value> = self.program.results(op).collect();
        let new: Vec<Value> = self.program.results(made).collect();
        self.values.extend(old.into_iter().zip(new));
        Some(())
    }

    fn call(&mut self, operands: &[Value], types: Vec<TypeData>, callee: &str, loc: Loc) -> Op {
        let types: Vec<_> = types.into_iter().map(|ty| self.program.intern_type(ty)).collect();
        let callee = self.program.intern_attr(AttrData::Symbol(callee.into()));
        let mut b = Builder::new(self.program, &mut self.ops, loc);
        b.op(&mpmd::FRAGMENT_CALL, operands, &types, &[("callee", callee)])
    }

    fn replicated(&self, tensor: &MeshTensor) -> TensorSharding {
        TensorSharding::replicated(MeshRef::Symbol(tensor.mesh), tensor.tensor.rank())
    }

    /// Sets the sharding of an argument.
    fn decide(&mut self, argument: Value, sharding: Option<TensorSharding>) {
        if let Some(tensor) = self.tensor(argument) {
            let ty = self.program.intern_type(MeshTensor { sharding, ..tensor });
            self.program.set_value_type(argument, ty);
        }
    }

    /// Returns the value on the mesh and in the sharding of the type of `result`; without a sharding there, in that of
    /// `from`.
    fn transfer(&mut self, from: Value, result: Value, loc: Loc) -> Option<Value> {
        self.undecided.remove(&from);
        let (source, mut target) = (self.tensor(from)?, self.tensor(result)?);
        let (here, there) = (self.topology.alone(source.mesh)?, self.topology.alone(target.mesh)?);
        if target.sharding.is_none() && here == there && source.mesh != target.mesh {
            target.sharding = source.sharding.as_ref().and_then(|s| over(s, target.mesh));
        }
        let replicated = |t: &MeshTensor| MeshTensor { sharding: None, ..t.clone() };
        if source.mesh == target.mesh {
            return self.resharded(from, &target, loc);
        }
        let same = here == there && source.sharding.as_ref().and_then(|s| over(s, target.mesh)) == target.sharding;
        let (leaving, arriving) =
            if same { (source, target.clone()) } else { (replicated(&source), replicated(&target)) };
        let from = self.resharded(from, &leaving, loc)?;
        let ty = self.program.intern_type(arriving);
        let moved = Builder::new(self.program, &mut self.ops, loc).op(&mpmd::TRANSFER, &[from], &[ty], &[]);
        let arrived = self.program.result(moved, 0);
        self.resharded(arrived, &target, loc)
    }

    /// Reshards a value on its mesh, by a fragment that does nothing else.
    fn resharded(&mut self, value: Value, wanted: &MeshTensor, loc: Loc) -> Option<Value> {
        let tensor = self.tensor(value)?;
        if tensor.sharding == wanted.sharding {
            return Some(value);
        }
        let block = self.program.new_block();
        let ty = self.program.intern_type(tensor.tensor.clone());
        let argument = self.program.add_block_arg(block, ty, loc, Default::default());
        let mut ops = Vec::new();
        Builder::new(self.program, &mut ops, loc).op(&mpmd::RETURN, &[argument], &[], &[]);
        self.program.set_block_ops(block, ops);
        let fixed = |t: &MeshTensor| vec![Some(t.sharding.clone().unwrap_or_else(|| self.replicated(t)))];
        let shardings = (fixed(&tensor), fixed(wanted));
        let mesh = self.program.name_text(tensor.mesh).to_owned();
        let (origins, mesh) = (AttrData::Array(Vec::new()), AttrData::String(mesh.into()));
        let (origins, mesh) = (self.program.intern_attr(origins), self.program.intern_attr(mesh));
        let terminator = self.program.terminator(block)?;
        let part = self.partitioned(tensor.mesh, block, shardings, "reshard", terminator)?;
        let made = self.call(&[value], vec![wanted.clone().into()], &part.name, loc);
        self.program.set_attr(made, mpmd::MESH_NAME, mesh);
        self.program.set_attr(made, mpmd::ORIGIN, origins);
        Some(self.program.result(made, 0))
    }

    /// Returns the function that the devices of `mesh` run for `body`; equal bodies share one function.
    fn partitioned(
        &mut self,
        mesh: Name,
        body: Block,
        (ins, outs): (Shardings, Shardings),
        name: &str,
        at: Op,
    ) -> Option<Partitioned> {
        let key = (mesh, outline::key(self.program, body), ins.clone(), outs.clone());
        if let Some(done) = self.done.get(&key) {
            return Some(done.clone());
        }
        let alone = self.topology.alone(mesh)?;
        let named: NamedMesh = (self.program.name_text(mesh).to_owned(), alone);
        let (mut ins, mut outs) = (ins, outs);
        let found = loop {
            let found = self.on_mesh(&named, body, &ins, &outs, at)?;
            // Values that don't divide are replicated between fragments.
            let uneven = |shardings: &Shardings, fixed: &Shardings, values: &[TypeData]| -> Vec<usize> {
                let even = |s: &TensorSharding, ty: &TypeData| {
                    let sizes = s.dims.iter().map(|d| dialect::sharding::axes_size(&d.axes, &named.1));
                    let whole = s.unreduced.is_empty();
                    whole && ty.tensor().is_some_and(|t| sizes.zip(&t.shape).all(|(by, size)| size % by.max(1) == 0))
                };
                let uneven =
                    |i: &usize| fixed[*i].is_none() && shardings[*i].as_ref().is_some_and(|s| !even(s, &values[*i]));
                (0..shardings.len()).filter(uneven).collect()
            };
            let bad_ins = uneven(&found.ins, &ins, &found.globals.0);
            let bad_outs = uneven(&found.outs, &outs, &found.globals.1);
            if bad_ins.is_empty() && bad_outs.is_empty() {
                break found;
            }
            let replicated =
                |ty: &TypeData| ty.tensor().map(|t| TensorSharding::replicated(MeshRef::Symbol(mesh), t.rank()));
            bad_ins.into_iter().for_each(|i| ins[i] = replicated(&found.globals.0[i]));
            bad_outs.into_iter().for_each(|i| outs[i] = replicated(&found.globals.1[i]));
        };
        let name = self.fresh(&named.0, name);
        let attr = self.program.attr_str(&name);
        self.program.set_attr(found.function, "sym_name", attr);
        self.functions.push(found.function);
        let part = Partitioned { name, ins: found.ins, outs: found.outs };
        self.done.insert(key, part.clone());
        Some(part)
    }

    fn fresh(&mut self, mesh: &str, name: &str) -> String {
        let word =
            |text: &str| -> String { text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect() };
        let base = format!("{}_{}", word(mesh), word(name));
        let numbered = (1..).map(|i| if i == 1 { base.clone() } else { format!("{base}_{i}") });
        let mut free = numbered.skip_while(|name| self.names.contains(name));
        let name = free.next().unwrap_or(base.clone());
        self.names.insert(name.clone());
        name
    }

    /// Runs the passes for one mesh on `body`.
    fn on_mesh(
        &mut self,
        mesh: &NamedMesh,
        body: Block,
        ins: &Shardings,
        outs: &Shardings,
        at: Op,
    ) -> Option<PartitionedFragment> {
        let (span, options) = (self.program.op(at).span, self.options);
        let machine = match Machine::of_mesh(options.target(self.diagnostics)?, &mesh.1) {
            Ok(machine) => machine,
            Err(error) => {
                let d = Diagnostic::error(codes::TARGET_SIZE, span, error.message);
                self.diagnostics
                    .push(d.note("name a slice whose number of chips is a multiple of each mesh's devices"));
                return None;
            }
        };
        let whole = CompileOptions { target: options.compile.target.clone(), ..CompileOptions::default() };
        let limited = CompileOptions { memory: options.compile.memory, ..whole.clone() };
        let registry = options.registry();
        let steps = registry
            .pipeline("planned", &limited)
            .and_then(|planned| Ok([planned, registry.pipeline("partition,collective-matmul,schedule", &whole)?]));
        let steps = match steps {
            Ok(steps) => steps,
            Err(faults) => {
                self.diagnostics.append(faults);
                return None;
            }
        };
        let globals = |program: &Program, values: Vec<Value>| -> Vec<TypeData> {
            values.into_iter().map(|v| program.type_data(program.value_type(v)).clone()).collect()
        };
        let returned =
            self.program.terminator(body).map(|op| self.program.op(op).operands.to_vec()).unwrap_or_default();
        let types = (globals(self.program, self.program.block_args(body).to_vec()), globals(self.program, returned));
        let alone = Alone::enter(self.program, body, ins, outs, Some(mesh));
        for step in steps.iter().flat_map(|steps| steps.iter()) {
            (step.pass.run)(alone.program, &step.options, self.diagnostics);
            if self.diagnostics.has_errors() {
                alone.leave();
                return None;
            }
        }
        let cost = estimate(alone.program, &machine);
        let sides = Signature::of(alone.program).map(|s| {
            let list = |sides: Vec<dialect::signature::Side>| -> Shardings {
                sides.into_iter().map(|side| side.sharding.filter(is_sharded)).collect()
            };
            (list(s.arguments), list(s.results))
        });
        let made = alone.leave();
        let (Some((ins, outs)), &[function]) = (sides, &made[..]) else {
            let d =
                Diagnostic::error(codes::MESH_ASSIGNMENT, span, "a fragment that names functions can't be partitioned");
            self.diagnostics.push(d.note("inline the functions into the fragment"));
            return None;
        };
        self.finish(function, mesh, cost.step_seconds, cost.peak_bytes);
        Some(PartitionedFragment { function, ins, outs, globals: types })
    }

    /// Records the results of partitioning on a fragment's function.
    fn finish(&mut self, function: Op, mesh: &NamedMesh, seconds: f64, peak: f64) {
        let p = &mut *self.program;
        let count = |attr: &str, p: &Program| match p.attr(function, attr).map(|a| p.attr_data(a)) {
            Some(AttrData::Array(list)) => list.len(),
            _ => 0,
        };
        let none = |n: usize| -> Vec<(usize, Option<Attr>)> { (0..n).map(|i| (i, None)).collect() };
        let (args, results) = (count(func::ARG_ATTRS, p), count(func::RES_ATTRS, p));
        for name in [GLOBAL_TYPE, SHARDING] {
            func::set_arg_attrs(p, function, name, &none(args));
            func::set_result_attrs(p, function, name, &none(results));
        }
        let private = p.attr_str("private");
        p.set_attr(function, "sym_visibility", private);
        let shape = p.intern_attr(AttrData::Mesh(mesh.1.clone()));
        p.set_attr(function, mpmd::MESH_SHAPE, shape);
        let ty = p.intern_type(TypeData::Scalar(ElementType::F64));
        let seconds = p.intern_attr(AttrData::Float(seconds.to_bits(), ty));
        p.set_attr(function, mpmd::SECONDS, seconds);
        let peak = p.attr_i64(peak as i64);
        p.set_attr(function, mpmd::PEAK_BYTES, peak);
    }
}

/// A fragment after the passes for one mesh.
struct PartitionedFragment {
    function: Op,
    ins: Shardings,
    outs: Shardings,
    /// The global types of its arguments and results.
    globals: (Vec<TypeData>, Vec<TypeData>),
}

/// Returns a sharding in the form that a type on `mesh` has.
fn over(sharding: &TensorSharding, mesh: Name) -> Option<TensorSharding> {
    let closed = TensorSharding { mesh: MeshRef::Symbol(mesh), ..sharding.closed() };
    Some(closed).filter(is_sharded)
}

fn is_sharded(sharding: &TensorSharding) -> bool {
    sharding.dims.iter().any(|d| !d.axes.is_empty()) || !sharding.unreduced.is_empty()
}
