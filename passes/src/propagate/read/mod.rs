//! Reads the program's shardings and rules into the engine.
//!
//! Inline meshes get a name, equal meshes share one name, and axes of size one are dropped, since they have no effect
//! and would only block other axes. Source: Shardy, `lift-inlined-meshes`, `remove-size-one-axes`,
//! `manual-axes-cleanup`.

pub mod calls;
pub mod constants;
pub mod constraints;
pub mod edges;
pub mod groups;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{AttrData, Name, Op, Program, TypeData};
use dialect::op::OpDef;
use dialect::ops::{build, func, sdy};
use dialect::sharding::{Mesh, MeshRef, ShardingTable, TensorSharding};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::algorithm::engine::{Engine, FunctionResults};
use super::algorithm::manual::Manual;
use super::algorithm::rule::{Rule, RuleId};
use super::algorithm::sharding::ShardingId;
use super::graph::role::Kind;
use super::graph::{Node, Place, Val};

/// Reads meshes, shardings and rules. Returns false when the program can't be propagated; `diagnostics` has the reason.
pub fn read(engine: &mut Engine, program: &mut Program, diagnostics: &mut Diagnostics) -> bool {
    let mut nodes = Vec::with_capacity(engine.graph.nodes.len());
    engine.graph.preorder(program, program.body(), &mut |node| nodes.push(node));
    if !check_types(engine, program, &nodes, diagnostics) {
        return false;
    }
    let table = ShardingTable::of(program);
    let known = vec![None; table.iter().len()];
    let mut reader = Reader { engine, program, table, known };
    reader.read_meshes(&nodes);
    for &node in &nodes {
        reader.read_node(node);
    }
    true
}

/// Checks that every tensor has a static shape and that there are no tuples.
fn check_types(engine: &Engine, program: &Program, nodes: &[Node], diagnostics: &mut Diagnostics) -> bool {
    let mut good = true;
    for op in nodes.iter().filter_map(|&n| engine.graph.op(n)) {
        let view = program.view(op);
        let problem = view.result_types().find_map(|ty| match ty {
            TypeData::Tensor(t) if !t.is_static() => Some("a dynamic shape"),
            TypeData::Tuple(_) => Some("a tuple"),
            _ => None,
        });
        if let Some(what) = problem {
            let message = format!("sharding propagation needs tensors of static shape, found {what}");
            diagnostics.push(Diagnostic::error(codes::DYNAMIC_SHAPE, view.span(), message));
            good = false;
        }
    }
    good
}

struct Reader<'a> {
    engine: &'a mut Engine,
    program: &'a mut Program,
    /// The initial shardings of values.
    table: ShardingTable,
    /// The converted shardings of the table, by id; converted on first use.
    known: Vec<Option<KnownSharding>>,
}

/// A sharding in the engine's form.
#[derive(Clone, Copy)]
struct KnownSharding {
    id: ShardingId,
    /// The rank of values that it fits; `None` for a sharding on one device, which fits all.
    rank: Option<usize>,
}

/// The attributes of an op that hold shardings.
const HOLDERS: [&str; 5] = [func::SHARDING, sdy::SHARDING, sdy::OUT_SHARDING, sdy::IN_SHARDINGS, sdy::OUT_SHARDINGS];

