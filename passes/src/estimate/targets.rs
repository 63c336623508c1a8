//! The named targets: the flat model, slices of the built-in chips, and what an embedder adds.

use dialect::text::nearest;

use super::chip::{CHIPS, Chip};
use super::clouds::{MACHINES, counted_per_chip, default_counts, default_shape};
use super::gpus::GPUS;
use super::target::{Flat, Slice, Target, TargetError};

/// Targets and chips by name. A name added by an embedder takes precedence over `flat`, `cpu` and slices of chips.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets {
    chips: Vec<&'static Chip>,
    named: Vec<(String, Target)>,
}

impl Targets {
    /// `flat`, `cpu`, and slices of every chip in [`CHIPS`] and [`GPUS`].
    pub fn standard() -> Targets {
        Targets { chips: CHIPS.iter().chain(&GPUS).collect(), named: Vec::new() }
    }

    /// Adds chips, whose slices are then named as `name:4x4`; a later chip replaces one of the same name.
    pub fn with_chips(mut self, chips: &[&'static Chip]) -> Targets {
        for &chip in chips {
            match self.chips.iter_mut().find(|c| c.name == chip.name) {
                Some(old) => *old = chip,
                None => self.chips.push(chip),
            }
        }
        self
    }

    /// Adds one target under a name of its own; a later one replaces one of the same name.
    pub fn with_target(mut self, name: impl Into<String>, target: Target) -> Targets {
        let name = name.into();
        self.named.retain(|t| t.0 != name);
        self.named.push((name, target));
        self
    }

    /// The names that an embedder added, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|t| t.0.as_str())
    }

    /// The chips, in the order in which messages list them.
    pub fn chips(&self) -> impl Iterator<Item = &'static Chip> + '_ {
        self.chips.iter().copied()
    }

    /// Reads an added target's name, `flat`, `cpu`, `CHIP`, `CHIP:AxB` / `CHIP:AxBxC`, several of them as `NxCHIP:AxB`,
    /// or the name of a cloud: `v5litepod-8`, `a3-highgpu-8g`.
    ///
    /// # Errors
    /// An unknown name, a malformed slice, a wrong number of dimensions, or more chips than a pod has.
    pub fn parse(&self, text: &str) -> Result<Target, TargetError> {
        if let Some((_, target)) = self.named.iter().find(|t| t.0 == text) {
            return Ok(*target);
        }
        match text {
            "flat" => return Ok(Target::Flat(Flat::default())),
            "cpu" => return Ok(Target::Flat(Flat::CPU)),
            _ => {}
        }
        if let Some((_, island)) = MACHINES.iter().find(|machine| machine.0.eq_ignore_ascii_case(text)) {
            return self.parse(island);
        }
        let (name, shape) = match text.split_once(':') {
            Some((name, shape)) => (name, Some(shape)),
            None => (text, None),
        };
        let Some((slices, chip)) = self.chips_of(name) else {
            if let Some(slice) = self.by_count(text) {
                return slice;
            }
            return Err(TargetError {
                message: format!("unknown target `{}`", shortened(text)),
                help: self.near(name) + &self.accepted(),
            });
        };
        match shape {
            Some(shape) => Slice::parse(chip, shape, slices).map(Target::Slice),
            None => Ok(Target::Chip(chip, slices)),
        }
    }

    /// The number of slices and the chip that `CHIP` or `NxCHIP` names.
    fn chips_of(&self, name: &str) -> Option<(u64, &'static Chip)> {
        let named = |name: &str| self.chips.iter().copied().find(|c| c.is_called(name));
        named(name).map(|chip| (1, chip)).or_else(|| {
            let (slices, name) = after_number(name)?;
            Some((slices, named(name)?))
        })
    }

    /// What `CHIP-COUNT` or `NxCHIP-COUNT` names; `None` if there is no such chip.
    fn by_count(&self, text: &str) -> Option<Result<Target, TargetError>> {
        let (name, count) = text.rsplit_once('-')?;
        let (slices, chip) = self.chips_of(name)?;
        // Plain digits only: `parse` alone would accept a sign.
        let number = Some(count).filter(|count| count.bytes().all(|byte| byte.is_ascii_digit()));
        let shape = number.and_then(|count| count.parse().ok()).and_then(|count| default_shape(chip, count));
        Some(match shape {
            Some(shape) => Slice::parse(chip, &shape, slices).map(Target::Slice),
            None => {
                let counts: Vec<String> = default_counts(chip).iter().map(u64::to_string).collect();
                let cores = if counted_per_chip(chip) > 1 { ", two of which are a chip" } else { "" };
                Err(TargetError {
                    message: format!("`{}` is not the number of a {} slice", shortened(count), chip.name),
                    help: format!("one of {}{cores}; or write its shape, as in `{}`", counts.join(", "), example(chip)),
                })
            }
        })
    }

