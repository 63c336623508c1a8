//! The sharding of every value of a program, as stated by its attributes.
//!
//! A sharding that an op states for its own result (constraints, reshards, Shardy's collectives) takes precedence over
//! the `out_shardings` of computations, and those over `sdy.sharding`. The function states the shardings of its
//! arguments. Arguments inside a manual computation are sharded as outside, without the manual axes; inside a named
//! computation, as its `in_shardings` state. A loop-carried value is sharded like the loop's result.
//!
//! Each distinct sharding is stored once: two values have the same sharding when their ids are equal.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::sharding::TensorSharding;
use crate::define_id;
use crate::id::{Interner, TiVec};
use crate::ir::{Attr, AttrData, Name, Op, Program, Value};
use crate::ops::{func, sdy};

define_id!(
    /// The number of a sharding in its [`ShardingTable`].
    pub ShardingId, "sharding", NONE
);

/// The sharding of every value of a program.
#[derive(Clone, Default, Debug)]
pub struct ShardingTable {
    shardings: Interner<ShardingId, Rc<TensorSharding>>,
    values: TiVec<Value, ShardingId>,
    /// The results whose shardings their op exists to state, and results of manual computations.
    constrained: Vec<Value>,
}

impl ShardingTable {
    /// Collects the shardings of the whole program.
    pub fn of(program: &Program) -> Self {
        let mut table = Self { values: vec![ShardingId::NONE; program.value_count()].into(), ..Self::default() };
        let mut reader = Reader { program, names: Names::of(program), known: FxHashMap::default(), table: &mut table };
        for (function, block) in program.functions() {
            for (i, &argument) in program.block_args(block).iter().enumerate() {
                let attr = func::arg_attr(program, function, i, func::SHARDING);
                reader.set(argument, attr, 0);
            }
        }
        program.walk(program.body(), &mut |op| reader.op(op));
        table
    }

    /// Returns the id of a value's sharding; `None` if it has none.
    pub fn id(&self, value: Value) -> Option<ShardingId> {
        self.values.get(value).copied().filter(|id| id.is_some())
    }

    /// Returns a value's sharding.
    pub fn get(&self, value: Value) -> Option<&Rc<TensorSharding>> {
        self.id(value).map(|id| self.sharding(id))
    }

    /// Returns the sharding behind an id.
    pub fn sharding(&self, id: ShardingId) -> &Rc<TensorSharding> {
        &self.shardings[id]
    }

    /// Returns the results whose shardings their op exists to state (a constraint, a reshard, an edge or a Shardy
    /// collective), and the results of manual computations.
    pub fn constrained(&self) -> &[Value] {
        &self.constrained
    }

    /// Returns all shardings, in the order of their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Rc<TensorSharding>> {
        self.shardings.iter()
    }

    fn intern(&mut self, sharding: &TensorSharding) -> ShardingId {
        self.shardings.find(sharding).unwrap_or_else(|| self.shardings.intern(Rc::new(sharding.clone())))
    }
}

/// The interned names of the attributes that hold shardings; `None` for a name that the program doesn't have.
struct Names {
    sharding: Option<Name>,
    out_sharding: Option<Name>,
    in_shardings: Option<Name>,
    out_shardings: Option<Name>,
    sdy_sharding: Option<Name>,
}

impl Names {
    fn of(program: &Program) -> Self {
        Self {
            sharding: program.find_name(sdy::SHARDING),
            out_sharding: program.find_name(sdy::OUT_SHARDING),
            in_shardings: program.find_name(sdy::IN_SHARDINGS),
            out_shardings: program.find_name(sdy::OUT_SHARDINGS),
            sdy_sharding: program.find_name(func::SHARDING),
        }
    }
}

struct Reader<'a> {
    program: &'a Program,
    names: Names,
    /// The id of each entry of each attribute: attributes are hash-consed, so each entry is looked up once.
    known: FxHashMap<(Attr, u32), ShardingId>,
    table: &'a mut ShardingTable,
}

