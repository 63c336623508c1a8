//! User-defined machines in TOML: `--target FILE.toml`. `examples/torus.toml`, `examples/cluster.toml`,
//! `examples/switch.toml` and `examples/measured.toml` document every key.

mod flat;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use passes::estimate::chip::{Fabric, HOST_BANDWIDTH, WrapRule};
use passes::estimate::kernels::table::{Kernel, TABLE};
use passes::estimate::target::MOST_CHIPS;
use passes::estimate::{Chip, KernelCost, Slice, Target};
use serde::Deserialize;
use toml::Spanned;

use crate::compiler::Compiler;
use crate::diagnostic::{Outcome, one};
use crate::source::Source;
use flat::FlatTable;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    flat: Option<Spanned<FlatTable>>,
    slice: Option<Spanned<Vec<u64>>>,
    wraparound: Option<Spanned<Vec<bool>>>,
    slices: Option<Spanned<u64>>,
    chip: Option<Spanned<ChipTable>>,
    links: Option<Spanned<LinkTable>>,
    switch: Option<Spanned<LinkTable>>,
    network: Option<Spanned<LinkTable>>,
    #[serde(default)]
    kernels: Vec<KernelTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelTable {
    name: Spanned<String>,
    flops: Option<Spanned<f64>>,
    bytes: Option<Spanned<f64>>,
    like: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChipTable {
    bf16_flops: Spanned<f64>,
    int8_flops: Option<Spanned<f64>>,
    int4_flops: Option<Spanned<f64>>,
    fp8_flops: Option<Spanned<f64>>,
    hbm_bytes: Spanned<f64>,
    hbm_bandwidth: Spanned<f64>,
    host_bandwidth: Option<Spanned<f64>>,
    matmul_tile: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkTable {
    bandwidth: Spanned<f64>,
    latency: Spanned<f64>,
}

impl Compiler {
    /// The compiler with the target that a TOML file describes, and the target's name.
    ///
    /// ```
    /// use shardc::{CompileOptions, Compiler, Source};
    ///
    /// let file = Source::new("switch.toml", r#"
    ///   name = "switch"
    ///   [flat]
    ///   latency = 5e-6            # seconds before the first byte of a collective
    ///   bandwidth = 50e9          # bytes/s of a ring, per device
    ///   flops = 3e14
    ///   memory_bandwidth = 2e12   # bytes/s
    ///   memory_bytes = 80e9
    /// "#);
    /// let (compiler, name) = Compiler::standard().with_target_file(file).into_result()?;
    /// assert!(compiler.target(&name).is_ok());
    /// let options = CompileOptions { target: Some(name), ..CompileOptions::default() };
    /// # assert_eq!(options.target_name(), "switch");
    /// # Ok::<(), shardc::Diagnostics>(())
    /// ```
    pub fn with_target_file(self, source: Source) -> Outcome<(Compiler, String)> {
        match read(&source.text) {
            Ok((name, target)) => {
                let value = (self.with_target(name.clone(), target), name);
                Outcome::new(&source, Some(value), &Diagnostics::default())
            }
            Err(fault) => Outcome::new(&source, None, &one(fault)),
        }
    }
}

type Fault = Diagnostic;

fn fault<T>(at: &Spanned<T>, message: impl Into<String>, note: impl Into<String>) -> Fault {
    Diagnostic::error(codes::TARGET_FILE, Span::new(at.span().start, at.span().end), message.into()).note(note.into())
}

fn read(text: &str) -> Result<(String, Target), Fault> {
    let file: File = toml::from_str(text).map_err(|e| {
        let span = e.span().map_or(Span::default(), |s| Span::new(s.start, s.end));
        let note = "a target needs a name and either [flat], or slice, [chip] and [links] or [switch]";
        Diagnostic::error(codes::TARGET_FILE, span, e.message().trim_end().to_owned()).note(note)
    })?;
    let name = file.name.get_ref();
    if !is_target_name(name) {
        let note = "a name has at most 40 letters, digits, '-', '_' and '.'; flat and cpu are reserved";
        return Err(fault(&file.name, "this is not a valid name of a target", note));
    }
    let target = match &file.flat {
        Some(flat) => {
            let of_chips = [
                file.slice.as_ref().map(|given| given.span()),
                file.chip.as_ref().map(|given| given.span()),
                file.links.as_ref().map(|given| given.span()),
                file.switch.as_ref().map(|given| given.span()),
            ];
            if of_chips.iter().any(Option::is_some) {
                return Err(fault(flat, "a target is flat or a slice of chips, not both", "remove [flat] or the rest"));
            }
            if let Some(given) = &file.wraparound {
                return Err(fault(given, "a flat machine can't have wraparound links", "remove wraparound"));
            }
            if let Some(given) = &file.slices {
                return Err(fault(
                    given,
                    "a flat machine can't have several slices or a network",
                    "remove slices and [network]",
                ));
            }
            if let Some(given) = &file.network {
                return Err(fault(given, "a flat machine can't have several slices or a network", "remove [network]"));
            }
            flat::target_of(name, flat.get_ref(), kernels_of(&file)?)?
        }
        None => Target::Slice(slice_of(&file)?),
    };
    Ok((name.clone(), target))
}

/// Returns whether a target in a file may have this name.
pub fn is_target_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (1..=40).contains(&name.len()) && name.chars().all(plain) && !["flat", "cpu"].contains(&name)
}

/// Checks a rate or a size, which must be positive.
fn rate(given: &Spanned<f64>) -> Result<f64, Fault> {
    let value = *given.get_ref();
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err(fault(given, "expected a positive number", UNITS)) }
}

