//! Stragglers: for every collective, the device that arrives last.
//!
//! The last device waits the shortest time, so the waiting times alone show which device is last, and by how much.
//! Clocks of several processes need not agree.

use std::collections::HashMap;

use dialect::ir::Op;
use runtime::collective::Members;
use serde::{Deserialize, Serialize};

use crate::compiler::Compiler;
use crate::module::Module;
use crate::trace::Trace;

/// The maximum number of executions of a collective, per device, whose waiting times are kept.
const MAX_TIMES: usize = 4096;

/// The waiting times of one device in collectives. Processes exchange them in serialized form.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceWaits {
    /// Its number.
    pub device: u32,
    /// Waiting seconds of each execution of a collective, by the collective's number in the program.
    pub collectives: Vec<(usize, Vec<f64>)>,
}

/// The device for which the others waited longest at one collective.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Straggler {
    /// The collective.
    pub op: String,
    /// The source line that it comes from.
    pub source: Option<String>,
    /// The device.
    pub device: u32,
    /// The rank of the process that runs it.
    pub rank: usize,
    /// The number of times that it was last in its group.
    pub last: usize,
    /// The number of times that it ran the collective.
    pub times: usize,
    /// Seconds that the first device waited longer than this one, summed over the times that this one was last.
    pub late_s: f64,
}

impl Trace {
    /// Returns the waiting times of each device in collectives, for at most 4,096 executions of each.
    pub fn waits(&self) -> Vec<DeviceWaits> {
        let of = |device: &crate::trace::DeviceTrace| {
            let mut numbers: HashMap<usize, usize> = HashMap::new();
            let mut collectives: Vec<(usize, Vec<f64>)> = Vec::new();
            for step in device.steps.iter().filter(|step| self.ops[step.op].communicates) {
                let at = *numbers.entry(step.op).or_insert_with(|| {
                    collectives.push((self.ops[step.op].op.index(), Vec::new()));
                    collectives.len() - 1
                });
                if collectives[at].1.len() < MAX_TIMES {
                    collectives[at].1.push(step.waited_s);
                }
            }
            DeviceWaits { device: device.device, collectives }
        };
        self.devices.iter().map(of).collect()
    }
}

impl Compiler {
    /// Returns the last device at each collective of a per-device program, sorted by decreasing waiting time of the
    /// others. `waits` covers all devices. `devices` lists their numbers in the order of the program's devices; each of
    /// the `ranks` processes runs the same number of them.
    pub fn stragglers(&self, module: &Module, waits: &[DeviceWaits], devices: &[u32], ranks: usize) -> Vec<Straggler> {
        let position: HashMap<u32, usize> = devices.iter().enumerate().map(|(i, &device)| (device, i)).collect();
        // For each collective, the positions of devices and their waiting times.
        let mut ops: HashMap<usize, Vec<(usize, &[f64])>> = HashMap::new();
        for of in waits {
            let Some(&device) = position.get(&of.device) else { continue };
            for (op, waited) in &of.collectives {
                ops.entry(*op).or_default().push((device, waited));
            }
        }
        let each = (devices.len() / ranks.max(1)).max(1);
        let program = module.program();
        let mut stragglers = Vec::new();
        for (index, waited) in ops {
            let op = Op::new(index);
            let view = program.view(op);
            let Some(collective) = view.def().collective(view) else { continue };
            let permutes = collective.kind == dialect::collective::CollectiveKind::CollectivePermute;
            let members = Members::new(&collective.groups, permutes, devices.len());
            let mut groups: HashMap<usize, Vec<(usize, &[f64])>> = HashMap::new();
            for (device, waited) in waited {
                if let Some((group, _)) = members.place(device) {
                    groups.entry(group).or_default().push((device, waited));
                }
            }
            let Some(Late { device, last, times, late_s }) =
                groups.values().filter_map(|group| slowest(group)).max_by(Late::order)
            else {
                continue;
            };
            stragglers.push(Straggler {
                op: view.name().to_owned(),
                source: crate::place::place_or_argument(program, module.source(), op),
                device: devices[device],
                rank: device / each,
                last,
                times,
                late_s,
            });
        }
        stragglers.sort_by(|a, b| b.late_s.total_cmp(&a.late_s).then(a.device.cmp(&b.device)));
        stragglers
    }
}

/// How late a device was at a collective.
struct Late {
    /// Its position.
    device: usize,
    /// The number of times it was last.
    last: usize,
    /// The number of executions.
    times: usize,
    /// Seconds that others waited for it.
    late_s: f64,
}

impl Late {
    fn order(a: &Late, b: &Late) -> std::cmp::Ordering {
        a.late_s.total_cmp(&b.late_s).then(b.device.cmp(&a.device))
    }
}

/// Returns the device of a group for which the others waited longest.
fn slowest(group: &[(usize, &[f64])]) -> Option<Late> {
    let times = group.iter().map(|(_, waited)| waited.len()).min()?;
    let mut late: HashMap<usize, Late> = HashMap::new();
    for time in (0..times).filter(|_| group.len() > 1) {
        let waited = |member: &&(usize, &[f64])| member.1[time];
        let order = |a: &&(usize, &[f64]), b: &&(usize, &[f64])| waited(a).total_cmp(&waited(b));
        let (last, first) = (group.iter().min_by(order)?, group.iter().max_by(order)?);
        let sum = late.entry(last.0).or_insert(Late { device: last.0, last: 0, times, late_s: 0.0 });
        sum.last += 1;
        sum.late_s += waited(&first) - waited(&last);
    }
    late.into_values().max_by(Late::order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Compiler, Source};

    #[test]
    fn the_device_that_waits_least_is_the_last_to_arrive() {
        let text = "module @m attributes {mhlo.num_partitions = 4 : i32} {\n  func.func public @main(%a: tensor<2xf32>) -> \
                    tensor<2xf32> {\n    %0 = \"stablehlo.all_reduce\"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : \
                    tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> \
                    ({\n    ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n      %s = stablehlo.add %x, %y : tensor<f32>\n      \
                    stablehlo.return %s : tensor<f32>\n    }) : (tensor<2xf32>) -> tensor<2xf32>\n    return %0 : \
                    tensor<2xf32>\n  }\n}\n";
        let compiler = Compiler::standard();
        let module = compiler.parse(Source::new("m.mlir", text)).into_result().expect("a program");
        let program = module.program();
        let mut ops = (0..program.op_count()).map(Op::new);
        let op = ops.find(|op| program.op_name(*op).ends_with("all_reduce")).expect("there is one").index();
        let waits = |device, waited: &[f64]| DeviceWaits { device, collectives: vec![(op, waited.to_vec())] };
        // Devices are numbered backwards: 13 and 12 are one group, 11 and 10 the other.
        let all = [
            waits(10, &[0.5, 0.25, 0.0]),
            waits(11, &[0.0, 0.75, 0.25]),
            waits(12, &[4.0, 5.0, 1.0]),
            waits(13, &[2.0, 1.0, 9.0]),
        ];
        let found = compiler.stragglers(&module, &all, &[13, 12, 11, 10], 2);
        let fields: Vec<_> = found.iter().map(|s| (&s.op[..], s.device, s.rank, s.last, s.times, s.late_s)).collect();
        assert_eq!(fields, [("stablehlo.all_reduce", 12, 0, 1, 3, 8.0)]);
        let found = compiler.stragglers(&module, &all[..2], &[13, 12, 11, 10], 2);
        let fields: Vec<_> = found.iter().map(|s| (s.device, s.rank, s.last, s.late_s)).collect();
        assert_eq!(fields, [(10, 1, 2, 0.75)]);
    }
}
