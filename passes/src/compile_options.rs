//! The options of a compilation, which several passes read: a typed struct, and the text of each field in `--passes`.

use std::borrow::Cow;

use crate::options::{OptionDef, OptionType, parse_bytes};
use crate::plan::Search;

/// The options of a compilation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CompileOptions {
    /// Whether communication is chosen for the whole program or for each op alone.
    pub search: Search,
    /// The name of the target to plan for; without one, the flat model.
    pub target: Option<String>,
    /// A limit on the bytes of memory used on each device.
    pub memory: Option<u64>,
    /// The report about values that are gathered because an op can't be computed in shards.
    pub replicate: Replicate,
    /// The severity of a modelled peak above `memory`, or above the target's memory.
    pub over_memory: OverMemory,
    /// The number of microbatches into which the batch of a program over several meshes is cut; `None` doesn't cut it.
    pub microbatches: Option<Microbatches>,
    /// The order of microbatches in a pipeline; `None` chooses the fastest order in the model that fits into memory.
    pub schedule: Option<Schedule>,
    /// The JAX names whose ops form stages of a pipeline, separated by commas; `layer*` matches all names that begin
    /// with `layer`.
    pub stages: Option<String>,
    /// The mesh of each stage, as `name@mesh` separated by commas; `None` balances the stages by cost.
    pub assign: Option<String>,
    /// The number of iterations of each loop whose condition doesn't determine it; `None` lets the machine model guess
    /// 8.
    pub trip_count: Option<u32>,
}

impl CompileOptions {
    /// Returns the target's name; `flat` if none is given.
    pub fn target_name(&self) -> &str {
        self.target.as_deref().unwrap_or("flat")
    }

    /// Returns these options, with what a pipeline's own text states where they leave a choice.
    pub(crate) fn over(&self, text: &Self) -> Self {
        let or = |ours: &Option<String>, theirs: &Option<String>| ours.clone().or_else(|| theirs.clone());
        Self {
            search: self.search,
            target: Some(self.target_name().to_owned()),
            memory: self.memory.or(text.memory),
            replicate: self.replicate,
            over_memory: self.over_memory,
            microbatches: self.microbatches.or(text.microbatches),
            schedule: self.schedule.or(text.schedule),
            stages: or(&self.stages, &text.stages),
            assign: or(&self.assign, &text.assign),
            trip_count: self.trip_count.or(text.trip_count),
        }
    }
}

/// The order in which microbatches go through a pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Schedule {
    /// The order of the program.
    Program,
    /// All forward, then all backward. Source: Huang et al., GPipe.
    Gpipe,
    /// One forward and one backward in turn, so that few microbatches are live at once: a mesh has at most as many in
    /// flight as there are stages from it to the end. Source: Narayanan et al., PipeDream.
    OneForwardOneBackward,
    /// Like `OneForwardOneBackward`, with several stages on each mesh in turn. Source: Narayanan et al., Megatron-LM.
    Interleaved,
}

/// A number of microbatches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Microbatches {
    /// This number.
    Count(u32),
    /// The number that the pipeline model finds fastest, within the memory limit if there is one.
    Auto,
}

/// The report about values that are gathered only because an op can't be computed in shards of a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Replicate {
    /// No report.
    Allow,
    /// A warning where a device receives 64 MiB or more.
    #[default]
    Large,
    /// A warning for each value.
    Warn,
    /// An error for each value.
    Deny,
}

/// The report about a program whose modelled peak memory is above the limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum OverMemory {
    /// No report.
    Allow,
    /// A warning.
    #[default]
    Warn,
    /// An error.
    Deny,
}

/// A value that a keyword names in the text of an option.
pub(crate) trait Keyword: Copy + PartialEq + 'static {
    /// The values with their keywords, in the order of `--help`.
    const WORDS: &'static [(&'static str, Self)];

    /// Returns the value that `word` names.
    fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|w| w.0 == word).map(|w| w.1)
    }

    /// Returns its keyword.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|w| w.1 == self).map_or("", |w| w.0)
    }

    /// Returns all keywords.
    fn all() -> Cow<'static, str> {
        Self::WORDS.iter().map(|w| w.0).collect::<Vec<_>>().join("|").into()
    }
}

