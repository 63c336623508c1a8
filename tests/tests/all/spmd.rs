//! Static checks of per-device programs compared with runs of them: in a random program without findings no device ever
//! waits forever, and in one with a certain fault some device always does.

use std::fmt::Write;

use fastrand::Rng;
use shardc::{Backend, Compiler, ExecuteOptions, Interface, Severity, Source, random_inputs};

const GROUPS: [&str; 4] = ["[[0, 1], [2, 3]]", "[[0, 2], [1, 3]]", "[[0, 1, 2, 3]]", "[[0], [1], [2], [3]]"];

/// A random program of integers on two by two devices, with collectives in branches and loops.
struct Writer {
    rng: Rng,
    text: String,
    next: usize,
}

impl Writer {
    fn name(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    fn line(&mut self, made: &str, op: &str) {
        let _ = writeln!(self.text, "    {made} = {op}");
    }

    fn constant(&mut self, value: u32) -> String {
        let made = self.name();
        self.line(&made, &format!("stablehlo.constant dense<{value}> : tensor<i32>"));
        made
    }

    fn pick(&mut self, known: &[String]) -> String {
        known[self.rng.usize(..known.len())].clone()
    }

    /// Writes a collective of a value.
    fn collective(&mut self, known: &[String]) -> String {
        let (operand, made, sum, channel) = (self.pick(known), self.name(), self.name(), self.next);
        let groups = GROUPS[self.rng.usize(..3)];
        let shape = if groups.len() > 20 {
            "4x1"
        } else if groups.contains("2], [") || groups.contains("1], [") {
            "2x2"
        } else {
            "1x4"
        };
        let handle = format!("channel_handle = #stablehlo.channel_handle<handle = {channel}, type = 1>");
        if self.rng.u8(..4) == 0 {
            let pairs = ["[[0, 1], [1, 0]]", "[[0, 2], [1, 3]]", "[[3, 0], [2, 1]]"][self.rng.usize(..3)];
            self.line(&made, &format!("\"stablehlo.collective_permute\"({operand}) <{{{handle}, source_target_pairs = dense<{pairs}> : tensor<2x2xi64>}}> : (tensor<i32>) -> tensor<i32>"));
        } else {
            self.line(&made, &format!("\"stablehlo.all_reduce\"({operand}) <{{{handle}, replica_groups = dense<{groups}> : tensor<{shape}xi64>, use_global_device_ids}}> ({{\n    ^bb0({sum}a: tensor<i32>, {sum}b: tensor<i32>):\n      {sum} = stablehlo.add {sum}a, {sum}b : tensor<i32>\n      stablehlo.return {sum} : tensor<i32>\n    }}) : (tensor<i32>) -> tensor<i32>"));
        }
        made
    }

    fn arithmetic(&mut self, known: &[String]) -> String {
        let (a, two) = (self.pick(known), self.rng.u32(1..4));
        let b = if self.rng.bool() { self.constant(two) } else { self.pick(known) };
        let made = self.name();
        let op = ["add", "subtract", "and", "maximum", "minimum", "xor"][self.rng.usize(..6)];
        self.line(&made, &format!("stablehlo.{op} {a}, {b} : tensor<i32>"));
        made
    }

    /// Writes a coordinate of the device, or its number.
    fn coordinate(&mut self) -> String {
        let (id, signed, made) = (self.name(), self.name(), self.name());
        self.line(&id, "stablehlo.partition_id : tensor<ui32>");
        self.line(&signed, &format!("stablehlo.convert {id} : (tensor<ui32>) -> tensor<i32>"));
        let two = self.constant(2);
        let op = ["divide", "remainder", "add"][self.rng.usize(..3)];
        self.line(&made, &format!("stablehlo.{op} {signed}, {two} : tensor<i32>"));
        made
    }

    fn steps(&mut self, known: &mut Vec<String>, count: usize, depth: usize) {
        for _ in 0..count {
            let made = match self.rng.u8(..10) {
                0 | 1 => self.coordinate(),
                2..=4 => self.collective(known),
                5 | 6 if depth < 2 => self.branch(known, depth),
                7 if depth < 2 => self.repeat(known, depth),
                _ => self.arithmetic(known),
            };
            known.push(made);
        }
    }

    fn branch(&mut self, known: &[String], depth: usize) -> String {
        let (value, limit, decides, made) = (self.pick(known), self.rng.u32(..3), self.name(), self.name());
        let limit = self.constant(limit);
        self.line(
            &decides,
            &format!("stablehlo.compare GT, {value}, {limit}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>"),
        );
        let _ = writeln!(self.text, "    {made} = \"stablehlo.if\"({decides}) ({{");
        for region in 0..2 {
            let mut inside = known.to_vec();
            self.steps(&mut inside, 2, depth + 1);
            let given = self.pick(&inside);
            let _ = writeln!(
                self.text,
                "    stablehlo.return {given} : tensor<i32>\n    {}",
                ["}, {", "}) : (tensor<i1>) -> tensor<i32>"][region]
            );
        }
        made
    }

    /// Writes a loop from the lowest two bits of a value to three.
    fn repeat(&mut self, known: &[String], depth: usize) -> String {
        let (start, carried, three) = (self.pick(known), self.pick(known), self.constant(3));
        let (low, made, i, v, more, one, next) =
            (self.name(), self.name(), self.name(), self.name(), self.name(), self.name(), self.name());
        self.line(&low, &format!("stablehlo.and {start}, {three} : tensor<i32>"));
        let _ = writeln!(
            self.text,
            "    {made}:2 = stablehlo.while({i} = {low}, {v} = {carried}) : tensor<i32>, tensor<i32>\n    cond {{\n    {more} = stablehlo.compare LT, {i}, {three}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    stablehlo.return {more} : tensor<i1>\n    }} do {{"
        );
        let mut inside: Vec<String> = known.iter().cloned().chain([i.clone(), v]).collect();
        self.steps(&mut inside, 2, depth + 1);
        let given = self.pick(&inside);
        let _ = writeln!(
            self.text,
            "    {one} = stablehlo.constant dense<1> : tensor<i32>\n    {next} = stablehlo.add {i}, {one} : tensor<i32>\n    stablehlo.return {next}, {given} : tensor<i32>, tensor<i32>\n    }}"
        );
        format!("{made}#1")
    }
}

/// Returns a program whose argument `%s` is sharded over columns and whose argument `%n` is replicated.
fn program(seed: u64) -> String {
    let mut writer = Writer { rng: Rng::with_seed(seed), text: String::new(), next: 0 };
    let mut known = vec!["%n".to_owned(), "%s0".to_owned()];
    writer.line("%s0", "stablehlo.reshape %s : (tensor<1xi32>) -> tensor<i32>");
    let count = 3 + writer.rng.usize(..6);
    writer.steps(&mut known, count, 0);
    let last = known.last().cloned().unwrap_or_default();
    format!(
        "module attributes {{mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32, shardc.meshes = {{mesh = \"<[\\22y\\22=2, \\22x\\22=2]>\"}}}} {{\n  func.func @main(%n: tensor<i32> {{shardc.global_type = tensor<i32>}}, %s: tensor<1xi32> {{shardc.global_type = tensor<2xi32>, shardc.sharding = \"<@mesh, [{{\\22x\\22}}]>\"}}) -> tensor<i32> {{\n{}    return {last} : tensor<i32>\n  }}\n}}\n",
        writer.text
    )
}

#[test]
fn static_findings_agree_with_runs() {
    let compiler = Compiler::standard();
    let (mut fine, mut possible, mut certain, mut conditional, mut happened) = (0, 0, 0, 0, 0);
    for seed in 0..400 {
        let text = program(seed);
        let module = compiler
            .parse(Source::new("random", text.clone()))
            .into_result()
            .unwrap_or_else(|d| panic!("{d:?}\n{text}"));
        let found = compiler.run_passes(module.clone(), "check-spmd").diagnostics;
        let is_certain = found.iter().any(|d| d.severity == Severity::Error);
        let is_fine = found.iter().next().is_none();
        let types = Interface::of(&module).expect("it takes tensors").arguments;
        let mut waited = 0;
        for inputs in 0..6 {
            let options = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
            let ran = compiler.execute(&module, &random_inputs(&types, inputs, 1), &options);
            let waits = ran.diagnostics.iter().any(|d| d.message.contains("waits for device"));
            assert!(waits || ran.value.is_some(), "{:?}\n{text}", ran.diagnostics.iter().next());
            waited += usize::from(waits);
        }
        assert!(!is_fine || waited == 0, "seed {seed}: nothing was found, but devices wait\n{text}");
        // A fault inside a loop or branch that no device enters has no effect.
        let nested = text.matches("stablehlo.if").count() + text.matches("stablehlo.while").count() > 1;
        assert!(!is_certain || nested || waited == 6, "seed {seed}: a fault is certain, but doesn't happen\n{text}");
        let has = text.contains("stablehlo.if") || text.contains("stablehlo.while");
        happened += usize::from(!is_fine && waited > 0);
        conditional += usize::from(is_fine && has);
        *[&mut fine, &mut possible, &mut certain][if is_fine { 0 } else { 1 + usize::from(is_certain) }] += 1;
    }
    println!(
        "{fine} fine, {conditional} of them with branches or loops; {possible} with possible faults, {certain} with certain ones"
    );
    println!("of the faults, {happened} happened");
    assert!(conditional >= 90 && possible >= 90 && certain >= 12, "{conditional} {possible} {certain}");
    // Most findings cause a hang for some of a few inputs, so they are not false alarms.
    assert!(2 * happened >= possible + certain, "only {happened} of {} faults happened", possible + certain);
}