impl Reader<'_> {
    /// Numbers the meshes, keeps one of each set of equal ones, and gives inline meshes a symbol.
    fn read_meshes(&mut self, nodes: &[Node]) {
        let mut last = None;
        let meshes = sdy::meshes(self.program).map(|(op, symbol, mesh)| (op, symbol.to_owned(), mesh.clone()));
        for (op, symbol, mesh) in meshes.collect::<Vec<_>>() {
            let Some(node) = nodes.iter().copied().find(|&n| self.engine.graph.op(n) == Some(op)) else {
                continue;
            };
            let duplicate = self.engine.meshes.find(&mesh).is_some();
            self.engine.meshes.add(self.program.name(&symbol), &mesh);
            if duplicate {
                self.engine.graph.erase(self.program, node);
            } else {
                last = Some(node);
            }
        }
        for mesh in self.inline_meshes(nodes) {
            if self.engine.meshes.find(&mesh).is_some() {
                continue;
            }
            let symbol = self.new_symbol(&mesh);
            self.engine.meshes.add(self.program.name(&symbol), &mesh);
            let op = build::sdy::mesh(self.program, &symbol, mesh);
            let place = last.map_or(Place::First(self.program.body()), Place::After);
            last = Some(self.engine.graph.insert_op(self.program, op, &[], place));
        }
    }

    fn new_symbol(&self, mesh: &Mesh) -> String {
        let base = match (&mesh.device_ids, mesh.axes.is_empty()) {
            (Some(ids), true) => format!("maximal_mesh_{}", ids.first().copied().unwrap_or(0)),
            (None, true) => "empty_mesh".to_owned(),
            _ => "mesh".to_owned(),
        };
        let top = self.program.block_ops(self.program.body());
        let taken = |name: &str| {
            let known = self.program.find_name(name).is_some_and(|n| self.engine.meshes.is_symbol(n));
            // Mesh ops with this name may have been removed.
            let other =
                |op| self.program.op_name(op) != sdy::MESH.name() && func::symbol(self.program, op) == Some(name);
            known || top.iter().any(|&op| other(op))
        };
        let numbered = (0..).map(|i| format!("{base}_{i}"));
        std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(base)
    }

    /// Returns the inline meshes in order of appearance.
    fn inline_meshes(&self, nodes: &[Node]) -> Vec<Mesh> {
        let mut inline = Vec::new();
        let mut see = |s: &TensorSharding| {
            if let MeshRef::Inline(mesh) = &s.mesh {
                inline.push((**mesh).clone());
            }
        };
        for op in nodes.iter().filter_map(|&n| self.engine.graph.op(n)) {
            let view = self.program.view(op);
            if self.program.op(op).attrs.is_empty() {
                continue;
            }
            for name in HOLDERS {
                match view.attr(name) {
                    Some(AttrData::Sharding(s)) => see(s),
                    Some(AttrData::ShardingPerValue(list)) => list.iter().for_each(&mut see),
                    _ => {}
                }
            }
            let signature = func::signature(self.program, op);
            let (inputs, results) = (signature.inputs.len(), signature.results.len());
            (0..inputs).filter_map(|i| func::arg_sharding(self.program, op, i)).for_each(&mut see);
            (0..results).filter_map(|i| func::result_sharding(self.program, op, i)).for_each(&mut see);
        }
        inline
    }

    /// Gives a value the sharding it has in the table.
    fn assign(&mut self, value: Val) {
        let Some(id) = self.table.id(self.engine.graph.program_value(value)) else { return };
        let known = self.known[id.index()].unwrap_or_else(|| self.convert(id));
        self.known[id.index()] = Some(known);
        if known.id != ShardingId::NONE && known.rank.is_none_or(|rank| rank == self.engine.graph.rank(value)) {
            let slot = self.engine.graph.slot(value);
            self.engine.graph.slots[slot] = known.id;
        }
    }

    fn convert(&mut self, id: dialect::sharding::ShardingId) -> KnownSharding {
        let Some(compact) = self.engine.meshes.read_nontrivial(self.table.sharding(id)) else {
            return KnownSharding { id: ShardingId::NONE, rank: None };
        };
        let on_one_device = self.engine.meshes.get(compact.mesh).mesh.is_maximal();
        let rank = (!on_one_device).then_some(compact.dims.len());
        KnownSharding { id: self.engine.shardings.intern(compact), rank }
    }

    fn list(&self, op: Op, name: &str) -> Vec<TensorSharding> {
        match self.program.view(op).attr(name) {
            Some(AttrData::ShardingPerValue(list)) => list.clone(),
            Some(AttrData::Sharding(one)) => vec![one.clone()],
            _ => Vec::new(),
        }
    }

    fn read_node(&mut self, node: Node) {
        let Some(op) = self.engine.graph.op(node) else {
            return;
        };
        let results: SmallVec<[Val; 2]> = self.engine.graph.results(node).collect();
        let kind = self.engine.graph.node(node).role.kind;
        if kind == Kind::Manual {
            return self.read_manual(node, op);
        }
        results.into_iter().for_each(|value| self.assign(value));
        if matches!(kind, Kind::Function | Kind::Named)
            && let Some(block) = self.program.region_block(op, 0)
        {
            for arg in self.program.block_args(block).to_vec() {
                let arg = Val::new(arg.index());
                self.engine.graph.own_slot(arg);
                self.assign(arg);
            }
        }
    }

    /// Reads a manual computation's shardings: its outer and inner values are one tensor to propagation, sharded by
    /// `in_shardings` and `out_shardings`, which Shardy cleans up together.
    fn read_manual(&mut self, node: Node, op: Op) {
        let read = |list: Vec<TensorSharding>| {
            list.iter().map(|s| self.engine.meshes.read_nontrivial(s)).collect::<Option<Vec<_>>>()
        };
        // A module nested in the module has its own meshes, whose names are unknown here.
        let lists = (read(self.list(op, "in_shardings")), read(self.list(op, "out_shardings")));
        let (Some(inputs), Some(outputs)) = lists else { return };
        let names = match self.program.view(op).attr("manual_axes") {
            Some(AttrData::ManualAxes(names)) => names.clone(),
            _ => Vec::new(),
        };
        let meshes = &self.engine.meshes;
        let mesh = inputs.iter().chain(&outputs).map(|s| s.mesh).find(|&m| !meshes.is_empty_mesh(m));
        let axis = |name| Some(meshes.get(mesh?).mesh.axis_index(name)? as u32);
        let axes = names.into_iter().filter_map(axis).collect();
        let mut manual = Manual { inputs, outputs, axes };
        manual.clean_up(meshes);
        for (i, result) in self.engine.graph.results(node).enumerate() {
            if let Some(sharding) = manual.outputs.get(i) {
                let id = self.engine.shardings.intern(sharding.clone());
                let slot = self.engine.graph.slot(result);
                self.engine.graph.slots[slot] = id;
            }
        }
        self.engine.manual.insert(node, manual);
    }
}

