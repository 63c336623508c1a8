//! Pieces of MLIR text.

use std::fmt::Display;

pub(super) use crate::sharded::ty as of;

/// `tensor<2x3xi32>`
pub(super) fn ty(shape: &[i64]) -> String {
    of(shape, "i32")
}

/// `a, b, c`
pub(super) fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|i| i.to_string()).collect::<Vec<_>>().join(", ")
}

/// `array<i64: 1, 2>`
pub(super) fn array(items: &[i64]) -> String {
    match items {
        [] => "array<i64>".to_owned(),
        _ => format!("array<i64: {}>", list(items)),
    }
}

/// Returns a region that combines two elements by one op.
pub(super) fn combiner(op: &str) -> String {
    format!(
        "({{\n    ^bb0(%p: tensor<i32>, %q: tensor<i32>):\n      %s = stablehlo.{op} %p, %q : tensor<i32>\n      \
         \"stablehlo.return\"(%s) : (tensor<i32>) -> ()\n    }})"
    )
}

/// Returns the line `%name` of a region, which compares two of its scalars. `kind` applies to floats.
pub(super) fn compared(name: &str, by: &str, [x, y]: [&str; 2], element: &str, kind: &str) -> String {
    let kind = if element.contains('f') { format!(", {kind}") } else { String::new() };
    let types = format!("(tensor<{element}>, tensor<{element}>) -> tensor<i1>");
    format!("      %{name} = stablehlo.compare {by}, %{x}, %{y}{kind} : {types}\n")
}
