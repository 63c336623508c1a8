//! Options of passes as data (name, type, default and doc), so that `--help`, the parser of `--passes` and the pass
//! itself read the same rows.

use std::borrow::Cow;
use std::fmt;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::Program;
use dialect::sharding::Mesh;
use dialect::signature::Signature;
use dialect::text::nearest;

use crate::compile_options::{CompileOptions, Field};
use crate::estimate::{Machine, Target};
use crate::registry::Registry;
use crate::statistics::{Statistic, Statistics};

/// One option of a pass.
pub struct OptionDef {
    /// Its name, in kebab-case.
    pub name: &'static str,
    /// The type of its values.
    pub ty: OptionType,
    /// The default value, in text form.
    pub default: &'static str,
    /// One sentence for `--help`.
    pub doc: &'static str,
}

impl OptionDef {
    /// Returns a flag.
    pub const fn flag(name: &'static str, default: bool, doc: &'static str) -> Self {
        Self { name, ty: OptionType::Bool, default: if default { "true" } else { "false" }, doc }
    }

    /// Returns a choice between keywords, of which the first is the default.
    pub const fn choice(name: &'static str, words: &'static [&'static str], doc: &'static str) -> Self {
        Self { name, ty: OptionType::Choice(words), default: words[0], doc }
    }

    /// Returns an option that takes any text, by default none.
    pub const fn text(name: &'static str, doc: &'static str) -> Self {
        Self { name, ty: OptionType::Text, default: "", doc }
    }

    /// Returns an option that is a field of [`CompileOptions`].
    pub const fn field(name: &'static str, field: Field, default: &'static str, doc: &'static str) -> Self {
        Self { name, ty: OptionType::Field(field), default, doc }
    }
}

/// The type of an option's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionType {
    /// `true` or `false`.
    Bool,
    /// An integer.
    Int,
    /// One of these keywords.
    Choice(&'static [&'static str]),
    /// A number of bytes: `1073741824`, `16GiB`, `512MB`; empty for none.
    Bytes,
    /// Any text.
    Text,
    /// The values of a field of [`CompileOptions`], which the pass reads from [`Options::compile`].
    Field(Field),
}

impl fmt::Display for OptionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionType::Bool => f.write_str("true|false"),
            OptionType::Int => f.write_str("integer"),
            OptionType::Choice(words) => f.write_str(&words.join("|")),
            OptionType::Bytes => f.write_str("bytes, e.g. 16GiB"),
            OptionType::Text => f.write_str("text"),
            OptionType::Field(field) => f.write_str(&field.wants()),
        }
    }
}

/// The values of a pass's options, with defaults filled in, and the context it runs in.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// The options of the compilation.
    pub compile: CompileOptions,
    /// The pass's other options.
    values: Vec<(&'static str, String)>,
    registry: Registry,
    statistics: Statistics,
}

/// Two are equal when their values are; registries aren't compared.
impl PartialEq for Options {
    fn eq(&self, other: &Options) -> bool {
        self.values == other.values && self.compile == other.compile
    }
}

impl Eq for Options {}

impl Options {
    /// Creates options with every value at its default.
    pub fn defaults(defs: &'static [OptionDef]) -> Self {
        let mut options = Self::default();
        for def in defs {
            match def.ty {
                OptionType::Field(field) => {
                    field.set(&mut options.compile, def.default);
                }
                _ => options.values.push((def.name, def.default.to_owned())),
            }
        }
        options
    }