/// Ties the results of the main function: the one called `main`, or the only one.
pub fn find_main(engine: &mut Engine, program: &Program) {
    let functions = program.functions();
    let main = match functions.as_slice() {
        [only] => Some(*only),
        all => all.iter().copied().find(|f| func::symbol(program, f.0) == Some("main")),
    };
    let Some((function, block)) = main else {
        return;
    };
    let terminator = engine.graph.last(block);
    if !terminator.is_some() || !engine.graph.node(terminator).role.terminator {
        return;
    }
    let values: Vec<Val> = engine.graph.operands(terminator).collect();
    let mut main = FunctionResults { function, terminator, slots: Vec::new(), rules: Vec::new() };
    for (i, value) in values.into_iter().enumerate() {
        let slot = engine.graph.new_slot();
        let sharding = func::result_sharding(program, function, i).and_then(|s| engine.meshes.read_nontrivial(s));
        engine.graph.slots[slot] = sharding.map_or(ShardingId::NONE, |s| engine.shardings.intern(s));
        main.slots.push(slot);
        main.rules.push(engine.identity_rule(program, value, 1));
    }
    engine.main = Some(main);
}

/// Gives the results of the other functions the shardings of the values that their bodies return.
pub fn find_others(engine: &mut Engine, program: &Program) {
    for (function, block) in program.functions() {
        let terminator = engine.graph.last(block);
        if engine.main.as_ref().is_some_and(|m| m.function == function) || !terminator.is_some() {
            continue;
        }
        let given: Vec<ShardingId> = engine.graph.operands(terminator).map(|v| engine.graph.sharding(v)).collect();
        let rules = vec![None; given.len()];
        let mut slots = Vec::new();
        for id in given {
            let slot = engine.graph.new_slot();
            engine.graph.slots[slot] = id;
            slots.push(slot);
        }
        engine.functions.push(FunctionResults { function, terminator, slots, rules });
    }
}