/// Checks a time, which must not be negative.
fn seconds(given: &Spanned<f64>) -> Result<f64, Fault> {
    let value = *given.get_ref();
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err(fault(given, "expected seconds, at least 0", UNITS)) }
}

const UNITS: &str = "all figures are in SI units: bytes, bytes/s, FLOP/s, seconds (1e-6 is a microsecond)";

fn bytes(given: &Spanned<f64>) -> Result<u64, Fault> {
    let value = rate(given)?;
    if (1.0..=9e18).contains(&value) {
        Ok(value as u64)
    } else {
        Err(fault(given, "expected a number of bytes", UNITS))
    }
}

/// Returns the costs of kernels that the file states.
fn kernels_of(file: &File) -> Result<&'static [KernelCost], Fault> {
    let mut kernels: Vec<KernelCost> = Vec::new();
    for table in &file.kernels {
        let name = table.name.get_ref();
        if name.trim_end_matches('*').is_empty() || name.len() > 200 {
            let note = "write the name of the kernel, or the target of its calls; * at the end matches any text";
            return Err(fault(&table.name, "expected the name of a kernel", note));
        }
        if kernels.iter().any(|kernel| kernel.name == name) {
            return Err(fault(&table.name, "this kernel has a row already", "remove one of the two"));
        }
        if let Some(like) = &table.like
            && Kernel::named(like.get_ref()).is_none()
        {
            let mut names: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
            names.dedup();
            return Err(fault(like, "this is not a known kernel", format!("one of {}", names.join(", "))));
        }
        if table.flops.is_none() && table.bytes.is_none() && table.like.is_none() {
            let note = "write flops = 1e12 and bytes = 1e9 for one call on one device, or like = \"attention-forward\"";
            return Err(fault(&table.name, "the cost of this kernel is missing", note));
        }
        if let Some(flops) = table.flops.as_ref().filter(|flops| !(0.0..f64::INFINITY).contains(flops.get_ref())) {
            return Err(fault(flops, "expected FLOP, at least 0", UNITS));
        }
        kernels.push(KernelCost {
            name: Chip::interned_name(name),
            flops: table.flops.as_ref().map(|flops| *flops.get_ref()),
            bytes: table.bytes.as_ref().map(rate).transpose()?,
            like: table.like.as_ref().and_then(|like| Kernel::named(like.get_ref())).map(|row| row.name),
        });
    }
    Ok(KernelCost::interned(kernels))
}

/// Returns the kind of fabric and its table: `[links]` or `[switch]`.
fn fabric_of(file: &File) -> Result<(Fabric, &LinkTable), Fault> {
    match (&file.links, &file.switch) {
        (Some(links), None) => Ok((Fabric::Torus, links.get_ref())),
        (None, Some(switch)) => Ok((Fabric::Switch, switch.get_ref())),
        (Some(_), Some(switch)) => {
            let note = "chips have links to their neighbors, or one to a switch: remove one of the two";
            Err(fault(switch, "a slice has both [links] and [switch]", note))
        }
        (None, None) => Err(lacking(file)),
    }
}

/// Returns the error for a slice of chips with a missing table.
fn lacking(file: &File) -> Fault {
    let has = [
        ("slice", file.slice.is_some()),
        ("[chip]", file.chip.is_some()),
        ("[links]", file.links.is_some() || file.switch.is_some()),
    ];
    let lacks: Vec<&str> = has.iter().filter(|h| !h.1).map(|h| h.0).collect();
    let note =
        "a slice of chips has slice = [4, 4], [chip] and [links] (or [switch]); a machine without topology has [flat]";
    fault(&file.name, format!("the target lacks {}", lacks.join(" and ")), note)
}

