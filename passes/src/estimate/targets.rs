//! The named targets: the flat model, slices of the built-in chips, and what an embedder adds.

use super::chip::{CHIPS, Chip};
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

    /// Reads an added target's name, `flat`, `cpu`, or `CHIP:AxB` / `CHIP:AxBxC`, several of them as `NxCHIP:AxB`.
    ///
    /// # Errors
    /// An unknown name, a missing or malformed slice, a wrong number of dimensions, or more chips than a pod has.
    pub fn parse(&self, text: &str) -> Result<Target, TargetError> {
        if let Some((_, target)) = self.named.iter().find(|t| t.0 == text) {
            return Ok(*target);
        }
        match text {
            "flat" => return Ok(Target::Flat(Flat::default())),
            "cpu" => return Ok(Target::Flat(Flat::CPU)),
            _ => {}
        }
        let (name, shape) = match text.split_once(':') {
            Some((name, shape)) => (name, Some(shape)),
            None => (text, None),
        };
        let Some((slices, chip)) = self.chips_of(name) else {
            return Err(TargetError {
                message: format!("unknown target `{}`", shortened(text)),
                help: self.accepted(),
            });
        };
        match shape {
            Some(shape) => Slice::parse(chip, shape, slices).map(Target::Slice),
            None => Err(TargetError {
                message: format!("target `{name}` names a chip but no slice"),
                help: format!("write its shape, as in `{name}:{}`", chip.example_shape()),
            }),
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

    fn accepted(&self) -> String {
        let own: String = self.names().map(|name| format!("`{name}`, ")).collect();
        let chips: Vec<&str> = self.chips.iter().map(|chip| chip.name).collect();
        let slices = "or a chip and its slice as in `v5e:4x4` or `h100:8`, several as in `2xv5e:16x16`";
        format!("{own}`flat`, `cpu`, {slices}; chips: {}", chips.join(", "))
    }
}

impl Default for Targets {
    fn default() -> Targets {
        Targets::standard()
    }
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
            fault.starts_with("unknown target `slow` (`fast`, `flat`, `cpu`, or") && fault.ends_with(", acme1)"),
            "{fault}"
        );
        let slower = targets.with_target("fast", Target::default());
        assert_eq!((slower.parse("fast"), slower.names().count()), (Ok(Target::default()), 1));
    }
}
