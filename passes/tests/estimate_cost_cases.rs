//! The published cost cases: every case that the machine model can answer is evaluated from the case's own inputs.
//!
//! Each value must meet the published figure within its stated tolerance, and the figure recomputed by the formula
//! within 1e-6. `NOT_COVERED` lists cases about things that the model lacks, with the reason, so that nothing is
//! skipped silently.

use dialect::diagnostic::Diagnostics;
use dialect::ir::{ElementType, TensorType};
use dialect::sharding::{AxisPart, Distribution};
use serde_json::Value;
use shardc_passes::estimate::collective::{CollectiveKind, gather_seconds, point_to_point_seconds, torus_seconds};
use shardc_passes::estimate::roofline::{critical_intensity, critical_rows};
use shardc_passes::estimate::tiling::padded_elements;
use shardc_passes::estimate::{
    CollectiveLoad, Flat, Group, Line, Machine, Matmul, Slice, Switch, Target, Work, estimate,
};

/// Families, or single cases as `family/id`, that don't use the machine model.
const NOT_COVERED: &[(&str, &str)] = &[
    ("alpha/at-fsdp-bound", "compares two given numbers"),
    ("alpha/tr-llama3-chips", "divides given numbers"),
    ("alpha/tr-pod-tokens", "multiplies given numbers"),
    ("a2a/shard-q10-a2a-uni", "one-directional rings: the model always uses both directions"),
    ("challenge/tpu-q6-total", "the largest of four given numbers"),
    ("pipeline", "a link that is busy with one transfer at a time: transfers between meshes wait for nobody"),
    ("qps", "divides given numbers"),
    ("train-time/at-slow", "scales a given number of days"),
    ("vpu/tpu-vpu-rate", "the vector unit's lanes are not modeled"),
];

/// The number of cases in the file, and of those that are evaluated.
const CASES: usize = 128;
const COVERED: usize = 119;

struct Case<'a>(&'a Value);

impl Case<'_> {
    fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_else(|| panic!("{key} of {}", self.0))
    }

    fn input(&self, key: &str) -> &Value {
        &self.0["inputs"][key]
    }

    fn has(&self, key: &str) -> bool {
        !self.input(key).is_null()
    }

    fn num(&self, key: &str) -> f64 {
        self.input(key).as_f64().unwrap_or_else(|| panic!("{key} of {}", self.0))
    }

    fn int(&self, key: &str) -> u64 {
        self.input(key).as_u64().unwrap_or_else(|| panic!("{key} of {}", self.0))
    }

    fn text_input(&self, key: &str) -> &str {
        self.input(key).as_str().unwrap_or_else(|| panic!("{key} of {}", self.0))
    }

    fn ints(&self, key: &str) -> Vec<u64> {
        self.input(key).as_array().unwrap().iter().map(|size| size.as_u64().unwrap()).collect()
    }

    /// Returns the bytes per element of the input that names a type.
    fn element_bytes(&self, key: &str) -> f64 {
        match self.input(key).as_str() {
            Some("int8") => 1.0,
            Some("bf16") => 2.0,
            other => panic!("{other:?}"),
        }
    }

    fn not_covered(&self) -> Option<&'static str> {
        let single = format!("{}/{}", self.text("group"), self.text("id"));
        NOT_COVERED.iter().map(|(name, _)| *name).find(|name| *name == single || *name == self.text("group"))
    }
}

/// Returns a ring without latency, long enough for the book's formulas, which ignore its length.
fn ring(bidirectional_bandwidth: f64) -> Line {
    Line { participants: 16, ring: true, stride: 1, link_bandwidth: bidirectional_bandwidth / 2.0, hop_latency: 0.0 }
}

fn rings(count: u64, bidirectional_bandwidth: f64) -> Group {
    Group::of_lines(&vec![ring(bidirectional_bandwidth); count as usize])
}

fn reduce_seconds(bytes: f64, group: &Group) -> f64 {
    torus_seconds(&CollectiveLoad::new(CollectiveKind::AllReduce, bytes, bytes, group.size()), group)
}

fn matmul(rows: u64, contracting: u64, columns: u64) -> Matmul {
    Matmul { batch: 1, rows, contracting, columns }
}

fn math_seconds(flops: f64, peak: f64) -> f64 {
    Work { flops, bytes: 0.0 }.seconds(peak, 1.0).total()
}

