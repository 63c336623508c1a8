//! Seconds of arithmetic and of loads from memory, intensities, padding.

use shardc_passes::estimate::roofline::{critical_intensity, critical_rows};
use shardc_passes::estimate::tiling::padded_elements;
use shardc_passes::estimate::{Matmul, Work};

use super::{Case, load_seconds, math_seconds, matmul, slice, threshold};

/// Returns the answer of a case about this.
pub(super) fn answer(case: &Case) -> Option<f64> {
    let num = |key| case.num(key);
    Some(match case.text("group") {
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
        // A register holds a tile of 32-bit elements.
        "vpu" => 4.0 * padded_elements(&[case.int("vregs"), 1, 1], [8, 128]) as f64,
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
        "challenge" => math_seconds(matmul(case.int("M"), case.int("K"), case.int("N")).flops() as f64, num("peak")),
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
        "flops" => {
            // Four projections of [T, D] by [D, D] against scores and their product with the values.
            let d = case.int("D");
            let attention = |t: f64| 2.0 * matmul(t as u64, d, t as u64).flops() as f64;
            threshold(|t| attention(t) >= 4.0 * matmul(t as u64, d, d).flops() as f64)
        }
        _ => return None,
    })
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
