//! Memory that the devices of a group share.
//!
//! The results of an all_gather or an all_reduce are the same on all devices of a group. Such a value is stored in
//! memory of the group, to which each device writes its part, instead of copying the parts of all devices to its own
//! memory. Arguments of which several devices have the same shard are stored there too, so that the cache that those
//! devices share holds them once, not once for each device.
//!
//! **Invariant:** values have the same offsets in this memory as in the plan of each device's memory. So two values at
//! the same place aren't live at the same time, and each device of the group has finished with the first when all of
//! them have come to the collective that returns the second. Nothing else ever writes there, and nothing at all writes
//! to an argument.

use dialect::buffers::{BufferId, Buffers};
use dialect::ir::{Block, Program};
use dialect::sharding::Layout;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::collective::Plan;
use crate::execute::lower::step::SlotData;

/// Memory for values that are the same in each group of devices.
pub(in crate::execute) struct Common {
    /// The group of each device.
    pub group: Vec<usize>,
    /// The end of the last value.
    pub bytes: usize,
}

impl Common {
    /// Returns the number of groups.
    pub(in crate::execute) fn groups(&self) -> usize {
        self.group.iter().max().map_or(0, |last| last + 1)
    }

    /// Returns the number of devices of the smallest group.
    pub(super) fn fewest(&self) -> usize {
        let mut members = vec![0usize; self.groups()];
        self.group.iter().for_each(|&group| members[group] += 1);
        members.into_iter().min().unwrap_or(0)
    }

    /// Returns the bytes of all groups together.
    pub(in crate::execute) fn all_bytes(&self) -> u64 {
        (self.bytes as u64).saturating_mul(self.groups() as u64)
    }
}

/// Returns the buffers that hold only one value: no result is computed in place there, nothing is copied there, and the
/// value is neither an argument nor a result of the program.
pub(in crate::execute) fn alone(program: &Program, buffers: &Buffers, main: Block) -> FxHashSet<BufferId> {
    let mut values: FxHashMap<BufferId, usize> = FxHashMap::default();
    let arguments = program.block_args(main).iter();
    let results = program.block_ops(main).last().into_iter().flat_map(|&op| &program.op(op).operands);
    let outside = arguments.chain(results).filter_map(|&value| buffers.get(value));
    let moves = buffers.before.values().chain(buffers.after.values()).flatten().map(|&(_, to)| to);
    for id in buffers.of_value.values().copied().chain(outside).chain(moves) {
        *values.entry(id).or_insert(0) += 1;
    }
    values.into_iter().filter(|&(_, count)| count == 1).map(|(id, _)| id).collect()
}

/// Stores the result of a collective, which is the only value of its buffer, in memory that groups share. Does nothing
/// if the result differs within a group, or if a device is in no group.
pub(in crate::execute) fn hold(commons: &mut Vec<Common>, plan: &Plan, devices: usize, slot: &mut SlotData) {
    if !plan.is_alike() {
        return;
    }
    let group = (0..devices).map(|device| plan.group(device)).collect::<Option<Vec<usize>>>();
    if let Some(group) = group {
        hold_of(commons, group, slot);
    }
}

/// Stores an argument, which nothing writes, in memory that the devices with the same shard share.
pub(in crate::execute) fn hold_argument(
    commons: &mut Vec<Common>,
    layout: &Layout,
    devices: usize,
    slot: &mut SlotData,
) {
    let (shards, partitions) = (layout.same_shards(), layout.devices());
    // Each replica has its own arguments.
    hold_of(commons, (0..devices).map(|d| d / partitions * partitions + shards[d % partitions]).collect(), slot);
}

fn hold_of(commons: &mut Vec<Common>, mut group: Vec<usize>, slot: &mut SlotData) {
    if is_each_alone(&group) {
        return;
    }
    number(&mut group);
    let index = commons.iter().position(|c| c.group == group).unwrap_or_else(|| {
        commons.push(Common { group, bytes: 0 });
        commons.len() - 1
    });
    commons[index].bytes = commons[index].bytes.max(slot.offset + slot.bytes);
    slot.common = Some(index);
}

/// Numbers groups in order of their first devices.
fn number(group: &mut [usize]) {
    let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
    for group in group {
        let next = numbers.len();
        *group = *numbers.entry(*group).or_insert(next);
    }
}

/// Returns whether every group has only one device, so that nothing can be shared.
fn is_each_alone(group: &[usize]) -> bool {
    group.iter().collect::<FxHashSet<_>>().len() == group.len()
}