fn load_seconds(bytes: f64, bandwidth: f64) -> f64 {
    Work { flops: 0.0, bytes }.seconds(1.0, bandwidth).total()
}

fn slice(chip: &str, dims: &[u64]) -> Slice {
    let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
    match Target::parse(&format!("{chip}:{}", dims.join("x"))) {
        Ok(Target::Slice(slice)) => slice,
        other => panic!("{other:?}"),
    }
}

/// Returns the point where `falls` changes from false to true.
fn threshold(falls: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (1.0, 1e12);
    assert!(!falls(low) && falls(high));
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if falls(middle) { high = middle } else { low = middle }
    }
    high
}

fn number(case: &Case) -> f64 {
    let num = |key| case.num(key);
    match case.text("group") {
        "flops-time" => math_seconds(num("flops"), num("peak")),
        "intensity" | "attn-intensity" => intensity(case),
        "hbm-bcrit" => {
            let peak = if case.has("peak") { num("peak") } else { num("peak_int8") };
            let bandwidth = if case.has("pcie_bw") { num("pcie_bw") } else { num("hbm_bw") };
            let weight_bytes = if case.has("wgt") { case.element_bytes("wgt") } else { 2.0 };
            match case.text("quantity") {
                "critical_intensity" => critical_intensity(peak, bandwidth),
                _ => critical_rows(peak, bandwidth, weight_bytes),
            }
        }
        "local-bytes" => {
            let (at, devices) = sharding(case);
            match case.text("quantity") {
                "replication" => devices as f64 / (0..at.rank()).map(|dim| at.shards(dim) as f64).product::<f64>(),
                _ => at.local_bytes(&TensorType::new(&shape(case), ElementType::I8)) * case.element_bytes("dtype"),
            }
        }
        "memory" => memory(case),
        "kv" => held(&cache(case)),
        "activation-memory" => held(&saved(case)),
        "params" if case.text("quantity") == "ratio" => {
            // The ratio of one layer.
            let (d, f) = (case.int("D"), case.int("F"));
            let attention = held(&vec![(vec![d, d], "i8"); 4]);
            attention / (attention + held(&vec![(vec![d, f], "i8"); 3]))
        }
        // Each parameter takes a byte, so that bytes are parameters.
        "params" | "moe" => held(&weights(case)),
        // A register holds a tile of 32-bit elements.
        "vpu" => 4.0 * padded_elements(&[case.int("vregs"), 1, 1], [8, 128]) as f64,
        "gpu-alpha" if case.has("seqs") => shard_bytes(num("seqs") * num("seq"), case.int("gpus")),
        "gpu-alpha" if case.has("X") => {
            // Two gradient reductions of 2DF bytes against 8DF FLOPs per token.
            let (rate, ways) = (num("peak"), case.int("X"));
            let flat = Flat { latency: 0.0, bandwidth: num("bw"), ..Flat::default() };
            let weight = 2 * 8192 * 8192;
            2.0 * flat.collective_seconds(&CollectiveLoad::new(
                CollectiveKind::AllReduce,
                weight as f64,
                weight as f64,
                ways,
            )) / math_seconds(4.0 * weight as f64, rate)
        }
        "gpu-alpha" => critical_intensity(num("peak"), num("bw")),
        "dcn" => critical_intensity(num("peak"), num("dcn")),
        "weight-load" => {
            let element_bytes = if case.has("dtype") { case.element_bytes("dtype") } else { 1.0 };
            load_seconds(num("params") * element_bytes / num("chips"), num("hbm_bw"))
        }
        "decode-step" | "llama13b" => decode_step(case),
        "prefill" => math_seconds(2.0 * num("params") * num("tokens") / num("chips"), num("peak") * num("mfu")),
        // Each parameter multiplies each token once forward and twice backward.
        "train-time" if case.text("quantity") == "flops" => {
            3.0 * matmul(num("tokens") as u64, num("params") as u64, 1).flops() as f64
        }
        "train-time" => train_time(case),
        "pod" => pod(case),
        "p2p" => {
            let at = |key| <[u64; 3]>::try_from([&case.ints(key)[..], &[0]].concat()).unwrap();
            let hops = slice(case.text_input("chip"), &case.ints("slice")).hops(at("src"), at("dst")).iter().sum();
            let (bytes, ports) = if case.has("bytes") { (num("bytes"), case.int("ports")) } else { (0.0, 1) };
            let link = if case.has("link") { num("link") } else { 1.0 };
            point_to_point_seconds(bytes, ports, hops, link, num("hop"))
        }
        "challenge" if case.has("ports") => {
            point_to_point_seconds(num("bytes"), case.int("ports"), 0, num("link"), 0.0)
        }
        "challenge" => math_seconds(matmul(case.int("M"), case.int("K"), case.int("N")).flops() as f64, num("peak")),
        "ag-v5e" | "ag-v4p" | "latency" | "a2a" | "profile" => collective(case),
        "tiling" if case.has("tile") => {
            let shape = case.ints("shape");
            padded_elements(&shape, [case.ints("tile")[0], case.ints("tile")[1]]) as f64
                / shape.iter().product::<u64>() as f64
        }
        "tiling" => matmul(case.int("M"), case.int("K"), case.int("N")).padded_flops(case.int("pad")) as f64,
        "gpu-matmul" => {
            let (m, k, n) = (case.int("M"), case.int("K"), case.int("N"));
            let work = Work { flops: matmul(m, k, n).flops() as f64, bytes: 2.0 * (m * k + k * n + m * n) as f64 };
            work.seconds(num("peak"), num("hbm_bw")).total()
        }
        "gpu-elementwise" => load_seconds(3.0 * 4.0 * num("N"), num("hbm_bw")),
        "gpu-ag" => {
            let switch = Switch { participants: case.int("N"), bandwidth: num("egress"), latency: 0.0 };
            gather_seconds(num("bytes"), &Group::of_switch(switch))
        }
        "gather-vs-reduce" => gather_against_reduce(case),
        "layer-time" => {
            let (d, f, w) = (num("D"), num("F"), num("bidi"));
            if !case.has("B") {
                return 2.0 * reduce_seconds(2.0 * d * f, &rings(1, w));
            }
            let activations = 2.0 * num("B") * d;
            let math = math_seconds(4.0 * num("B") * d * f / num("Y"), num("peak"));
            math.max(2.0 * gather_seconds(activations, &rings(1, w)))
        }
        "alpha" if case.has("axes") => {
            // Data parallel, backward: two reductions of 2DF bytes against 8DF FLOPs per token.
            let weight = 2.0 * 8192.0 * 8192.0;
            2.0 * reduce_seconds(weight, &rings(case.int("axes"), num("bidi")))
                / math_seconds(4.0 * weight, num("peak"))
        }
        "alpha" => critical_intensity(num("peak"), num("bidi")),
        "tp-limit" => tensor_parallel_limit(case),
        "mixed" => mixed_limit(case),
        "flops" => {
            // Four projections of [T, D] by [D, D] against scores and their product with the values.
            let d = case.int("D");
            let attention = |t: f64| 2.0 * matmul(t as u64, d, t as u64).flops() as f64;
            threshold(|t| attention(t) >= 4.0 * matmul(t as u64, d, d).flops() as f64)
        }
        group => panic!("no rule for {group}"),
    }
}

