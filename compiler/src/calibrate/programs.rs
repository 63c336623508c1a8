//! The programs of which a machine is measured: per-device programs of one kind of op.

use std::fmt::Write;

use passes::estimate::{CollectiveKind, CollectiveLoad, Precision};

use super::Quantity;

/// A program to call.
pub(super) struct Probe {
    pub(super) quantity: Quantity,
    /// A name for progress and errors.
    pub(super) name: String,
    pub(super) text: String,
    /// The number of equal ops in it.
    pub(super) ops: usize,
    /// The work of one of them: FLOPs, bytes, or the number of ops of the program.
    pub(super) work: f64,
    /// A guess of the seconds of one op, on a slow machine.
    pub(super) seconds: f64,
}

/// Rates of a slow machine, from which the number of calls and the largest products are determined, so that all
/// processes make the same calls.
const FLOPS: f64 = 5e9;
const BYTES: f64 = 2e9;
/// Seconds of a collective's start-up among threads, on a slow machine.
const MEETING: f64 = 50e-6;

/// A per-device program over `devices` devices, from its arguments' types, its ops, and its results: values with their
/// types, and whether each device has a part of the global result.
struct Text {
    devices: usize,
    arguments: Vec<String>,
    body: String,
    results: Vec<(String, String, Option<String>)>,
}

impl Text {
    fn new(devices: usize) -> Self {
        Self { devices, arguments: Vec::new(), body: String::new(), results: Vec::new() }
    }

    /// Adds an argument, the same on all devices; returns its name.
    fn argument(&mut self, ty: &str) -> String {
        self.arguments.push(ty.to_owned());
        format!("%arg{}", self.arguments.len() - 1)
    }

    /// Adds an op whose result is a result of the program. With `global`, each device has rows of that type.
    fn op(&mut self, op: &str, ty: &str, global: Option<String>) {
        let name = format!("%r{}", self.results.len());
        let _ = writeln!(self.body, "    {name} = {op}");
        self.results.push((name, ty.to_owned(), global));
    }

    fn text(&self) -> String {
        let n = self.devices;
        let argument = |(i, ty): (usize, &String)| format!("%arg{i}: {ty} {{shardc.global_type = {ty}}}");
        let arguments: Vec<String> = self.arguments.iter().enumerate().map(argument).collect();
        let result = |(_, ty, global): &(String, String, Option<String>)| match global {
            None => format!("{ty} {{shardc.global_type = {ty}}}"),
            Some(global) => {
                let rest = ", {}".repeat(ty.matches('x').count().saturating_sub(1));
                format!("{ty} {{shardc.global_type = {global}, shardc.sharding = \"<@mesh, [{{\\22x\\22}}{rest}]>\"}}")
            }
        };
        let results: Vec<String> = self.results.iter().map(result).collect();
        let names: Vec<&str> = self.results.iter().map(|r| r.0.as_str()).collect();
        let types: Vec<&str> = self.results.iter().map(|r| r.1.as_str()).collect();
        format!(
            "module attributes {{mhlo.num_partitions = {n} : i32, mhlo.num_replicas = 1 : i32, \
             shardc.meshes = {{mesh = \"<[\\22x\\22={n}]>\"}}}} {{\n  func.func @main({}) -> ({}) {{\n{}    return {} : {}\n  }}\n}}\n",
            arguments.join(", "),
            results.join(", "),
            self.body,
            names.join(", "),
            types.join(", "),
        )
    }
}

/// The numbers of additions in the programs that show start-ups.
const ADDITIONS: [usize; 4] = [1, 8, 24, 64];

/// Programs of additions of a few numbers each. No two have the same shape, so that none are merged.
pub(super) fn additions(devices: usize) -> Vec<Probe> {
    let of = |&count: &usize| {
        let mut text = Text::new(devices);
        for i in 0..count {
            let ty = format!("tensor<{}xf32>", 3 + i);
            let (a, b) = (text.argument(&ty), text.argument(&ty));
            text.op(&format!("stablehlo.add {a}, {b} : {ty}"), &ty, None);
        }
        let (work, seconds) = (count as f64, MEETING + 1e-6 * count as f64);
        let name = if count == 1 { "1 addition".to_owned() } else { format!("{count} additions") };
        Probe { quantity: Quantity::Ops, name, text: text.text(), ops: 1, work, seconds }
    };
    ADDITIONS.iter().map(of).collect()
}