impl Keyword for Search {
    const WORDS: &'static [(&'static str, Self)] = &[("full", Self::Full), ("greedy", Self::Greedy)];
}

impl Keyword for Replicate {
    const WORDS: &'static [(&'static str, Self)] =
        &[("large", Self::Large), ("warn", Self::Warn), ("deny", Self::Deny), ("allow", Self::Allow)];
}

impl Keyword for OverMemory {
    const WORDS: &'static [(&'static str, Self)] =
        &[("warn", Self::Warn), ("deny", Self::Deny), ("allow", Self::Allow)];
}

impl Keyword for Option<Schedule> {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("program", Some(Schedule::Program)),
        ("gpipe", Some(Schedule::Gpipe)),
        ("1f1b", Some(Schedule::OneForwardOneBackward)),
        ("interleaved", Some(Schedule::Interleaved)),
        ("auto", None),
    ];
}

/// A field of [`CompileOptions`] that passes take as an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is named like its field")]
pub enum Field {
    Search,
    Target,
    Memory,
    Replicate,
    OverMemory,
    Microbatches,
    Schedule,
    Stages,
    Assign,
    TripCount,
}

impl Field {
    /// Sets the field to the value that `text` states; returns `None` if it states none.
    pub(crate) fn set(self, options: &mut CompileOptions, text: &str) -> Option<()> {
        match self {
            Field::Search => options.search = Keyword::of(text)?,
            Field::Target => options.target = Some(text.to_owned()),
            Field::Memory if text.is_empty() => options.memory = None,
            Field::Memory => options.memory = Some(parse_bytes(text)?),
            Field::Replicate => options.replicate = Keyword::of(text)?,
            Field::OverMemory => options.over_memory = Keyword::of(text)?,
            Field::Microbatches => {
                options.microbatches = match text {
                    "1" => None,
                    "auto" => Some(Microbatches::Auto),
                    count => Some(Microbatches::Count(count.parse().ok().filter(|&n| n > 0)?)),
                }
            }
            Field::Schedule => options.schedule = Keyword::of(text)?,
            Field::Stages => options.stages = Some(text.to_owned()),
            Field::Assign => options.assign = Some(text.to_owned()),
            Field::TripCount => {
                let count: i64 = text.parse().ok()?;
                options.trip_count = if count < 0 { None } else { Some(count.try_into().ok()?) };
            }
        }
        Some(())
    }

    /// Returns the text of the field's value.
    pub(crate) fn text(self, options: &CompileOptions) -> Cow<'_, str> {
        let number = |value: Option<u64>, none: &'static str| value.map_or(none.into(), |n| n.to_string().into());
        match self {
            Field::Search => options.search.word().into(),
            Field::Target => options.target_name().into(),
            Field::Memory => number(options.memory, ""),
            Field::Replicate => options.replicate.word().into(),
            Field::OverMemory => options.over_memory.word().into(),
            Field::Microbatches => match options.microbatches {
                None => "1".into(),
                Some(Microbatches::Auto) => "auto".into(),
                Some(Microbatches::Count(count)) => count.to_string().into(),
            },
            Field::Schedule => options.schedule.word().into(),
            Field::Stages => options.stages.as_deref().unwrap_or_default().into(),
            Field::Assign => options.assign.as_deref().unwrap_or_default().into(),
            Field::TripCount => number(options.trip_count.map(u64::from), "-1"),
        }
    }

    /// Returns the values that the field takes, for messages and `--help`.
    pub(crate) fn wants(self) -> Cow<'static, str> {
        match self {
            Field::Search => Search::all(),
            Field::Replicate => Replicate::all(),
            Field::OverMemory => OverMemory::all(),
            Field::Schedule => Option::<Schedule>::all(),
            Field::Memory => OptionType::Bytes.to_string().into(),
            Field::TripCount => OptionType::Int.to_string().into(),
            Field::Microbatches => "N|auto".into(),
            Field::Target | Field::Stages | Field::Assign => OptionType::Text.to_string().into(),
        }
    }
}

/// The option `target`; passes add what it means to them.
pub const TARGET: OptionDef = OptionDef::field("target", Field::Target, "flat", "");
/// The option `memory`.
pub const MEMORY: OptionDef =
    OptionDef::field("memory", Field::Memory, "", "The maximum memory of a device; the target's memory by default.");
