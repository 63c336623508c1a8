//! The attributes that ops have as properties, from the table `properties.txt`.
//!
//! For the ops of StableHLO's portable form, in all its versions, also the conversion of these attributes to today's.
//! An attribute that an older version of an op lacks is equivalent to its default.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::text::words::{CHANNEL_HANDLE, CONVOLUTION, DOT, DOT_ALGORITHM, GATHER, SCATTER};

/// An attribute of an op.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Property {
    pub(super) name: &'static str,
    /// Whether it may be missing.
    pub(super) optional: bool,
    pub(super) conversion: Conversion,
    /// The value that is equivalent to its absence, if any.
    pub(super) default: Option<DefaultValue>,
    /// The first version of the op that has it.
    pub(super) since: u32,
    /// The last version of the op that has it.
    pub(super) until: u32,
}

/// The conversion of an attribute to today's form.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Conversion {
    Same,
    /// A literal of integers becomes a list of them.
    Integers,
    /// A literal of booleans becomes a list of them.
    Truths,
    /// A string becomes a symbol.
    Symbol,
    /// Strings become symbols.
    Symbols,
    /// `true` becomes a unit attribute.
    Flag,
    /// A number becomes the handle of a channel.
    Channel,
    /// One part of another attribute.
    Part(&'static SplitAttribute),
    /// The sizes of this many segments of operands, which newer files encode in a special way.
    Segments(usize),
}

/// An attribute whose parts are stored separately.
#[derive(PartialEq, Debug)]
pub(super) struct SplitAttribute {
    pub(super) name: &'static str,
    /// `#stablehlo.gather`
    pub(super) open: &'static str,
    /// The text before the first key.
    pub(super) before: &'static str,
    /// The names of its parts.
    pub(super) parts: &'static [&'static str],
    /// The names of its keys, if they differ.
    pub(super) keys: &'static [&'static str],
}

/// The value of an attribute that is equivalent to its absence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum DefaultValue {
    Int(i64),
    False,
    /// No elements, entries or characters.
    Empty,
    /// A literal of only this number.
    All(i64),
    /// A literal of only `false`.
    AllFalse,
    /// An enum's keyword.
    Word(&'static str),
    /// A list of only this keyword.
    Words(&'static str),
    Accuracy,
}

/// The attributes with separate parts, by their names in the table.
static SPLIT: [(&str, SplitAttribute); 6] = [
    ("gather", SplitAttribute::new("dimension_numbers", "#stablehlo.gather", GATHER)),
    ("scatter", SplitAttribute::new("scatter_dimension_numbers", "#stablehlo.scatter", SCATTER)),
    ("dot", SplitAttribute::new("dot_dimension_numbers", "#stablehlo.dot", DOT)),
    ("algorithm", SplitAttribute::new("algorithm", "#stablehlo.dot_algorithm", DOT_ALGORITHM)),
    (
        "conv",
        SplitAttribute { before: "raw ", ..SplitAttribute::new("dimension_numbers", "#stablehlo.conv", CONVOLUTION) },
    ),
    (
        "handle",
        SplitAttribute {
            keys: CHANNEL_HANDLE,
            ..SplitAttribute::new("channel_handle", "#stablehlo.channel_handle", &["channel_id", "channel_type"])
        },
    ),
];

impl SplitAttribute {
    const fn new(name: &'static str, open: &'static str, parts: &'static [&'static str]) -> Self {
        Self { name, open, before: "", parts, keys: parts }
    }
}