/// Rules found so far.
#[derive(Default)]
struct KnownRules {
    /// Rules by key.
    rules: FxHashMap<Box<[u32]>, Option<RuleId>>,
    /// The key of the rule being looked up.
    key: Vec<u32>,
    /// The name of the sharding attribute, on which no rule depends.
    sharding: Option<Name>,
}

impl Engine {
    /// Returns the rule that ties `sources` values to one of the same shape.
    pub fn identity_rule(&mut self, program: &Program, value: Val, sources: usize) -> Option<RuleId> {
        let tensor = program.tensor_type(self.graph.program_value(value))?;
        tensor.is_static().then(|| self.rules.intern(Rule::identity(&tensor.shape, sources)))
    }

    /// Finds the sharding rule of every node.
    pub fn find_rules(&mut self, program: &Program) {
        let mut known = KnownRules { sharding: program.find_name(func::SHARDING), ..KnownRules::default() };
        for node in self.graph.nodes.keys() {
            let data = self.graph.node(node);
            if data.rule.is_some() || data.erased {
                continue;
            }
            let rule = match data.role.kind {
                Kind::Plain | Kind::Reshard => self.rule_of(program, node, &mut known),
                Kind::Constraint | Kind::Barrier(_) => {
                    let result = self.graph.result(node, 0);
                    self.identity_rule(program, result, 1)
                }
                _ => None,
            };
            self.graph.nodes[node].rule = rule;
        }
    }

    /// Returns an op's rule, cached by its key (name, attributes and types), unless the op declares that its rule
    /// depends on more.
    fn rule_of(&mut self, program: &Program, node: Node, known: &mut KnownRules) -> Option<RuleId> {
        let op = self.graph.op(node)?;
        let data = program.op(op);
        let local = data.regions.is_empty() && !data.def.rule_reads_operands();
        if local {
            let key = &mut known.key;
            key.clear();
            key.extend([data.name.index() as u32, data.operands.len() as u32]);
            let values = data.operands.iter().copied().chain(program.results(op));
            values.for_each(|v| key.push(program.value_type(v).index() as u32));
            let attrs = data.attrs.iter().filter(|a| Some(a.0) != known.sharding);
            attrs.for_each(|a| key.extend([a.0.index() as u32, a.1.index() as u32]));
            if let Some(&rule) = known.rules.get(key.as_slice()) {
                return rule;
            }
        }
        let view = program.view(op);
        let own = match view.attr(sdy::SHARDING_RULE) {
            Some(AttrData::ShardingRule(rule)) => Some((**rule).clone()),
            _ if self.conservative => data.def.conservative_rule(view),
            _ => data.def.propagation_rule(view),
        };
        let rule = own.and_then(|rule| {
            let shape = |t: Option<&'_ dialect::ir::TensorType>| t.map(|t| t.shape.to_vec()).unwrap_or_default();
            let operands = (0..data.operands.len()).map(|i| shape(view.operand_tensor(i)));
            let results = (0..view.result_count()).map(|i| shape(view.result_tensor(i)));
            let shapes: Vec<Vec<i64>> = operands.chain(results).collect();
            let shapes: Vec<&[i64]> = shapes.iter().map(|s| &s[..]).collect();
            Rule::new(&rule, &shapes)
        });
        let rule = rule.map(|r| self.rules.intern(r));
        if local {
            known.rules.insert(known.key.as_slice().into(), rule);
        }
        rule
    }
}