    /// Returns the same values with another registry.
    pub fn within(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Returns the registry that made the step, or the standard one.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Records a number as a statistic of the pass.
    pub fn count(&self, statistic: Statistic) {
        self.statistics.add(statistic);
    }

    /// Returns the statistics recorded since the last call.
    pub(crate) fn take_statistics(&self) -> Vec<Statistic> {
        self.statistics.take()
    }

    /// Returns the target that the option `target` names; reports errors in it.
    pub(crate) fn target(&self, diagnostics: &mut Diagnostics) -> Option<Target> {
        let fault = match self.registry.targets().parse(self.compile.target_name()) {
            Ok(target) => return Some(target),
            Err(fault) => fault,
        };
        let message = format!("target: {fault}");
        diagnostics.push(Diagnostic::error(codes::UNKNOWN_TARGET, Span::default(), message));
        None
    }

    /// Returns the machine that the option `target` names, with the mesh of a per-device program, and that mesh;
    /// reports errors.
    pub(crate) fn machine(&self, program: &mut Program, diagnostics: &mut Diagnostics) -> Option<(Machine, Mesh)> {
        let target = self.target(diagnostics)?;
        let mesh = Signature::of(program).and_then(|s| s.mesh).map(|m| m.1).unwrap_or_default();
        match Machine::of_mesh(target, &mesh) {
            Ok(machine) => Some((machine, mesh)),
            Err(error) => {
                let d = Diagnostic::error(codes::TARGET_SIZE, Span::default(), error.message);
                diagnostics.push(d.note("name a slice whose number of chips is a multiple of the mesh's devices"));
                None
            }
        }
    }

    /// Returns the bytes that a device of this machine may hold at once: the option `memory`, else the machine's own
    /// memory. The flat model has no limit of its own.
    pub(crate) fn memory_limit(&self, machine: &Machine) -> Option<u64> {
        let own = || (!matches!(machine.target(), Target::Flat(_))).then(|| machine.memory_bytes());
        self.compile.memory.or_else(own)
    }

    /// Sets one option; the error lists the allowed values.
    pub fn set(&mut self, defs: &'static [OptionDef], name: &str, value: &str) -> Result<(), String> {
        let Some(def) = defs.iter().find(|d| d.name == name) else {
            return Err(match nearest(name, defs.iter().map(|d| d.name)) {
                Some(near) => format!("no option '{name}'; did you mean '{near}'?"),
                None if defs.is_empty() => format!("no option '{name}'; it takes none"),
                None => {
                    let all: Vec<&str> = defs.iter().map(|d| d.name).collect();
                    format!("no option '{name}'; it takes {}", all.join(", "))
                }
            });
        };
        let fits = match def.ty {
            OptionType::Bool => matches!(value, "true" | "false"),
            OptionType::Int => value.parse::<i64>().is_ok(),
            OptionType::Choice(words) => words.contains(&value),
            OptionType::Bytes => value.is_empty() || parse_bytes(value).is_some(),
            OptionType::Text => true,
            OptionType::Field(field) => field.set(&mut self.compile, value).is_some(),
        };
        if !fits {
            return Err(format!("option '{name}' expects {}, not '{value}'", def.ty));
        }
        if let Some(own) = self.values.iter_mut().find(|own| own.0 == name) {
            own.1 = value.to_owned();
        }
        Ok(())
    }

    /// Returns the text of the value of `def`, one of the pass's options.
    pub fn value(&self, def: &OptionDef) -> Cow<'_, str> {
        match def.ty {
            OptionType::Field(field) => field.text(&self.compile),
            _ => self.text(def.name).into(),
        }
    }

    /// Returns the value as text; panics when the pass declares no such option, or when it is a field of
    /// [`Self::compile`].
    pub fn text(&self, name: &str) -> &str {
        match self.values.iter().find(|v| v.0 == name) {
            Some(v) => &v.1,
            None => panic!("the pass declares no option '{name}'"),
        }
    }

    /// Returns the value of an option of type [`OptionType::Bool`].
    pub fn flag(&self, name: &str) -> bool {
        self.text(name) == "true"
    }

    /// Returns the value of an option of type [`OptionType::Int`].
    pub fn int(&self, name: &str) -> i64 {
        self.text(name).parse().unwrap_or_else(|_| panic!("option '{name}' is declared as no integer"))
    }

    /// Returns the value of an option of type [`OptionType::Bytes`]; `None` when empty.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        parse_bytes(self.text(name))
    }
}

/// Parses `16GiB`, `512MB`, `1.5GiB` or `1024`; units are binary or decimal as spelled.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024f64.powi(2),
        "g" | "gib" => 1024f64.powi(3),
        "t" | "tib" => 1024f64.powi(4),
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return None,
    };
    let value = number.parse::<f64>().ok()? * scale;
    (value.is_finite() && value < 1e19).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    static DEFS: &[OptionDef] = &[
        OptionDef::choice("mode", &["full", "greedy"], ""),
        OptionDef { name: "limit", ty: OptionType::Int, default: "3", doc: "" },
    ];

    #[test]
    fn values_are_checked_when_set() {
        let mut options = Options::defaults(DEFS);
        assert_eq!((options.text("mode"), options.int("limit")), ("full", 3));
        options.set(DEFS, "limit", "-7").unwrap();
        assert_eq!(options.int("limit"), -7);
        assert_eq!(options.set(DEFS, "limit", "x"), Err("option 'limit' expects integer, not 'x'".into()));
        assert_eq!(options.set(DEFS, "mode", "fast"), Err("option 'mode' expects full|greedy, not 'fast'".into()));
        assert_eq!(options.set(DEFS, "limt", "1"), Err("no option 'limt'; did you mean 'limit'?".into()));
        assert_eq!(options.set(DEFS, "zzz", "1"), Err("no option 'zzz'; it takes mode, limit".into()));
    }

    #[test]
    fn bytes_know_their_units() {
        assert_eq!(parse_bytes("8GiB"), Some(8 << 30));
        assert_eq!(parse_bytes("1.5k"), Some(1536));
        assert_eq!(parse_bytes("2MB"), Some(2_000_000));
        assert_eq!(parse_bytes("12"), Some(12));
        for wrong in ["", "GiB", "1.2.3", "5 parsecs", "99999999999TiB"] {
            assert_eq!(parse_bytes(wrong), None, "{wrong}");
        }
    }
}