/// Returns the shape of an array.
fn shape(case: &Case) -> Vec<i64> {
    case.ints("shape").into_iter().map(|size| size as i64).collect()
}

/// Returns the sharding of an array over a mesh, and the devices of that mesh.
fn sharding(case: &Case) -> (Distribution, u64) {
    let mesh = case.input("mesh").as_object().unwrap();
    let axis = |name: &Value| {
        let at = mesh.keys().position(|key| key == name.as_str().unwrap()).unwrap();
        AxisPart::whole(at as u32, mesh[name.as_str().unwrap()].as_u64().unwrap() as u32)
    };
    let dims = case.input("spec").as_array().unwrap().iter();
    let at = Distribution::of_dims(dims.map(|dim| dim.as_array().unwrap().iter().map(axis).collect()));
    (at, mesh.values().map(|size| size.as_u64().unwrap()).product())
}

/// Returns the bytes that each of `devices` devices has of an array of `bytes`.
fn shard_bytes(bytes: f64, devices: u64) -> f64 {
    let at = Distribution::of_dims([[AxisPart::whole(0, devices as u32)].into_iter().collect()]);
    at.local_bytes(&TensorType::new(&[bytes as i64], ElementType::I8))
}

/// Returns the memory of a program with these arrays, as `cost` reports it.
fn held(arrays: &[(Vec<u64>, &str)]) -> f64 {
    let ty = |(shape, element): &(Vec<u64>, &str)| {
        let sizes: String = shape.iter().map(|size| format!("{size}x")).collect();
        format!("tensor<{sizes}{element}>")
    };
    let arguments: Vec<String> = arrays.iter().enumerate().map(|(i, array)| format!("%a{i}: {}", ty(array))).collect();
    let text = format!("func.func @main({}) {{\n  return\n}}\n", arguments.join(", "));
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(&text, &mut diagnostics);
    dialect::verify(&program, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
    estimate(&program, &Machine::flat(Flat::default())).peak_bytes
}

/// Returns the memory of a training step's arrays: parameters in bf16, two moments in f32; or as the case states.
fn memory(case: &Case) -> f64 {
    let num = |key| case.num(key);
    // Builds an array of `params` elements of `bytes` bytes each.
    let state = |params: f64, bytes: u64| vec![(vec![params as u64, bytes], "i8")];
    match case.text("quantity") {
        "params" => threshold(|params| held(&state(params, case.int("bytes_per_param"))) >= num("hbm")),
        "gpus" => {
            let all = held(&state(num("params"), case.int("bytes_per_param")));
            (1..).find(|&devices| shard_bytes(all, devices) <= num("hbm")).unwrap() as f64
        }
        _ if case.has("total") => shard_bytes(num("total"), case.int("chips")),
        _ => {
            let params = || vec![num("params") as u64];
            held(&[(params(), "bf16"), (params(), "f32"), (params(), "f32")])
        }
    }
}

/// Returns the keys and values of a token in all layers, of a sequence of tokens, or one activation.
fn cache(case: &Case) -> Vec<(Vec<u64>, &'static str)> {
    let int = |key| case.int(key);
    if case.has("kv_per_token") {
        return vec![(vec![int("seq"), int("kv_per_token")], "i8")];
    }
    if case.has("T") {
        return vec![(vec![int("T"), int("D")], "bf16")];
    }
    let heads = if case.has("NH") { vec![int("NH")] } else { vec![int("K"), int("H")] };
    vec![([vec![int("L")], heads].concat(), "i8"); 2]
}

/// Returns the arrays that all layers keep from a forward pass for the backward pass.
fn saved(case: &Case) -> Vec<(Vec<u64>, &'static str)> {
    let (tokens, d) = (case.num(if case.has("B") { "B" } else { "tokens" }) as u64, case.int("D"));
    let layers = |width: u64| (vec![case.int("L"), tokens, width], "bf16");
    if case.has("F_over_D") {
        // The inputs of a feed-forward layer's three products.
        let f = (d as f64 * case.num("F_over_D")).round() as u64;
        return vec![layers(d), layers(f), layers(f)];
    }
    let each = case.int(if case.has("saved") { "saved" } else { "per_layer" });
    vec![layers(d); each as usize]
}

/// Returns a transformer's parameters: gated feed-forward layers (of several experts), attention, embeddings.
fn weights(case: &Case) -> Vec<(Vec<u64>, &'static str)> {
    let int = |key| case.num(key) as u64;
    let mut arrays = Vec::new();
    let mut add = |count: usize, shape: &[u64]| arrays.extend(vec![(shape.to_vec(), "i8"); count]);
    if case.has("F") {
        let experts = ["E", "k"].into_iter().find(|key| case.has(key)).map_or(1, int);
        add(3, &[int("L"), experts, int("D"), int("F")]);
    }
    if case.has("N") {
        add(2, &[int("L"), int("D"), int("N"), int("H")]);
        add(2, &[int("L"), int("D"), int("K"), int("H")]);
    } else if case.has("F") && case.has("V") {
        add(4, &[int("L"), int("D"), int("D")]);
        // The scale of the layer's normalization.
        add(1, &[int("L"), int("D")]);
    }
    if case.has("V") {
        let tied = case.text("group") == "moe" || case.input("tied").as_bool() == Some(true);
        add(if tied { 1 } else { 2 }, &[int("V"), int("D")]);
    }
    arrays
}

fn intensity(case: &Case) -> f64 {
    let int = |key| case.int(key);
    if case.has("vpu_flops") {
        return critical_intensity(case.num("vpu_flops"), case.num("hbm_bw"));
    }
    if case.has("S") {
        // Fused attention of one key-value head of 128: queries and results move, scores do not.
        let (t, s, g, h) = (int("T"), int("S"), if case.has("G") { int("G") } else { 1 }, 128);
        let flops = matmul(t * g, h, s).flops() + matmul(t * g, s, h).flops();
        return Work { flops: flops as f64, bytes: 2.0 * (2 * t * g * h + 2 * s * h) as f64 }.intensity();
    }
    if case.has("N") {
        let n = int("N");
        return Work { flops: matmul(1, n, 1).flops() as f64, bytes: 2.0 * (2 * n + 1) as f64 }.intensity();
    }
    let (b, d, f) = (int("B"), int("D"), int("F"));
    let work = Matmul { batch: b, rows: 1, contracting: d, columns: f };
    Work { flops: work.flops() as f64, bytes: (b * d + b * d * f + b * f) as f64 }.intensity()
}

/// Returns the seconds to load the caches of the batch and then run the weights over it.
fn decode_step(case: &Case) -> f64 {
    let num = |key| case.num(key);
    let (chips, bandwidth) = (num("chips"), num("hbm_bw"));
    if case.has("bytes") {
        return load_seconds(num("bytes") / chips, bandwidth);
    }
    let cache = if case.has("kv_bytes") { num("kv_bytes") } else { num("ctx") * num("kv_per_token") };
    let (flops, peak) = if case.has("peak") { (2.0 * num("batch") * num("params"), num("peak")) } else { (0.0, 1.0) };
    let weights = if case.has("kv_bytes") { num("param_bytes") } else { num("params") * num("param_bytes") };
    let matmuls = Work { flops: flops / chips, bytes: weights / chips }.seconds(peak, bandwidth);
    load_seconds(num("batch") * cache / chips, bandwidth) + matmuls.total()
}

fn train_time(case: &Case) -> f64 {
    let num = |key| case.num(key);
    if case.text("id") == "at-token" {
        return math_seconds(6.0 * num("params"), num("peak"));
    }
    let chips = if case.has("gpus") { num("gpus") } else { num("chips") };
    let flops = if case.has("flops") { num("flops") } else { 6.0 * num("params") * num("tokens") };
    let seconds = math_seconds(flops / chips, num("peak") * num("mfu"));
    if case.text("unit") == "days" { seconds / 86_400.0 } else { seconds }
}

fn pod(case: &Case) -> f64 {
    if !case.has("chip") {
        let chips = slice("v5p", &[16, 16, 16]).chips();
        assert_eq!(chips, case.int("chips"));
        return chips as f64 * case.num("hbm");
    }
    let chip = shardc_passes::estimate::chip::Chip::named(case.text_input("chip")).unwrap();
    let pod = slice(chip.name, &chip.pod[..chip.torus_rank]);
    match case.text("quantity") {
        "hosts" => pod.hosts() as f64,
        "pod_flops" => pod.chips() as f64 * case.num("peak"),
        "pod_hbm" => pod.chips() as f64 * case.num("hbm"),
        other => panic!("{other}"),
    }
}

fn collective(case: &Case) -> f64 {
    let link = || if case.has("link") { case.num("link") } else { case.num("bidi") / 2.0 };
    let line = || Line {
        participants: case.int("axis"),
        ring: case.input("ring").as_bool().unwrap_or(false),
        stride: 1,
        link_bandwidth: link(),
        hop_latency: 1e-6,
    };
    let priced = |kind, operand: u64, result: u64, group: &Group| {
        torus_seconds(&CollectiveLoad::new(kind, operand as f64, result as f64, group.size()), group)
    };
    let one = |kind, operand: u64, result: u64| priced(kind, operand, result, &Group::of_lines(&[line()]));
    match case.text("id") {
        // Only the latency bound: nothing is sent.
        "shard-q2-lat2" => {
            let ring = |&size: &u64| Line { participants: size, ring: true, hop_latency: case.num("hop"), ..ring(1.0) };
            gather_seconds(0.0, &Group::of_lines(&case.ints("axes").iter().map(ring).collect::<Vec<_>>()))
        }
        "inf-lat-8way" => {
            Line { participants: case.int("shards"), hop_latency: case.num("hop"), link_bandwidth: link(), ..ring(1.0) }
                .latency_bound_bytes()
        }
        "shard-a2a-quarter" => {
            let group = rings(1, 1e9);
            priced(CollectiveKind::AllToAll, 1 << 30, 1 << 30, &group)
                / priced(CollectiveKind::AllGather, 1 << 30, 16 << 30, &group)
        }
        "shard-a2a-1d" => one(CollectiveKind::AllToAll, case.int("bytes") / case.int("axis"), 0),
        "prof-v2-rs" => one(CollectiveKind::ReduceScatter, case.int("bytes"), case.int("bytes") / 2),
        "shard-quiz2-ring" | "shard-q3" => {
            one(CollectiveKind::AllGather, case.int("bytes") / case.int("axis"), case.int("bytes"))
        }
        "shard-quiz2-line" => {
            // The real slice: the model determines which dimensions are lines.
            let dims = case.ints("slice");
            let machine = Machine::new(Target::Slice(slice(case.text_input("chip"), &dims)), &dims).unwrap();
            let group = machine.group(&[AxisPart::whole(1, dims[1] as u32)]);
            assert_eq!(group.lines(), [line()]);
            machine.collective_seconds(
                CollectiveKind::AllGather,
                (case.int("bytes") / dims[1]) as f64,
                case.int("bytes") as f64,
                &group,
            )
        }
        "shard-q2-agx" | "shard-q2-agxy" => gather_of_sharded(case),
        id => panic!("no rule for {id}"),
    }
}

/// Returns the seconds to gather some of the axes of a sharded array on a whole slice.
fn gather_of_sharded(case: &Case) -> f64 {
    let mesh = case.input("mesh").as_object().unwrap();
    let sizes: Vec<u64> = mesh.values().map(|size| size.as_u64().unwrap()).collect();
    let machine = Machine::new(Target::Slice(slice(case.text_input("chip"), &case.ints("slice"))), &sizes).unwrap();
    let whole = |name: &Value| {
        let axis = mesh.keys().position(|key| key == name.as_str().unwrap()).unwrap();
        AxisPart::whole(axis as u32, sizes[axis] as u32)
    };
    let gathered: Vec<AxisPart> = case.input("axes").as_array().unwrap().iter().map(whole).collect();
    let sharded: Vec<AxisPart> =
        case.input("spec").as_array().unwrap().iter().flat_map(|dim| dim.as_array().unwrap()).map(whole).collect();
    let count = |parts: &[AxisPart]| parts.iter().map(|part| u64::from(part.size)).product::<u64>();
    let bytes = case.ints("shape").iter().product::<u64>() * case.element_bytes("dtype") as u64;
    let operand = bytes / count(&sharded);
    let group = machine.group(&gathered);
    assert!(group.lines().iter().all(|line| line.ring && line.link_bandwidth == case.num("bidi") / 2.0));
    machine.collective_seconds(CollectiveKind::AllGather, operand as f64, (operand * count(&gathered)) as f64, &group)
}

/// Computes `[B,D] x [D_X,F]`: gather the second operand, or multiply slices and reduce the result.
fn gather_against_reduce(case: &Case) -> f64 {
    let (f, w) = (28672.0, 180e9);
    let group = rings(1, w);
    match case.text("id") {
        "shard-q4-D" => {
            let (b, group) = (1e6, rings(1, case.num("bidi")));
            threshold(|d| reduce_seconds(2.0 * b * f, &group) <= math_seconds(2.0 * b * d * f, case.num("peak")))
        }
        "shard-q4-smallB" => {
            threshold(|d| reduce_seconds(2.0 * case.num("B") * f, &group) <= gather_seconds(2.0 * d * f, &group))
        }
        "shard-q9-ratio" => {
            gather_seconds(2.0 * f * case.num("M"), &group) / gather_seconds(2.0 * f * case.num("K"), &group)
        }
        id => panic!("no rule for {id}"),
    }
}

/// Returns the number of ways of tensor parallelism up to which a layer `[B,D] x [D,F] x [F,D]` hides its gather and
/// reduce-scatter of `[B,D]`, or the width `F` that a number of ways needs. In decoding the loads of the weights, not
/// the FLOPs, hide them.
fn tensor_parallel_limit(case: &Case) -> f64 {
    let (b, d, w) = (1024.0, 8192.0, 90e9);
    if case.has("beta") {
        let b = case.num("B");
        return load_seconds(2.0 * d * case.num("F"), case.num("beta") * w) / gather_seconds(2.0 * b * d, &rings(1, w));
    }
    let w = if case.has("bidi") { case.num("bidi") } else { w };
    let peak = if case.has("peak") { case.num("peak") } else { case.num("alpha") * w };
    let element_bytes = if case.has("comm_bytes") { case.num("comm_bytes") } else { 2.0 };
    let axes = if case.has("axes") { case.int("axes") } else { 1 };
    let comm = 2.0 * gather_seconds(element_bytes * b * d, &rings(axes, w));
    let math = |f: f64| math_seconds(4.0 * b * d * f, peak);
    if case.has("Y") { threshold(|f| math(f) / case.num("Y") >= comm) } else { math(case.num("F")) / comm }
}

/// Returns the tokens (per chip, or in total where the number of chips is given) from which FSDP over X and tensor
/// parallelism over Y, in the best proportion, hide their communication. The two kinds of collectives run one after the
/// other, or overlap.
fn mixed_limit(case: &Case) -> f64 {
    let (d, f, w) = (8192.0, case.num("F"), 180e9);
    let chips = if case.has("N") { case.num("N") } else { 4096.0 };
    let peak = case.num("alpha") * w;
    let fsdp_axes = case.int("MxMy");
    let hidden = |tokens: f64| {
        let x = (tokens / f * fsdp_axes as f64 * chips).sqrt();
        let y = chips / x;
        let weights = 2.0 * gather_seconds(2.0 * d * f / y, &rings(fsdp_axes, w));
        let activations = 2.0 * gather_seconds(2.0 * tokens * d / x, &rings(1, w));
        let comm = match case.text_input("overlap") {
            "none" => weights + activations,
            "full" => weights.max(activations),
            other => panic!("{other}"),
        };
        comm <= math_seconds(4.0 * tokens * d * f / chips, peak)
    };
    let tokens = threshold(hidden);
    if case.has("N") { tokens } else { tokens / chips }
}

/// Checks the published figure within its tolerance, and the recomputed one within 1e-6; returns `None` when both hold.
fn disagreement(case: &Case, value: f64) -> Option<String> {
    let within = |expected: f64, tolerance: f64| (value - expected).abs() <= tolerance * expected.abs();
    let expected = case.0["expected"].as_f64().unwrap();
    let exact = case.0["exact"].as_f64().unwrap_or(expected);
    let published = within(expected, case.0["rel_tol"].as_f64().unwrap());
    (!published || !within(exact, 1e-6))
        .then(|| format!("{}: {value}, published {expected}, exact {exact}", case.text("id")))
}

#[test]
fn published_cost_cases() {
    let document: Value = serde_json::from_str(include_str!("data/cost_cases.json")).unwrap();
    let cases: Vec<Case> = document["cases"].as_array().unwrap().iter().map(Case).collect();
    let mut covered = 0;
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|case| case.not_covered().is_none()) {
        covered += 1;
        match case.text("quantity") {
            "wrap" => {
                let slice = slice(case.text_input("chip"), &case.ints("slice"));
                let wraps = slice.wraps()[..slice.shape().len()].to_vec();
                assert_eq!(Value::from(wraps), case.0["expected"], "{}", case.text("id"));
            }
            "local_shape" => {
                let local = sharding(case).0.local_shape(&shape(case));
                assert_eq!(Value::from(local.to_vec()), case.0["expected"], "{}", case.text("id"));
            }
            "latency_bound" => {
                let line = Line {
                    participants: case.int("shards"),
                    link_bandwidth: case.num("link"),
                    hop_latency: case.num("hop"),
                    ..ring(1.0)
                };
                let is_latency_bound = gather_seconds(case.num("bytes"), &Group::of_lines(&[line])) == line.latency();
                assert_eq!(Value::from(is_latency_bound), case.0["expected"], "{}", case.text("id"));
            }
            _ => wrong.extend(disagreement(case, number(case))),
        }
    }
    assert!(wrong.is_empty(), "{} of {covered} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!((cases.len(), covered), (CASES, COVERED));
    for (name, reason) in NOT_COVERED {
        assert!(cases.iter().any(|case| case.not_covered() == Some(name)), "{name} ({reason}) is no family or case");
    }
}