impl Property {
    /// Parses `name[:conversion][=default][@versions][?]`; `None` if the syntax or a keyword is wrong.
    fn parse(text: &'static str) -> Option<Self> {
        let (text, optional) = text.strip_suffix('?').map_or((text, false), |text| (text, true));
        let (text, versions) = text.split_once('@').unwrap_or((text, "1"));
        let (text, default) = text.split_once('=').map_or((text, None), |(text, value)| (text, Some(value)));
        let (name, conversion) = text.split_once(':').unwrap_or((text, "same"));
        let (since, until) = match versions.strip_prefix('-') {
            Some(last) => (1, last.parse().ok()?),
            None => (versions.parse().ok()?, u32::MAX),
        };
        let conversion = match conversion {
            "same" => Conversion::Same,
            "ints" => Conversion::Integers,
            "truths" => Conversion::Truths,
            "symbol" => Conversion::Symbol,
            "symbols" => Conversion::Symbols,
            "flag" => Conversion::Flag,
            "channel" => Conversion::Channel,
            other => match argument(other, "segments") {
                Some(count) => Conversion::Segments(count.parse().ok()?),
                None => Conversion::Part(&SPLIT.iter().find(|split| split.0 == other)?.1),
            },
        };
        let default = match default {
            None if conversion == Conversion::Flag => Some(DefaultValue::False),
            Some(text) => Some(DefaultValue::parse(text)?),
            None => None,
        };
        Some(Self { name, optional, conversion, default, since, until })
    }
}

impl DefaultValue {
    fn parse(text: &'static str) -> Option<Self> {
        Some(match text {
            "false" => Self::False,
            "empty" => Self::Empty,
            "accuracy" => Self::Accuracy,
            "all(false)" => Self::AllFalse,
            _ => match (argument(text, "all"), argument(text, "words"), text.parse()) {
                (Some(number), ..) => Self::All(number.parse().ok()?),
                (_, Some(word), _) => Self::Words(word),
                (.., Ok(number)) => Self::Int(number),
                _ => Self::Word(text),
            },
        })
    }
}

/// Returns the text in the parentheses of `function(…)`.
fn argument(text: &'static str, function: &str) -> Option<&'static str> {
    text.strip_prefix(function)?.strip_prefix('(')?.strip_suffix(')')
}

/// The properties of each op.
type Table = FxHashMap<&'static str, Vec<Property>>;

/// The sections of the file: ops of the portable form with two versions, those with one version, ops of today. Ops that
/// aren't listed have no attributes.
static TABLES: LazyLock<[Table; 3]> = LazyLock::new(|| {
    let mut sections = include_str!("properties.txt").split("\n[").skip(1);
    std::array::from_fn(|_| table(sections.next().expect("the file has three sections")))
});

/// Parses the rows of a section; panics if one is wrong, because that is a bug of the file.
fn table(section: &'static str) -> Table {
    let (mut table, mut ops, mut is_head) = (Table::default(), Vec::new(), true);
    for line in section.lines().skip(1) {
        if !line.starts_with(' ') {
            ops.clear();
            is_head = true;
        }
        for word in line.split_whitespace() {
            if is_head {
                is_head = !word.ends_with(':');
                ops.push(word.trim_end_matches(':'));
                continue;
            }
            let property = Property::parse(word).unwrap_or_else(|| panic!("{word} is not a property"));
            ops.iter().for_each(|op| table.entry(op).or_default().push(property.clone()));
        }
    }
    table
}

/// Returns the attributes of the op called `name`.
pub(super) fn of(name: &str) -> Option<&'static [Property]> {
    TABLES[2].get(name).map(Vec::as_slice)
}

/// Returns whether attribute `name` of op `op` is one of its properties, which generic text has in `<{…}>`: MLIR drops
/// unknown attributes there, and all other attributes come after the regions.
pub(crate) fn is_property(op: &str, name: &str) -> bool {
    of(op).is_some_and(|properties| properties.iter().any(|p| p.name == name))
}

/// Returns the attributes of an op of StableHLO's portable form, named without its version, and the newest version.
pub(super) fn portable(name: &str) -> (&'static [Property], u32) {
    match (TABLES[0].get(name), TABLES[1].get(name)) {
        (Some(properties), _) => (properties, 2),
        (_, Some(properties)) => (properties, 1),
        _ => (&[], 1),
    }
}
