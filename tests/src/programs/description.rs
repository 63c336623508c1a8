//! What the programs are made of: `tests/random_programs.json`, which the generator of JAX programs reads, too.

use std::sync::LazyLock;

use serde::Deserialize;

/// The description. Its own first lines explain it.
pub(super) static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| {
    let text = include_str!("../../random_programs.json");
    serde_json::from_str(text).unwrap_or_else(|error| panic!("random_programs.json: {error}"))
});

#[derive(Deserialize)]
pub(super) struct Description {
    pub(super) element_types: Vec<Element>,
    pub(super) meshes: Vec<Mesh>,
    kinds: Vec<Kind>,
    ops: Vec<Row>,
}

/// An element type, by its name in MLIR.
#[derive(Deserialize)]
pub(super) struct Element {
    pub(super) mlir: String,
    pub(super) class: char,
}

#[derive(Deserialize)]
pub(super) struct Mesh {
    pub(super) axes: Vec<i64>,
    pub(super) order: Option<Vec<i64>>,
}

#[derive(Deserialize)]
struct Kind {
    kind: String,
    /// The weight of a step that writes any row of this kind.
    rust: Option<usize>,
}

/// An op, or a step that writes it.
#[derive(Deserialize)]
pub(super) struct Row {
    pub(super) kind: String,
    stablehlo: Option<String>,
    classes: Option<String>,
    #[serde(default)]
    signed: bool,
    weight: Option<usize>,
    pub(super) identity: Option<i64>,
}

impl Row {
    /// Returns the name of the op, or of the step.
    pub(super) fn name(&self) -> &str {
        self.stablehlo.as_deref().unwrap_or_default()
    }

    fn takes(&self, element: &Element) -> bool {
        let of_class = self.classes.as_ref().is_none_or(|classes| classes.contains(element.class));
        of_class && !(self.signed && element.mlir.starts_with("ui"))
    }
}

impl Description {
    /// Returns the rows that StableHLO has as one op or step.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.ops.iter().filter(|row| row.stablehlo.is_some())
    }

    /// Returns the rows of a kind for an element type, each as often as its weight says.
    pub(super) fn of_kind(&self, kind: &str, element: &Element) -> Vec<&Row> {
        let rows = self.rows().filter(|row| row.kind == kind && row.takes(element));
        rows.flat_map(|row| std::iter::repeat_n(row, row.weight.unwrap_or(1))).collect()
    }

    /// Returns the element type `i32`, which most values have.
    pub(super) fn usual(&self) -> &Element {
        self.element_types.iter().find(|element| element.mlir == "i32").expect("i32 is described")
    }

    /// Returns whether one step writes all rows of this kind.
    pub(super) fn is_written_by_kind(&self, kind: &str) -> bool {
        self.kinds.iter().any(|k| k.kind == kind && k.rust.is_some())
    }

    /// Returns the names of all steps, with their weights.
    pub(super) fn steps(&self) -> Vec<(&str, usize)> {
        let kinds = self.kinds.iter().filter_map(|kind| Some((&*kind.kind, kind.rust?)));
        let own = self.rows().filter(|row| !self.is_written_by_kind(&row.kind));
        kinds.chain(own.map(|row| (row.name(), row.weight.unwrap_or(1)))).collect()
    }
}
