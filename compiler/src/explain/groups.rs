//! Groups of equal collectives in equal layers, each explained once.

use std::collections::HashMap;

use dialect::ir::{Op, Program, Value, ValueSource};
use dialect::sharding::TensorSharding;

use super::Explained;
use crate::place::{jax_name, layer_pattern};

/// A group of equal collectives.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    /// The positions in the list of collectives, in program order.
    pub(super) members: Vec<usize>,
    /// Seconds of all members in a step.
    pub(super) seconds: f64,
}

/// The properties that equal collectives share.
#[derive(PartialEq, Eq, Hash)]
struct Look {
    kind: String,
    axes: Vec<String>,
    bytes: (u64, u64),
    count: u64,
    guessed: bool,
    manual: bool,
    from: Option<TensorSharding>,
    to: Option<TensorSharding>,
    step: Option<(TensorSharding, TensorSharding)>,
    value: String,
    user: String,
}

/// Returns the groups of equal collectives, the most expensive first.
pub(super) fn groups(planned: &Program, explained: &[Explained]) -> Vec<Group> {
    let mut known: HashMap<Look, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (i, e) in explained.iter().enumerate() {
        let at = *known.entry(Look::of(planned, e)).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Group { members: Vec::new(), seconds: 0.0 });
        }
        groups[at].members.push(i);
        groups[at].seconds += e.price.seconds;
    }
    groups.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    groups
}

impl Look {
    fn of(planned: &Program, e: &Explained) -> Self {
        let cause = &e.cause;
        let own = if cause.manual { op_look(planned, cause.op) } else { String::new() };
        let user = cause.user.map(|(op, i)| format!("{} {i}", op_look(planned, op))).unwrap_or_default();
        Self {
            kind: cause.kind.clone(),
            axes: e.price.axes.clone(),
            bytes: (e.price.operand_bytes, e.price.result_bytes),
            count: e.price.count,
            guessed: e.price.guessed,
            manual: cause.manual,
            from: cause.from.clone(),
            to: cause.to.clone(),
            step: cause.step.clone(),
            value: value_look(planned, cause.value),
            user: own + &user,
        }
    }
}

/// Returns a value's type with the name of its argument or the look of its producer.
fn value_look(program: &Program, value: Value) -> String {
    let ty = program.type_text(program.value_type(value));
    match program.value_source(value) {
        ValueSource::Arg(..) => format!("{ty} {}", layer_pattern(&jax_name(program, value).unwrap_or_default())),
        ValueSource::Result(op, i) => format!("{ty} {i} {}", op_look(program, op)),
    }
}

/// Returns an op's name with JAX's line and path, where layer numbers are replaced by `#`. Lines of the text itself are
/// left out, because they differ in each layer.
fn op_look(program: &Program, op: Op) -> String {
    let (name, loc) = (program.op_name(op), program.op(op).loc);
    let Some(frame) = program.user_frame(loc) else {
        return format!("{name} {}", layer_pattern(&program.loc_name(loc).unwrap_or_default()));
    };
    if frame.of_text {
        return name.to_owned();
    }
    let path = layer_pattern(&program.loc_name(loc).unwrap_or_default());
    format!("{name} {path} {}:{}:{}", frame.file, frame.line, frame.column)
}
