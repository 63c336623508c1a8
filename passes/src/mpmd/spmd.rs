//! mpmd-spmd: replaces fragments and transfers by one program for the devices of all meshes.
//!
//! A fragment becomes a branch that the devices of its mesh take; on other devices its results are zeros without users.
//! A transfer becomes permutes from devices of one mesh to those of another. Every device goes through `@main` in order
//! and only waits for devices that it exchanges data with, so the order of a mesh's fragments in `@main` is the order
//! in which its devices run them, and meshes run at the same time. Arguments and results of `@main` exist on their mesh
//! alone: the signature names its devices.

use dialect::codes;
use dialect::collective::{Rows, rows};
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::build::Builder;
use dialect::ir::{AttrData, Block, ElementType, Loc, MeshTensor, Name, Op, Program, Renaming, Ty, Value, gcd};
use dialect::literal::Literal;
use dialect::ops::mpmd::{self, Kind, TOPOLOGY, Topology};
use dialect::ops::{build, func};
use dialect::scalar::Scalar;
use dialect::sharding::{Layout, MAX_DEVICES, Mesh, MeshRef, TensorSharding};
use dialect::signature::{GLOBAL_TYPE, MESHES, SHARDING};
use rustc_hash::{FxHashMap, FxHashSet};

use super::outline;

/// The only axis of the mesh of all devices.
const DEVICES: &str = "devices";

pub(super) fn spmd(program: &mut Program, diagnostics: &mut Diagnostics) {
    let Some(main) = func::function(program, "main") else { return };
    let (Some(topology), Some(block)) = (Topology::of(program, main), func::block(program, main)) else { return };
    let ops = program.block_ops(block).to_vec();
    let kind = |op: Op| mpmd::kind(program.view(op));
    if !ops.iter().any(|&op| matches!(kind(op), Some(Kind::FragmentCall | Kind::Transfer))) {
        return;
    }
    let other = |op: &&Op| {
        let known = matches!(kind(**op), Some(Kind::FragmentCall | Kind::Transfer));
        !known && !program.op(**op).def.terminator()
    };
    if let Some(&op) = ops.iter().find(other) {
        let view = program.view(op);
        let d = Diagnostic::error(codes::MESH_ASSIGNMENT, view.span(), format!("'{}' isn't partitioned", view.name()));
        return diagnostics.push(d.note("run the passes mpmd-assign and mpmd-partition first"));
    }
    let Some(devices) = devices(program, &topology, &ops) else {
        let message = "the groups of the meshes' collectives need more devices than are supported";
        let d = Diagnostic::error(codes::DEVICE_COUNT, program.op(main).span, message);
        return diagnostics.push(d.note("give the meshes sizes with common divisors"));
    };
    let old = program.block_args(block).to_vec();
    let new = program.new_block();
    let mut lower = Lower {
        program,
        diagnostics,
        topology: &topology,
        devices,
        values: FxHashMap::default(),
        tables: FxHashMap::default(),
        members: FxHashMap::default(),
        number: None,
        channel: 1,
        ops: Vec::new(),
    };
    for &argument in &old {
        let Some(ty) = lower.local(argument) else { return };
        let (loc, span) = (lower.program.value_loc(argument), lower.program.value_span(argument));
        let value = lower.program.add_block_arg(new, ty, loc, span);
        lower.values.insert(argument, value);
    }
    let mut returned = Vec::new();
    for &op in &ops {
        let first = lower.ops.len();
        match mpmd::kind(lower.program.view(op)) {
            Some(Kind::FragmentCall) => lower.fragment(op),
            Some(Kind::Transfer) => lower.transfer(op),
            _ => returned = lower.program.op(op).operands.to_vec(),
        }
        let (made, span) = (lower.ops[first..].to_vec(), lower.program.op(op).span);
        outline::set_spans(lower.program, &made, span);
        if lower.diagnostics.has_errors() {
            return;
        }
    }
    let Lower { mut ops, values, .. } = lower;
    let sides = |program: &Program, values: &[Value]| -> Vec<MeshTensor> {
        let tensor = |v: &Value| program.type_data(program.value_type(*v)).mesh_tensor().cloned();
        values.iter().filter_map(tensor).collect()
    };
    let (arguments, results) = (sides(program, &old), sides(program, &returned));
    let local: Vec<Value> = returned.iter().filter_map(|v| values.get(v).copied()).collect();
    Builder::new(program, &mut ops, Loc::UNKNOWN).op(&func::RETURN, &local, &[], &[]);
    outline::replace_body(program, main, new, ops, &local);
    for (list, is_argument) in [(arguments, true), (results, false)] {
        for (i, side) in list.into_iter().enumerate() {
            state(program, main, &topology, side, i, is_argument);
        }
    }
    finish(program, main, devices);
}