    /// `did you mean …?` for a name that is almost one that there is.
    fn near(&self, name: &str) -> String {
        let chips = self.chips.iter().flat_map(|chip| std::iter::once(&chip.name).chain(chip.aliases)).copied();
        let names = self.names().chain(["flat", "cpu"]).chain(chips).chain(MACHINES.iter().map(|m| m.0));
        let name = after_number(name).map_or(name, |(_, name)| name).to_ascii_lowercase();
        let count = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let name = name.rsplit_once('-').filter(|(_, end)| count(end)).map_or(&name[..], |(name, _)| name);
        // Of two letters every chip's name is near.
        let found =
            Some(name).filter(|name| name.len() > 2).and_then(|name| nearest(name, names)).map(|near| {
                match self.chips.iter().find(|chip| chip.is_called(near)) {
                    Some(chip) => example(chip),
                    None => near.to_owned(),
                }
            });
        found.map_or_else(String::new, |near| format!("did you mean `{near}`? Targets are "))
    }

    fn accepted(&self) -> String {
        let own: String = self.names().map(|name| format!("`{name}`, ")).collect();
        let chips: Vec<&str> = self.chips.iter().map(|chip| chip.name).collect();
        let slices = "or a chip and its slice as in `v5e:4x4` or `h100:8`, several as in `2xv5e:16x16`";
        let chips = chips.join(", ");
        format!("{own}`flat`, `cpu`, {slices}; chips: {chips}; 'shardc help targets' describes them")
    }
}

impl Default for Targets {
    fn default() -> Targets {
        Targets::standard()
    }
}

/// A slice of a chip, for messages: `v5e:4x4`.
fn example(chip: &Chip) -> String {
    format!("{}:{}", chip.name, chip.example_shape())
}

/// The number and the rest of `NxREST`.
fn after_number(text: &str) -> Option<(u64, &str)> {
    let (number, rest) = text.split_once('x')?;
    // Plain digits only: `parse` alone would accept a sign.
    let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| number.parse().ok()).flatten().map(|number| (number, rest))
}

/// Keeps a message readable whatever was typed.
pub(super) fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    if text.chars().count() <= LONGEST {
        return text.to_string();
    }
    text.chars().take(LONGEST).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_clouds_and_devices_are_targets() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Targets::standard().parse(text).map(|t| t.to_string()), Ok(expected.to_owned()), "{text}");
        };
        check("v5litepod-8", "v5e:2x4");
        check("v5e-8", "v5e:2x4");
        check("4xv5litepod-256", "4xv5e:16x16");
        check("v4-16", "v4p:2x2x2");
        check("v6e-8", "v6e:2x4");
        check("tpu7x-8", "v7x:2x2x1");
        check("TPU v5 lite:2x4", "v5e:2x4");
        check("TPU v5p:2x2x1", "v5p:2x2x1");
        check("TPU v5-8", "v5p:2x2x1");
        check("TPU v6 lite-4", "v6e:2x2");
        check("a100:8", "a100:8");
        check("A100-40GB:4", "a100-40gb:4");
        check("NVIDIA A100-SXM4-40GB:8", "a100-40gb:8");
        check("NVIDIA H100 80GB HBM3:8", "h100:8");
        check("h200:8", "h200:8");
        check("AMD Instinct MI300X:8", "mi300x:8");
        check("2xmi300x:8", "2xmi300x:8");
        check("a3-highgpu-8g", "h100:8");
        check("p4d.24xlarge", "a100-40gb:8");
        let fault = |text: &str| Targets::standard().parse(text).unwrap_err().to_string();
        assert_eq!(
            fault("v4-12"),
            "`12` is not the number of a v4p slice (one of 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, two of which \
             are a chip; or write its shape, as in `v4p:4x4x4`)"
        );
        assert!(fault("v5e--8").starts_with("unknown target"), "{}", fault("v5e--8"));
        assert!(fault("v5litpod-8").contains("did you mean `v5e:4x4`?"), "{}", fault("v5litpod-8"));
        assert!(fault("h1000:8").contains("did you mean `h100:8`?"), "{}", fault("h1000:8"));
        check("TPU v5 lite", "v5e");
        check("2xA100", "2xa100");
    }

    #[test]
    fn an_embedder_names_targets_and_chips() {
        static CHIP: Chip = Chip { name: "acme1", aliases: &["acme"], pod: [8, 8, 1], pod_chips: 64, ..CHIPS[4] };
        let fast = Target::Flat(Flat { bandwidth: 1e12, ..Flat::default() });
        let targets = Targets::standard().with_chips(&[&CHIP]).with_target("fast", fast);
        assert_eq!(targets.parse("fast"), Ok(fast));
        assert_eq!(targets.parse("flat"), Ok(Target::default()));
        assert_eq!(targets.parse("cpu").map(|t| t.to_string()), Ok("cpu".to_owned()));
        assert_eq!(targets.parse("acme:4x2").map(|t| t.to_string()), Ok("acme1:4x2".to_owned()));
        assert_eq!(targets.parse("v5e:4x2"), Target::parse("v5e:4x2"));
        let fault = targets.parse("acme:16x16").unwrap_err().to_string();
        assert!(fault.ends_with("as in `acme1:4x4`; at most 8x8; several slices are `2xacme1:4x4`)"), "{fault}");
        let fault = targets.parse("slow").unwrap_err().to_string();
        assert!(
            fault.starts_with("unknown target `slow` (`fast`, `flat`, `cpu`, or")
                && fault.ends_with(", acme1; 'shardc help targets' describes them)"),
            "{fault}"
        );
        let slower = targets.with_target("fast", Target::default());
        assert_eq!((slower.parse("fast"), slower.names().count()), (Ok(Target::default()), 1));
    }
}