/// The element types of products: of operands, with their bytes, and of the result.
const PRODUCTS: [(Precision, &str, u64, &str); 4] = [
    (Precision::F32Highest, "f64", 8, "f64"),
    (Precision::F32, "f32", 4, "f32"),
    (Precision::Bf16, "bf16", 2, "bf16"),
    (Precision::Int8, "i8", 1, "i32"),
];

/// Sides of the matrices.
const SIDES: [u64; 7] = [16, 32, 64, 128, 256, 512, 1024];

/// Products of square matrices, as large as `share` seconds and `largest` bytes of all devices' operands allow.
pub(super) fn products(devices: usize, largest: u64, share: f64) -> Vec<Probe> {
    let mut probes = Vec::new();
    for (precision, operand, size, result) in PRODUCTS {
        for (i, side) in SIDES.into_iter().enumerate() {
            let flops = 2.0 * (side as f64).powi(3);
            let seconds = flops * devices as f64 / FLOPS;
            let bytes = devices as u64 * side * side * size;
            // Two sizes are needed for a line.
            if i > 1 && (LEAST_CALLS as f64 * seconds > share || bytes > largest) {
                break;
            }
            let ops = if side <= 64 { 16 } else { 1 };
            let ty = format!("tensor<{side}x{side}x{operand}>");
            let out = format!("tensor<{side}x{side}x{result}>");
            let mut text = Text::new(devices);
            let a = text.argument(&ty);
            for _ in 0..ops {
                let b = text.argument(&ty);
                let op =
                    format!("stablehlo.dot_general {a}, {b}, contracting_dims = [1] x [0] : ({ty}, {ty}) -> {out}");
                text.op(&op, &out, None);
            }
            let name = format!("products of {side}x{side} {operand}");
            let quantity = Quantity::Product(precision);
            probes.push(Probe { quantity, name, text: text.text(), ops, work: flops, seconds });
        }
    }
    probes
}

/// The least number of calls of a program that are measured.
pub(super) const LEAST_CALLS: usize = 5;

/// The bytes of one device: powers of four from 4 KiB, of which all devices together have at most `largest`.
fn sizes(devices: usize, largest: u64) -> Vec<u64> {
    let most = (largest / devices as u64).max(16 << 10);
    let mut sizes: Vec<u64> = (0..).map(|i| (4 << 10) << (2 * i)).take_while(|&size| size <= most).collect();
    if sizes.len() < 2 {
        sizes = vec![4 << 10, 16 << 10];
    }
    sizes
}

/// Ops that read, write, or do both: sums of all elements, a number in all elements, chains of additions and products.
pub(super) fn memory(devices: usize, largest: u64) -> Vec<Probe> {
    let mut probes = Vec::new();
    for bytes in sizes(devices, largest) {
        let n = bytes / 4;
        let ty = format!("tensor<{n}xf32>");
        let scalar = "tensor<f32>";
        let sum = format!(
            "stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [0] \
             : ({ty}, {scalar}) -> {scalar}"
        );
        let fill = format!("stablehlo.broadcast_in_dim %arg0, dims = [] : ({scalar}) -> {ty}");
        let chain = format!("stablehlo.multiply %arg0, %arg0 : {ty}\n    %c = stablehlo.add %r0, %arg1 : {ty}");
        let rows: [(&str, &[&str], String, &str, f64); 3] = [
            ("reads", &[&ty, scalar], sum, scalar, 1.0),
            ("writes", &[scalar], fill, &ty, 1.0),
            ("chains", &[&ty, &ty], chain, &ty, 3.0),
        ];
        for (name, arguments, op, result, times) in rows {
            let mut text = Text::new(devices);
            for ty in arguments {
                text.argument(ty);
            }
            text.op(&op, result, None);
            if name == "chains" {
                "%c".clone_into(&mut text.results[0].0);
            }
            let work = times * bytes as f64;
            let name = format!("{name} of {bytes} bytes");
            let seconds = work * devices as f64 / BYTES;
            probes.push(Probe { quantity: Quantity::Memory, name, text: text.text(), ops: 1, work, seconds });
        }
    }
    probes
}