/// Returns the number of devices of the program: those of all meshes, and idle ones where groups of equal size wouldn't
/// cover all devices, as the specification requires. `None` if there are too many.
fn devices(program: &Program, topology: &Topology, ops: &[Op]) -> Option<i64> {
    let mut multiple = 1i64;
    let mut seen: FxHashSet<Op> = FxHashSet::default();
    let functions = func::functions_by_name(program);
    for &op in ops {
        let Some(&function) = func::callee(program.view(op)).and_then(|name| functions.get(name)) else { continue };
        let Some(block) = func::block(program, function).filter(|_| seen.insert(function)) else { continue };
        for inner in program.ops_under(block) {
            let view = program.view(inner);
            let even = view.def().groups(view).filter(|rule| rule.even.is_some() && rule.cover);
            if let Some(found) = even.and_then(|rule| rows(program, view.attr_id(rule.attribute)?)) {
                let width = found.width().max(1) as i64;
                multiple = multiple.checked_mul(width / gcd(multiple, width))?;
            }
        }
    }
    let main = func::function(program, "main")?;
    let all = topology.devices().max(super::meshes::stated_devices(program, main).unwrap_or(0));
    let single = topology.meshes.len() == 1 && topology.meshes[0].1.devices() == all;
    let padded = if single { all } else { all.checked_add(multiple - 1)? / multiple * multiple };
    Some(padded).filter(|&n| n <= MAX_DEVICES)
}

/// Records the global type and the sharding of an argument or result.
fn state(program: &mut Program, main: Op, topology: &Topology, side: MeshTensor, i: usize, is_argument: bool) {
    let Some(mesh) = topology.mesh(side.mesh).cloned() else { return };
    let rank = side.tensor.rank();
    let inline = MeshRef::Inline(Box::new(mesh));
    let sharding = match side.sharding {
        Some(sharding) => TensorSharding { mesh: inline, ..sharding },
        None => TensorSharding::replicated(inline, rank),
    };
    let ty = program.intern_type(side.tensor);
    let ty = program.intern_attr(AttrData::Type(ty));
    let text = program.sharding_text(&sharding);
    let text = program.attr_str(&text);
    let set = if is_argument { func::set_arg_attr } else { func::set_result_attr };
    set(program, main, i, GLOBAL_TYPE, ty);
    set(program, main, i, SHARDING, text);
}

/// Removes the topology and the fragments' functions, and declares one mesh of all devices.
fn finish(program: &mut Program, main: Op, devices: i64) {
    program.remove_attr(main, TOPOLOGY);
    super::meshes::forget_devices(program, main);
    // The functions of fragments are inlined in @main.
    let top = vec![main];
    program.set_block_ops(program.body(), top);
    func::set_devices(program, 1, devices);
    let axis = program.name(DEVICES);
    let mesh = Mesh { axes: [(axis, devices)].into_iter().collect(), device_ids: None };
    let text = program.mesh_text(&mesh);
    let text = program.attr_str(&text);
    let meshes = program.intern_attr(AttrData::Dict(vec![(axis, text)]));
    let (module, unit) = (program.module, program.intern_attr(AttrData::Unit));
    program.set_attr(module, MESHES, meshes);
    program.set_attr(module, mpmd::ORDERED, unit);
}

struct Lower<'a> {
    program: &'a mut Program,
    diagnostics: &'a mut Diagnostics,
    topology: &'a Topology,
    /// The number of the program's devices.
    devices: i64,
    /// The shard of each value of the old `@main`.
    values: FxHashMap<Value, Value>,
    /// This device's entry of each table with one number per device.
    tables: FxHashMap<Vec<i64>, Value>,
    /// Whether this device is among the devices of each list.
    members: FxHashMap<Vec<i64>, Value>,
    /// The number of this device.
    number: Option<Value>,
    channel: i64,
    ops: Vec<Op>,
}