#[cfg(test)]
mod tests {
    use dialect::diagnostic::Diagnostics;
    use dialect::ir::{ElementType, TensorType};
    use dialect::literal::Literal;
    use dialect::scalar::Scalar;

    use crate::execute::Executable;
    use crate::execute::lower::step::Slot;

    const MESH: &str = "mhlo.num_partitions = 6 : i32, mhlo.num_replicas = 1 : i32, shardc.meshes = {mesh = \"<[\\22x\\22=2, \\22y\\22=3]>\"}";
    const X: &str = "replica_groups = dense<[[0, 3], [1, 4], [2, 5]]> : tensor<3x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids";
    const Y: &str = "replica_groups = dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids";

    /// Runs ops on each device's `%a`, of 2 x 2 elements of a tensor of 4 x 6, natively and by the reference evaluator.
    /// The result has the same number of elements. Returns the bytes that each kind of groups shares.
    fn run(ops: &str) -> Vec<usize> {
        let shard = |tensor: &str| {
            format!(
                "tensor<2x2xf32> {{shardc.global_type = {tensor}, shardc.sharding = \"<@mesh, [{{\\22x\\22}}, {{\\22y\\22}}]>\"}}"
            )
        };
        let (argument, result) = (shard("tensor<4x6xf32>"), shard("tensor<4x6xf32>"));
        let text = format!(
            "module attributes {{{MESH}}} {{ func.func @main(%a: {argument}) -> ({result}) {{ {ops} return %r : tensor<2x2xf32> }} }}"
        );
        let mut diagnostics = Diagnostics::default();
        let program = dialect::parse(&text, &mut diagnostics);
        dialect::verify(&program, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:?}");
        let mut random = fastrand::Rng::with_seed(5);
        let shards: Vec<Literal> = (0..6)
            .map(|_| {
                let ty = TensorType::new(&[2, 2], ElementType::F32);
                Literal::from_fn(&ty, |_| Scalar::Float(f64::from(random.i32(-9..9))))
            })
            .collect();
        let lanes = [shards.iter().cloned().map(Some).collect()];
        let want = crate::reference::evaluate(&program, "main", 1, 6, &lanes).expect("evaluates").remove(0);
        let executable = Executable::compile_small(program).expect("compiles");
        let session = executable.session().expect("memory");
        let element = |at: usize| {
            let (row, column) = (at / 6, at % 6);
            shards[row / 2 * 3 + column / 2].get(row % 2 * 2 + column % 2)
        };
        let global = Literal::from_scalars(ElementType::F32, &[4, 6], (0..24).map(element));
        for _ in 0..20 {
            session.set_inputs(std::slice::from_ref(&global)).expect("inputs fit");
            session.run().expect("runs");
            let got = session.results().remove(0);
            for (device, want) in want.iter().enumerate() {
                let want = want.as_ref().expect("every device runs");
                for i in 0..4 {
                    let at = (device / 3 * 2 + i / 2) * 6 + device % 3 * 2 + i % 2;
                    assert_eq!(got.get(at), want.get(i), "element {i} of device {device}\n{text}");
                }
            }
        }
        executable.lowered.commons.iter().map(|c| c.bytes).collect()
    }