/// The number of equal collectives in a program.
const COLLECTIVES: usize = 4;

/// Collectives of every kind that threads run, among all devices.
pub(super) fn collectives(devices: usize, largest: u64) -> Vec<Probe> {
    let mut probes = Vec::new();
    if devices < 2 {
        return probes;
    }
    let groups: Vec<String> = (0..devices).map(|d| d.to_string()).collect();
    let groups = format!("dense<[[{}]]> : tensor<1x{devices}xi64>", groups.join(", "));
    let pairs: Vec<String> = (0..devices).map(|d| format!("[{d}, {}]", (d + 1) % devices)).collect();
    let pairs = format!("dense<[{}]> : tensor<{devices}x2xi64>", pairs.join(", "));
    for bytes in sizes(devices, largest) {
        // Rows of 4-byte floats; the same number for each device.
        let rows = (bytes / 4 / devices as u64).max(1);
        let part = format!("tensor<{rows}xf32>");
        let whole = format!("tensor<{}xf32>", rows * devices as u64);
        let all = format!("tensor<{}xf32>", rows * (devices * devices) as u64);
        let size = 4.0 * rows as f64;
        let total = size * devices as f64;
        let add = "({\n    ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n      %z = stablehlo.add %x, %y : tensor<f32>\n\
                   \x20     stablehlo.return %z : tensor<f32>\n    })";
        for (kind, name) in super::KINDS {
            let (attributes, region, operand, result, global, before, after) = match kind {
                CollectiveKind::AllGather => ("all_gather_dim = 0 : i64", "", &part, &whole, None, size, total),
                CollectiveKind::AllReduce => ("", add, &whole, &whole, None, total, total),
                CollectiveKind::ReduceScatter => {
                    ("scatter_dimension = 0 : i64", add, &whole, &part, Some(whole.clone()), total, size)
                }
                CollectiveKind::AllToAll => (ALL_TO_ALL, "", &whole, &whole, Some(all.clone()), total, total),
                CollectiveKind::CollectivePermute => ("", "", &whole, &whole, Some(all.clone()), total, total),
                CollectiveKind::CollectiveBroadcast => ("", "", &whole, &whole, None, total, total),
                _ => continue,
            };
            let mut text = Text::new(devices);
            for i in 0..COLLECTIVES {
                let argument = text.argument(operand);
                let channel = format!("channel_handle = #stablehlo.channel_handle<handle = {}, type = 1>", i + 1);
                let mut properties = vec![channel];
                properties.push(match kind {
                    CollectiveKind::CollectivePermute => format!("source_target_pairs = {pairs}"),
                    _ => format!("replica_groups = {groups}"),
                });
                let split = attributes.replace("COUNT", &devices.to_string());
                properties.extend((!split.is_empty()).then_some(split));
                let global_ids = [CollectiveKind::AllGather, CollectiveKind::AllReduce, CollectiveKind::ReduceScatter];
                properties.extend(global_ids.contains(&kind).then(|| "use_global_device_ids".to_owned()));
                let op = format!(
                    "\"stablehlo.{name}\"({argument}) <{{{}}}> {region} : ({operand}) -> {result}",
                    properties.join(", ")
                );
                text.op(&op, result, global.clone());
            }
            let load = CollectiveLoad::new(kind, before, after, devices as u64);
            let seconds = MEETING * devices as f64 + total * devices as f64 / BYTES;
            let work = load.moved_bytes();
            let name = format!("{name} of {} bytes", load.bytes());
            let quantity = Quantity::Collective(kind);
            probes.push(Probe { quantity, name, text: text.text(), ops: COLLECTIVES, work, seconds });
        }
    }
    probes
}

const ALL_TO_ALL: &str = "split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = COUNT : i64";
