//! Times of collectives, and the sizes at which arithmetic hides them.

use dialect::sharding::AxisPart;
use serde_json::Value;
use shardc_passes::estimate::collective::{CollectiveKind, gather_seconds, point_to_point_seconds, torus_seconds};
use shardc_passes::estimate::roofline::critical_intensity;
use shardc_passes::estimate::{CollectiveLoad, Flat, Group, Line, Machine, Switch, Target};

use super::storage::shard_bytes;
use super::{Case, load_seconds, math_seconds, reduce_seconds, ring, rings, slice, threshold};

/// Returns the answer of a case about this.
pub(super) fn answer(case: &Case) -> Option<f64> {
    let num = |key| case.num(key);
    Some(match case.text("group") {
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
        "ag-v5e" | "ag-v4p" | "latency" | "a2a" | "profile" => collective(case),
        "gpu-ag" => {
            let switch = Switch { participants: case.int("N"), bandwidth: num("egress"), latency: 0.0 };
            gather_seconds(num("bytes"), &Group::of_switch(switch))
        }
        "gather-vs-reduce" => gather_against_reduce(case),
        "layer-time" => {
            let (d, f, w) = (num("D"), num("F"), num("bidi"));
            if !case.has("B") {
                return Some(2.0 * reduce_seconds(2.0 * d * f, &rings(1, w)));
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
        _ => return None,
    })
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
