//! `shardc help targets`: the values of `--target`.

use std::fmt::Write;

use passes::estimate::Targets;
use passes::estimate::clouds::{MACHINES, counted_per_chip, default_counts};

use crate::cli::phrase::row;
use crate::{Chip, Slice, Target, units};

/// Describes the targets of a compiler.
pub(crate) fn help(targets: &Targets) -> String {
    let mut text = String::from(
        "flat          devices with a ring for every collective, without a topology (the default)\ncpu           \
        devices that share one processor, as JAX splits a host into several\nFILE.toml     a machine that a file \
        describes\n",
    );
    for name in targets.names() {
        let _ = writeln!(text, "{name}");
    }
    text.push_str(
        "\nSlices of TPUs, 'CHIP:AxB' or 'CHIP:AxBxC', and islands of GPUs, 'CHIP:N'; '2xCHIP:AxB' is two of \
        them;\n'CHIP' alone is the cloud's default shape for the mesh's devices\n",
    );
    let heads = ["example", "memory", "bandwidth", "bf16", "to the host", "other names"].map(str::to_owned);
    columns(&mut text, heads);
    targets.chips().for_each(|chip| describe(&mut text, chip));
    text.push_str("\nSlices by the names of the cloud, in its default shapes\n");
    for (chip, name) in ["v5e", "v6e", "v5p", "v4p", "v3", "v2", "v7x"].iter().filter_map(|name| {
        let chip = targets.chips().find(|chip| chip.name == *name)?;
        Some((chip, cloud_name(chip)))
    }) {
        let shapes = default_counts(chip).into_iter().filter_map(|count| {
            let Ok(Target::Slice(Slice { dims, .. })) = targets.parse(&format!("{name}-{count}")) else { return None };
            let dims: Vec<String> = dims[..chip.torus_rank].iter().map(u64::to_string).collect();
            Some(format!("{name}-{count} is {}", dims.join("x")))
        });
        let shapes: Vec<String> = shapes.collect();
        let shown: Vec<&str> = shapes.iter().take(3).map(String::as_str).collect();
        let cores = if counted_per_chip(chip) > 1 { " (the name counts cores, two per chip)" } else { "" };
        let last = shapes.last().filter(|_| shapes.len() > 3).map_or(String::new(), |last| format!(", … {last}"));
        let _ = writeln!(text, "  {}{last}{cores}", shown.join(", "));
    }
    text.push_str("\nMachines of clouds with eight GPUs\n");
    for (name, island) in MACHINES {
        let _ = writeln!(text, "  {name:<18} {island}");
    }
    text
}

/// Returns the cloud's name for slices of a chip, without the size.
fn cloud_name(chip: &Chip) -> &'static str {
    match chip.name {
        "v5e" => "v5litepod",
        "v4p" => "v4",
        "v7x" => "tpu7x",
        name => name,
    }
}

/// Appends a row about a chip.
fn describe(text: &mut String, chip: &Chip) {
    let memory = units::bytes(chip.hbm_bytes as f64);
    let bandwidth = format!("{}/s", units::bytes(chip.hbm_bandwidth));
    let flops = format!("{}/s", units::flops(chip.bf16_flops));
    let shape = match chip.torus_rank {
        1 => chip.pod[0].to_string(),
        2 => "4x4".to_owned(),
        _ => "4x4x4".to_owned(),
    };
    let example = format!("{}:{shape}", chip.name);
    let host = format!("{}/s", units::bytes(chip.host_bandwidth));
    let names = chip.aliases.join(", ");
    columns(text, [example, memory, bandwidth, flops, host, names]);
}

fn columns(text: &mut String, [example, memory, bandwidth, flops, host, names]: [String; 6]) {
    row(text, &format!("  {example:<14} {memory:>10} {bandwidth:>12} {flops:>14} {host:>12}  {names}"));
}
