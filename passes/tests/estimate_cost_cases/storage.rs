//! Bytes of arrays, shards, caches and parameters.

use dialect::diagnostic::Diagnostics;
use dialect::ir::{ElementType, TensorType};
use dialect::sharding::{AxisPart, Distribution};
use serde_json::Value;
use shardc_passes::estimate::{Flat, Machine, estimate};

use super::{Case, threshold};

/// Returns the answer of a case about this.
pub(super) fn answer(case: &Case) -> Option<f64> {
    Some(match case.text("group") {
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
        _ => return None,
    })
}

/// Returns the shape of an array.
pub(super) fn shape(case: &Case) -> Vec<i64> {
    case.ints("shape").into_iter().map(|size| size as i64).collect()
}

/// Returns the sharding of an array over a mesh, and the devices of that mesh.
pub(super) fn sharding(case: &Case) -> (Distribution, u64) {
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
pub(super) fn shard_bytes(bytes: f64, devices: u64) -> f64 {
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