/// Returns the number of slices and the network between them.
fn slices_of(file: &File, chips: u64) -> Result<(u64, Option<&LinkTable>), Fault> {
    match (&file.slices, &file.network) {
        (None, None) => Ok((1, None)),
        (Some(slices), network) => {
            let count = *slices.get_ref();
            if !(1..=MOST_CHIPS / chips).contains(&count) {
                let note = format!("at least 1, and at most {MOST_CHIPS} chips in all slices");
                return Err(fault(slices, "expected a number of slices", note));
            }
            if count > 1 && network.is_none() {
                let note = "[network] states the bandwidth of one chip to other slices, and the latency";
                return Err(fault(slices, "several slices need [network]", note));
            }
            Ok((count, network.as_ref().map(Spanned::get_ref)))
        }
        (None, Some(network)) => Err(fault(
            network,
            "[network] is given, but there is one slice",
            "slices = 2 states how many slices it connects",
        )),
    }
}

fn slice_of(file: &File) -> Result<Slice, Fault> {
    let (Some(slice), Some(chip)) = (&file.slice, &file.chip) else { return Err(lacking(file)) };
    let (fabric, links) = fabric_of(file)?;
    let (name, chip, wraparound) = (file.name.get_ref(), chip.get_ref(), file.wraparound.as_ref());
    let sizes = slice.get_ref();
    let chips = sizes.iter().try_fold(1u64, |n, &size| n.checked_mul(size)).unwrap_or(u64::MAX);
    if !(1..=3).contains(&sizes.len()) || !(1..=MOST_CHIPS).contains(&chips) {
        let note = format!("write one to three numbers of at least 1, as in [4, 4]; at most {MOST_CHIPS} chips");
        return Err(fault(slice, "expected the shape of a slice", note));
    }
    if fabric == Fabric::Switch && sizes.len() != 1 {
        return Err(fault(slice, "a slice with [switch] has one dimension", "write one number, as in slice = [8]"));
    }
    let (slices, network) = slices_of(file, chips)?;
    let mut dims = [1; 3];
    dims[..sizes.len()].copy_from_slice(sizes);
    let mut wraps = [false; 3];
    if let Some(given) = wraparound {
        if fabric == Fabric::Switch {
            return Err(fault(given, "a machine with [switch] can't have wraparound links", "remove wraparound"));
        }
        if given.get_ref().len() != sizes.len() {
            let note = format!("write true or false for each of the slice's {} dimensions", sizes.len());
            return Err(fault(given, "wraparound and slice have different lengths", note));
        }
        wraps[..sizes.len()].copy_from_slice(given.get_ref());
    }
    let optional = |given: &Option<Spanned<f64>>| given.as_ref().map(rate).transpose();
    let matmul_tile = match &chip.matmul_tile {
        Some(tile) if !(1..=1 << 16).contains(tile.get_ref()) => {
            return Err(fault(tile, "expected the side of a matrix unit, from 1 to 65536", "write 1 for no padding"));
        }
        tile => tile.as_ref().map_or(1, |t| *t.get_ref()),
    };
    let chip = Chip {
        name: Chip::interned_name(name),
        aliases: &[],
        kernels: kernels_of(file)?,
        generation: 0,
        bf16_flops: rate(&chip.bf16_flops)?,
        int8_flops: optional(&chip.int8_flops)?,
        int4_flops: optional(&chip.int4_flops)?,
        fp8_flops: optional(&chip.fp8_flops)?,
        hbm_bytes: bytes(&chip.hbm_bytes)?,
        hbm_bandwidth: rate(&chip.hbm_bandwidth)?,
        host_bandwidth: optional(&chip.host_bandwidth)?.unwrap_or(HOST_BANDWIDTH),
        vmem_bytes: 0,
        mxu_side: matmul_tile,
        fabric,
        link_bandwidth: rate(&links.bandwidth)?,
        hop_latency: seconds(&links.latency)?,
        network_bandwidth: network.map_or(Ok(0.0), |network| rate(&network.bandwidth))?,
        network_latency: network.map_or(Ok(0.0), |network| seconds(&network.latency))?,
        torus_rank: if fabric == Fabric::Switch { 1 } else { sizes.len().max(2) },
        wrap_rule: WrapRule::Stated(wraps),
        pod: dims,
        pod_chips: chips,
        host: [1; 3],
        chiplets: 1,
        chiplet_bandwidth: 0.0,
        reached: None,
    };
    Ok(Slice { chip: chip.interned(), dims, slices })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_files_are_accepted() {
        let torus = read(include_str!("../examples/torus.toml")).unwrap_or_else(|d| panic!("{}", d.message));
        let Target::Slice(slice) = torus.1 else { panic!("{torus:?}") };
        assert_eq!((torus.0.as_str(), slice.dims, slice.wraps()), ("acme", [4, 4, 1], [true, true, false]));
        assert_eq!((slice.chip.hbm_bytes, slice.chip.int8_flops), (96_000_000_000, Some(800e12)));
        assert_eq!(slice.to_string(), "acme:4x4");
        let [paged, flash] = slice.chip.kernels else { panic!("{:?}", slice.chip.kernels) };
        assert_eq!(
            (paged.name, paged.flops, paged.bytes, paged.like),
            ("paged_attention*", Some(2e9), Some(1.5e8), None)
        );
        assert_eq!((flash.flops, flash.like), (None, Some("attention-forward")));
        let cluster = read(include_str!("../examples/cluster.toml")).unwrap_or_else(|d| panic!("{}", d.message));
        let Target::Slice(islands) = cluster.1 else { panic!("{cluster:?}") };
        assert_eq!((islands.slices, islands.dims, islands.to_string().as_str()), (4, [8, 1, 1], "4xcluster:8"));
        assert_eq!((islands.chip.link_bandwidth, islands.chip.network_bandwidth), (450e9, 50e9));
        let switch = read(include_str!("../examples/switch.toml")).unwrap_or_else(|d| panic!("{}", d.message));
        let Target::Flat(flat) = switch.1 else { panic!("{switch:?}") };
        assert_eq!((flat.memory_bytes, flat.latency), (80_000_000_000, 5e-6));
        // The same file gives the same chip, not another copy of it.
        assert_eq!(read(include_str!("../examples/torus.toml")).map(|t| t.1).ok(), Some(torus.1));
    }

    #[test]
    fn errors_name_the_place_and_the_remedy() {
        let torus = include_str!("../examples/torus.toml");
        let check = |from: &str, to: &str, at: &str, says: &str| {
            let text = torus.replacen(from, to, 1);
            assert_ne!(text, torus, "{from}");
            let fault = read(&text).expect_err(to);
            let span = &text[fault.labels[0].0.start as usize..fault.labels[0].0.end as usize];
            assert!(span.contains(at) && fault.message.contains(says), "{to}: '{span}': {}", fault.message);
            assert!(!fault.notes.is_empty(), "{to}");
        };
        check("name = \"acme\"", "name = \"a c\"", "\"a c\"", "not a valid name");
        check("bf16_flops = 400e12", "bf16_flops = -1.0", "-1.0", "positive");
        check("bf16_flops = 400e12", "bf16_flops = nan", "nan", "positive");
        check("bf16_flops = 400e12", "bf16_flops = \"fast\"", "\"fast\"", "invalid type");
        check("bf16_flops = 400e12", "bf16_flop = 400e12", "bf16_flop", "unknown field");
        check("slice = [4, 4]", "slice = [4, 0]", "[4, 0]", "shape of a slice");
        check("slice = [4, 4]", "slice = [4000000, 4000000, 4000000]", "[4000000", "shape of a slice");
        check("slice = [4, 4]", "slice = [4, 4, 4]", "[true, true]", "different lengths");
        check("slice = [4, 4]", "slice = [4, 4", "", "");
        check("slice = [4, 4] ", "", "\"acme\"", "lacks slice");
        check("[links]", "[flat]\nlatency = 1\n[links]", "", "missing field");
        check("slice = [4, 4]", "slices = 2\nslice = [4, 4]", "2", "need [network]");
        check("slice = [4, 4]", "slices = 0\nslice = [4, 4]", "0", "number of slices");
        check("slice = [4, 4]", "slices = 70000\nslice = [4, 4]", "70000", "number of slices");
        check("[links]", "[switch]", "[4, 4]", "one dimension");
        check("[links]", "[network]\nbandwidth = 1.0\nlatency = 0.0\n[links]", "[network]", "one slice");
        check("like = \"attention-forward\"", "like = \"attention\"", "\"attention\"", "not a known kernel");
        check("like = \"attention-forward\"", "", "\"my_flash\"", "cost of this kernel is missing");
        check("name = \"my_flash\"", "name = \"paged_attention*\"", "\"paged_attention*\"", "has a row already");
        check("name = \"my_flash\"", "name = \"*\"", "\"*\"", "the name of a kernel");
        check("flops = 2e9", "flops = -2e9", "-2e9", "at least 0");
        check("bytes = 1.5e8", "bytes = 0.0", "0.0", "positive");
        check("[links]", "[switch]\nbandwidth = 1.0\nlatency = 0.0\n[links]", "[switch]", "both");
    }
}