impl Lower<'_> {
    fn tensor(&self, value: Value) -> Option<MeshTensor> {
        self.program.type_data(self.program.value_type(value)).mesh_tensor().cloned()
    }

    fn layout(&self, value: Value) -> Option<Layout> {
        self.topology.layout(&self.tensor(value)?)
    }

    /// Returns the type of a device's shard.
    fn local(&mut self, value: Value) -> Option<Ty> {
        let local = self.layout(value)?.local_type();
        Some(self.program.intern_type(local))
    }

    /// Returns this device's entry of a table: a rank-0 `i32`, computed once.
    fn entry(&mut self, table: Vec<i64>) -> Value {
        if let Some(&value) = self.tables.get(&table) {
            return value;
        }
        let mut b = Builder::new(self.program, &mut self.ops, Loc::UNKNOWN);
        let number = *self.number.get_or_insert_with(|| {
            let id = build::collective::partition_id(&mut b);
            build::convert(&mut b, id, ElementType::I32)
        });
        let entries = table.iter().map(|&v| Scalar::Int(v.into()));
        let literal = Literal::from_scalars(ElementType::I32, &[table.len() as i64], entries);
        let constant = build::constant(&mut b, literal);
        let entry = build::shape::dynamic_slice(&mut b, constant, &[number], &[1]);
        let value = build::shape::reshape(&mut b, entry, &[]);
        self.tables.insert(table, value);
        value
    }

    /// Returns whether this device is one of `devices`: a rank-0 `i1`, computed once.
    fn is_among(&mut self, devices: &[i64]) -> Value {
        if let Some(&value) = self.members.get(devices) {
            return value;
        }
        let mut table = vec![0; self.devices as usize];
        devices.iter().for_each(|&d| table[d as usize] = 1);
        let entry = self.entry(table);
        let mut b = Builder::new(self.program, &mut self.ops, Loc::UNKNOWN);
        let value = build::convert(&mut b, entry, ElementType::I1);
        self.members.insert(devices.to_vec(), value);
        value
    }

    fn fragment(&mut self, op: Op) {
        let view = self.program.view(op);
        let (results, loc): (Vec<Value>, Loc) = (view.results().collect(), self.program.op(op).loc);
        let operands: Option<Vec<Value>> = view.operands().iter().map(|v| self.values.get(v).copied()).collect();
        let callee = func::callee(view).and_then(|name| func::function(self.program, name));
        let body = callee.and_then(|f| func::block(self.program, f));
        let mesh = view.attr(mpmd::MESH_NAME).and_then(AttrData::as_str).and_then(|name| self.program.find_name(name));
        let (Some(operands), Some(body), Some(mesh)) = (operands, body, mesh) else { return };
        let ids = self.topology.ids(mesh).to_vec();
        let copy = self.program.clone_block(body, &mut Renaming::default());
        if !self.renumber(copy, &ids, op) {
            return;
        }
        let mut positions = vec![0; self.devices as usize];
        ids.iter().enumerate().for_each(|(at, &id)| positions[id as usize] = at as i64);
        let regular = ids.iter().copied().eq(0..self.devices);
        // Computed before the branch, since branches of other fragments use them, too.
        let under = self.program.ops_under(copy);
        let numbers: Vec<Op> = under.iter().copied().filter(|&op| self.program.op(op).def.is_device_number()).collect();
        let position = (!regular && !numbers.is_empty()).then(|| self.entry(positions));
        let here = (ids.len() as i64 != self.devices).then(|| self.is_among(&ids));
        let types: Option<Vec<Ty>> = results.iter().map(|&v| self.local(v)).collect();
        let Some(types) = types else { return };
        let args = self.program.block_args(copy).to_vec();
        let renaming: FxHashMap<Value, Value> = args.into_iter().zip(operands).collect();
        let mut b = Builder::new(self.program, &mut self.ops, loc);
        let run = |b: &mut Builder<'_>| {
            let mut renaming = renaming.clone();
            if let Some(position) = position {
                let own = build::convert(b, position, ElementType::UI32);
                renaming.extend(numbers.iter().map(|&op| (b.program.result(op, 0), own)));
                for block in b.program.blocks_under(copy) {
                    let ops = b.program.block_ops(block).iter().copied().filter(|op| !numbers.contains(op)).collect();
                    b.program.set_block_ops(block, ops);
                }
            }
            let mut inner = b.program.block_ops(copy).to_vec();
            b.program.ops_under(copy).into_iter().for_each(|op| b.program.rename_operands(op, &renaming));
            let last = inner.pop();
            b.ops.extend(inner);
            last.map(|last| b.program.op(last).operands.to_vec()).unwrap_or_default()
        };
        let made = match here {
            None => run(&mut b),
            Some(here) => build::region::if_else(&mut b, here, &types, run, |b| {
                let zero = |b: &mut Builder<'_>, ty: Ty| {
                    let t = b.program.type_data(ty).tensor().expect("a shard").clone();
                    build::splat(b, t.element, &t.shape, Scalar::zero(t.element))
                };
                types.iter().map(|&ty| zero(b, ty)).collect()
            }),
        };
        self.values.extend(results.into_iter().zip(made));
    }

    /// Rewrites the groups of a fragment's collectives to devices of its mesh, with new channels.
    fn renumber(&mut self, block: Block, ids: &[i64], at: Op) -> bool {
        let devices = self.devices;
        let whole = ids.iter().copied().eq(0..devices);
        let members: FxHashSet<i64> = ids.iter().copied().collect();
        let others: Vec<i64> = (0..devices).filter(|id| !members.contains(id)).collect();
        let span = self.program.op(at).span;
        let fault = |message: &str, note: &str| {
            Diagnostic::error(codes::MESH_ASSIGNMENT, span, message.to_owned()).note(note.to_owned())
        };
        for op in self.program.ops_under(block) {
            let view = self.program.view(op);
            if view.attr("channel_handle").is_some() {
                let handle = build::collective::handle(self.program, self.channel);
                self.channel += 1;
                self.program.set_attr(op, "channel_handle", handle);
            }
            let view = self.program.view(op);
            let Some(rule) = view.def().groups(view) else { continue };
            let Some(attr) = view.attr_id(rule.attribute) else { continue };
            if whole {
                continue;
            }
            let Some(found) = rows(self.program, attr) else { continue };
            let mapped: Option<Vec<Vec<i64>>> = match &found {
                Rows::All if !rule.pairs => Some(vec![ids.to_vec()]),
                found => {
                    let id = |id: i64| usize::try_from(id).ok().and_then(|id| ids.get(id).copied());
                    (0..found.count()).map(|row| found.row(row).map(id).collect()).collect()
                }
            };
            let Some(mut lists) = mapped else {
                let message = "a collective of this fragment names devices that its mesh doesn't have";
                self.diagnostics.push(fault(message, "number the devices of the mesh by their positions"));
                return false;
            };
            if rule.cover {
                let width = lists.first().map_or(1, Vec::len).max(1);
                lists.extend(others.chunks(width).map(<[i64]>::to_vec));
            }
            if rule.pairs && lists.is_empty() {
                continue;
            }
            let literal = dialect::collective::literal_of(&lists);
            let ty = self.program.intern_type(literal.ty());
            let attr = self.program.intern_attr(AttrData::Dense(ty, literal));
            self.program.set_attr(op, rule.attribute, attr);
        }
        true
    }

    fn transfer(&mut self, op: Op) {
        let view = self.program.view(op);
        let (Some(&from), to, loc) = (view.operands().first(), self.program.result(op, 0), self.program.op(op).loc)
        else {
            return;
        };
        let (Some(source), Some(target)) = (self.tensor(from), self.tensor(to)) else { return };
        let (Some(own), Some(wanted)) = (self.layout(from), self.layout(to)) else { return };
        let Some(&value) = self.values.get(&from) else { return };
        let rounds = self.pairs(&source, &target, &own, &wanted);
        let Some(rounds) = rounds else {
            let span = self.program.op(op).span;
            let d =
                Diagnostic::error(codes::MESH_ASSIGNMENT, span, "no device has the shards that this transfer sends");
            return self
                .diagnostics
                .push(d.note("run the pass mpmd-partition first, which reshards values before they are sent"));
        };
        let mut arrived: Option<Value> = None;
        for pairs in rounds {
            let targets: Vec<i64> = pairs.iter().map(|p| p[1]).collect();
            let literal = dialect::collective::literal_of(&pairs);
            let ty = self.program.intern_type(literal.ty());
            let pairs = self.program.intern_attr(AttrData::Dense(ty, literal));
            let channel = self.channel;
            self.channel += 1;
            let sent =
                build::collective::permute(&mut Builder::new(self.program, &mut self.ops, loc), value, pairs, channel);
            arrived = Some(match arrived {
                None => sent,
                Some(before) => {
                    let here = self.is_among(&targets);
                    build::select(&mut Builder::new(self.program, &mut self.ops, loc), here, sent, before)
                }
            });
        }
        self.values.extend(arrived.map(|value| (to, value)));
    }

    /// Returns senders and receivers, in rounds in which no device sends twice. Every device of the target's mesh
    /// receives from a device that has its shard; among several, from the one that has sent least.
    fn pairs(
        &self,
        source: &MeshTensor,
        target: &MeshTensor,
        own: &Layout,
        wanted: &Layout,
    ) -> Option<Vec<Vec<Vec<i64>>>> {
        let (from, to) = (self.ids(source.mesh), self.ids(target.mesh));
        if own.local_type() != wanted.local_type() || own.reduction().is_some() || wanted.reduction().is_some() {
            return None;
        }
        let mut holders: FxHashMap<_, Vec<(usize, i64)>> = FxHashMap::default();
        for (at, &id) in from.iter().enumerate() {
            holders.entry(own.range(at)).or_default().push((0, id));
        }
        let mut rounds: Vec<Vec<Vec<i64>>> = Vec::new();
        for (at, &id) in to.iter().enumerate() {
            let having = holders.get_mut(&wanted.range(at))?;
            let sender = having.iter_mut().min_by_key(|holder| holder.0)?;
            if rounds.len() == sender.0 {
                rounds.push(Vec::new());
            }
            rounds[sender.0].push(vec![sender.1, id]);
            sender.0 += 1;
        }
        Some(rounds)
    }

    fn ids(&self, mesh: Name) -> &[i64] {
        self.topology.ids(mesh)
    }
}