impl Reader<'_> {
    /// Returns the sharding that `attr` states for value `i`.
    fn entry(&mut self, attr: Attr, i: usize) -> ShardingId {
        let (program, table) = (self.program, &mut *self.table);
        *self.known.entry((attr, i as u32)).or_insert_with(|| {
            let found = match program.attr_data(attr) {
                AttrData::Sharding(sharding) => (i == 0).then_some(sharding),
                AttrData::ShardingPerValue(list) => list.get(i),
                _ => None,
            };
            found.map_or(ShardingId::NONE, |s| table.intern(s))
        })
    }

    fn set(&mut self, value: Value, attr: Option<Attr>, i: usize) {
        let Some(attr) = attr else { return };
        let id = self.entry(attr, i);
        if id.is_some() {
            self.table.values[value] = id;
        }
    }

    fn op(&mut self, op: Op) {
        let program = self.program;
        let data = program.op(op);
        let (mut stated, mut inside, mut outside, mut own) = (None, None, None, None);
        for &(name, attr) in &data.attrs {
            let name = Some(name);
            if name == self.names.sdy_sharding {
                own = Some(attr);
            } else if name == self.names.sharding || name == self.names.out_sharding && stated.is_none() {
                stated = Some(attr);
            } else if name == self.names.in_shardings {
                inside = Some(attr);
            } else if name == self.names.out_shardings {
                outside = Some(attr);
            }
        }
        if own.is_some() || outside.is_some() || stated.is_some() {
            for (i, result) in program.results(op).enumerate() {
                self.set(result, own, i);
                self.set(result, outside, i);
                self.set(result, stated, i);
            }
            if stated.is_some_and(|attr| program.attr_data(attr).as_sharding().is_some()) {
                self.table.constrained.extend(program.results(op).next());
            }
        }
        if data.regions.is_empty() {
            return;
        }
        let view = program.view(op);
        if let Some(manual) = sdy::ManualComputation::of(view) {
            self.table.constrained.extend(view.results().take(manual.out_shardings.len()));
            for (&argument, sharding) in view.region_args(0).iter().zip(manual.in_shardings) {
                self.table.values[argument] = self.table.intern(&manual.inside(sharding));
            }
            return;
        }
        if inside.is_some() {
            view.region_args(0).iter().enumerate().for_each(|(i, &argument)| self.set(argument, inside, i));
            return;
        }
        for flow in data.def.data_flow(view) {
            let id = self.table.values[flow.owner];
            for target in flow.targets {
                self.table.values[target] = id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;

    #[test]
    fn every_value_of_a_program_has_its_sharding() {
        let text = r#"
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %n: tensor<i32>) -> tensor<8x8xf32> {
  %0 = stablehlo.add %a, %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}, {}]>]>} : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <@m, [{"x"}, {"y"}]> : tensor<8x8xf32>
  %2 = sdy.all_gather [{"x"}, {}] %1 out_sharding=<@m, [{}, {"y"}]> : tensor<8x8xf32>
  %3 = sdy.manual_computation(%2) in_shardings=[<@m, [{"x", "y"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x8xf32>) {
    %6 = stablehlo.negate %b : tensor<4x8xf32>
    sdy.return %6 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4:2 = stablehlo.while(%c = %3, %d = %n) : tensor<8x8xf32>, tensor<i32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>, <@m, []>]>}
  cond {
    %7 = stablehlo.compare LT, %d, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %7 : tensor<i1>
  } do {
    %8 = stablehlo.add %c, %c : tensor<8x8xf32>
    stablehlo.return %8, %d : tensor<8x8xf32>, tensor<i32>
  }
  return %4#0 : tensor<8x8xf32>
}
"#;
        let mut diagnostics = Diagnostics::default();
        let program = crate::parse(text, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{diagnostics:?}");
        let table = ShardingTable::of(&program);
        let text = |v: Value| table.get(v).map_or("none".to_owned(), |s| program.sharding_text(s));
        let (_, main) = program.functions()[0];
        let ops = program.block_ops(main);
        let arguments: Vec<String> = program.block_args(main).iter().map(|&v| text(v)).collect();
        assert_eq!(arguments, ["<@m, [{\"x\"}, {}]>", "none"]);
        let results: Vec<String> = ops.iter().flat_map(|&op| program.results(op)).map(text).collect();
        assert_eq!(
            results,
            [
                "<@m, [{\"y\"}, {}]>",
                "<@m, [{\"x\"}, {\"y\"}]>",
                "<@m, [{}, {\"y\"}]>",
                "<@m, [{\"x\"}, {}]>",
                "<@m, [{}, {\"x\"}]>",
                "<@m, []>"
            ]
        );
        // Inside, manual axes are removed; loop-carried values are sharded like the loop's results.
        let inside = |op: usize, region: usize| -> Vec<String> {
            program.view(ops[op]).region_args(region).iter().map(|&v| text(v)).collect()
        };
        assert_eq!(inside(3, 0), ["<@m, [{\"y\"}, {}]>"]);
        assert_eq!(inside(4, 0), ["<@m, [{}, {\"x\"}]>", "<@m, []>"]);
        assert_eq!(inside(4, 1), inside(4, 0));
        let body = program.region_block(ops[3], 0).unwrap();
        assert_eq!(table.id(program.result(program.block_ops(body)[0], 0)), None);
        // The argument and the manual computation's result have one sharding, and so one id.
        assert_eq!(table.id(program.block_args(main)[0]), table.id(program.result(ops[3], 0)));
        assert_eq!(table.iter().len(), 6);
    }
}