    #[test]
    fn gathers_and_sums_lie_in_memory_of_their_groups() {
        let found = run(&format!(
            "%g = \"stablehlo.all_gather\"(%a) <{{all_gather_dim = 1 : i64, {Y}}}> : (tensor<2x2xf32>) -> tensor<2x6xf32>
             %h = \"stablehlo.all_gather\"(%a) <{{all_gather_dim = 0 : i64, {X}}}> : (tensor<2x2xf32>) -> tensor<4x2xf32>
             %p = stablehlo.dot_general %g, %g, contracting_dims = [1] x [1] : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x2xf32>
             %q = stablehlo.dot_general %h, %h, contracting_dims = [0] x [0] : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
             %r = stablehlo.add %p, %q : tensor<2x2xf32>"
        ));
        assert_eq!(found.len(), 2);
        // The next result could be computed in place of the sum, but the sum is read again later.
        let found = run(&format!(
            "%s = \"stablehlo.all_reduce\"(%a) <{{{Y}}}> ({{
             ^bb0(%b: tensor<f32>, %c: tensor<f32>):
               %d = stablehlo.add %b, %c : tensor<f32>
               stablehlo.return %d : tensor<f32>
             }}) : (tensor<2x2xf32>) -> tensor<2x2xf32>
             %p = stablehlo.dot_general %s, %a, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
             %r = stablehlo.dot_general %p, %s, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>"
        ));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn what_is_gathered_in_every_turn_of_a_loop_waits_for_its_readers() {
        let found = run(&format!(
            "%z = stablehlo.constant dense<0> : tensor<i32>
             %n = stablehlo.constant dense<7> : tensor<i32>
             %one = stablehlo.constant dense<1> : tensor<i32>
             %l:2 = stablehlo.while(%i = %z, %x = %a) : tensor<i32>, tensor<2x2xf32>
             cond {{
               %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %c : tensor<i1>
             }} do {{
               %j = stablehlo.add %i, %one : tensor<i32>
               %g = \"stablehlo.all_gather\"(%x) <{{all_gather_dim = 1 : i64, {Y}}}> : (tensor<2x2xf32>) -> tensor<2x6xf32>
               %s = stablehlo.slice %g [0:2, 1:5:2] : (tensor<2x6xf32>) -> tensor<2x2xf32>
               %h = \"stablehlo.all_gather\"(%s) <{{all_gather_dim = 1 : i64, {Y}}}> : (tensor<2x2xf32>) -> tensor<2x6xf32>
               %t = stablehlo.slice %h [0:2, 3:6:2] : (tensor<2x6xf32>) -> tensor<2x2xf32>
               %k = \"stablehlo.all_gather\"(%t) <{{all_gather_dim = 0 : i64, {X}}}> : (tensor<2x2xf32>) -> tensor<4x2xf32>
               %u = stablehlo.slice %k [1:4:2, 0:2] : (tensor<4x2xf32>) -> tensor<2x2xf32>
               %y = stablehlo.subtract %u, %x : tensor<2x2xf32>
               stablehlo.return %j, %y : tensor<i32>, tensor<2x2xf32>
             }}
             %r = stablehlo.add %l#1, %a : tensor<2x2xf32>"
        ));
        assert_eq!(found.len(), 2);
    }

    /// Runs a program of six devices with these arguments, each given by its global type, its local type and its
    /// sharding, and a second replica with other inputs. Compares all results with the reference evaluator's. Returns
    /// the number of groups for each argument in memory of groups, and the number of operands with shared panels.
    fn arguments(
        arguments: &[(&str, &str, &str)],
        results: &[(&str, &str, &str)],
        ops: &str,
    ) -> (Vec<Option<usize>>, usize) {
        let typed = |&(global, local, sharding): &(&str, &str, &str)| {
            format!(
                "tensor<{local}> {{shardc.global_type = tensor<{global}>, shardc.sharding = \"<@mesh, {sharding}>\"}}"
            )
        };
        let names: Vec<String> = arguments.iter().enumerate().map(|(i, a)| format!("%{i}: {}", typed(a))).collect();
        let kinds: Vec<String> = results.iter().map(typed).collect();
        let mesh = MESH.replace("num_replicas = 1", "num_replicas = 2");
        let text = format!(
            "module attributes {{{mesh}}} {{ func.func @main({}) -> ({}) {{ {ops} }} }}",
            names.join(", "),
            kinds.join(", ")
        );
        let mut diagnostics = Diagnostics::default();
        let program = dialect::parse(&text, &mut diagnostics);
        dialect::verify(&program, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:?}");
        let executable = Executable::compile_small(program.clone()).expect("compiles");
        let session = executable.session().expect("memory");
        let mut random = fastrand::Rng::with_seed(6);
        let mut value = |ty: &TensorType| Literal::from_fn(ty, |_| Scalar::Float(f64::from(random.i32(-9..9))));
        let layouts = session.argument_layouts().to_vec();
        let inputs = [0; 2].map(|_| layouts.iter().map(|layout| value(&layout.ty)).collect::<Vec<Literal>>());
        let shards = |(i, layout): (usize, &dialect::sharding::Layout)| {
            (0..12).map(|d| Some(layout.shard(&inputs[d / 6][i], d % 6))).collect()
        };
        let lanes: Vec<_> = layouts.iter().enumerate().map(shards).collect();
        let want = crate::reference::evaluate(&program, "main", 2, 6, &lanes).expect("evaluates");
        for _ in 0..3 {
            (0..2).for_each(|replica| session.set_inputs_of(replica, &inputs[replica]).expect("inputs fit"));
            session.run().expect("runs");
            for (i, want) in want.iter().enumerate() {
                for (device, want) in want.iter().enumerate() {
                    assert_eq!(Some(session.result(i, device)), *want, "result {i} of device {device}\n{text}");
                }
            }
        }
        let lowered = &executable.lowered;
        let groups = |&slot: &Slot| Some(lowered.commons[lowered.slots[slot].common?].groups());
        (lowered.arguments.iter().map(groups).collect(), lowered.shared_panels.len())
    }

    #[test]
    fn arguments_that_devices_hold_alike_lie_in_their_memory_once() {
        let of = |sharding, local| ("4x6xf32", local, sharding);
        let (whole, rows, columns) =
            (of("[{}, {}]", "4x6xf32"), of("[{\\22x\\22}, {}]", "2x6xf32"), of("[{}, {\\22y\\22}]", "4x2xf32"));
        let both = of("[{\\22x\\22}, {\\22y\\22}]", "2x2xf32");
        // Two arguments have the same sharding, and two are returned unchanged.
        let found = arguments(
            &[whole, rows, columns, both, rows],
            &[whole, rows, ("12x12xf32", "6x4xf32", both.2)],
            "%r = stablehlo.dot_general %1, %2, contracting_dims = [0] x [1] : (tensor<2x6xf32>, tensor<4x2xf32>) -> tensor<6x4xf32>
             return %0, %4, %r : tensor<4x6xf32>, tensor<2x6xf32>, tensor<6x4xf32>",
        );
        assert_eq!(found, (vec![Some(2), Some(4), Some(6), None, Some(4)], 0));
    }

    #[test]
    fn operands_in_common_have_panels_in_common() {
        let (whole, split) = (("70x80xf32", "70x80xf32", "[{}, {}]"), ("12x80xf32", "6x80xf32", "[{\\22x\\22}, {}]"));
        let product = |name: &str, from: &str, right: &str| {
            format!(
                "{name} = stablehlo.dot_general {from}, {right}, contracting_dims = [1] x [1] : (tensor<6x80xf32>, tensor<70x80xf32>) -> tensor<6x70xf32>"
            )
        };
        // The first two products have the same panels. The third one's operand is computed.
        let ops = format!(
            "{}\n{}\n%s = stablehlo.add %1, %1 : tensor<70x80xf32>\n{}\nreturn %p, %q, %r : tensor<6x70xf32>, tensor<6x70xf32>, tensor<6x70xf32>",
            product("%p", "%0", "%1"),
            product("%q", "%2", "%1"),
            product("%r", "%2", "%s"),
        );
        let result = ("12x70xf32", "6x70xf32", split.2);
        let found = arguments(&[split, whole, split], &[result; 3], &ops);
        assert_eq!(found, (vec![Some(4), Some(2), Some(4)], 1));
        // Every iteration of a loop finds the panels that the first one has made. Devices take different branches.
        let ops = format!(
            "%zero = stablehlo.constant dense<0> : tensor<i32>
             %one = stablehlo.constant dense<1> : tensor<i32>
             %three = stablehlo.constant dense<3> : tensor<i32>
             %l:2 = stablehlo.while(%i = %zero, %x = %0) : tensor<i32>, tensor<6x80xf32>
             cond {{
               %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %c : tensor<i1>
             }} do {{
               %j = stablehlo.add %i, %one : tensor<i32>
               %id = stablehlo.partition_id : tensor<ui32>
               %two = stablehlo.constant dense<2> : tensor<ui32>
               %small = stablehlo.compare LT, %id, %two : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
               %y = \"stablehlo.if\"(%small) ({{
                 {}
                 %n = stablehlo.slice %q [0:6, 0:40] : (tensor<6x70xf32>) -> tensor<6x40xf32>
                 %m = stablehlo.concatenate %n, %n, dim = 1 : (tensor<6x40xf32>, tensor<6x40xf32>) -> tensor<6x80xf32>
                 stablehlo.return %m : tensor<6x80xf32>
               }}, {{
                 stablehlo.return %x : tensor<6x80xf32>
               }}) : (tensor<i1>) -> tensor<6x80xf32>
               stablehlo.return %j, %y : tensor<i32>, tensor<6x80xf32>
             }}
             return %l#1 : tensor<6x80xf32>",
            product("%q", "%x", "%1")
        );
        let found = arguments(&[split, whole], &[split], &ops);
        assert_eq!(found, (vec![Some(4), Some(2)], 1));
    }

    #[test]
    fn what_a_device_gets_as_a_result_is_its_own() {
        let found = run(&format!(
            "%r = \"stablehlo.all_reduce\"(%a) <{{{X}}}> ({{
             ^bb0(%b: tensor<f32>, %c: tensor<f32>):
               %d = stablehlo.add %b, %c : tensor<f32>
               stablehlo.return %d : tensor<f32>
             }}) : (tensor<2x2xf32>) -> tensor<2x2xf32>"
        ));
        assert!(found.is_empty(), "{found:?}");
    }
}
