//! A profile of XLA as a Chrome trace: events with the text of their op, such as
//! `%dot.1 = f32[8,4] dot(f32[8,16] %a, f32[16,4] %b), lhs_contracting_dims={1}`.

use std::collections::BTreeMap;

use dialect::diagnostic::Diagnostic;
use passes::estimate::{CollectiveKind, Precision};
use serde_json::{Map, Value};

use super::super::fit::Point;
use super::super::{CLASSES, Class, Quantity, Series};
use super::{Found, fault};

/// XLA's names of collectives.
const COLLECTIVES: [(&str, CollectiveKind); 5] = [
    ("all-gather", CollectiveKind::AllGather),
    ("all-reduce", CollectiveKind::AllReduce),
    ("reduce-scatter", CollectiveKind::ReduceScatter),
    ("all-to-all", CollectiveKind::AllToAll),
    ("collective-permute", CollectiveKind::CollectivePermute),
];

pub(super) fn read(text: &str) -> Result<Vec<Series>, Diagnostic> {
    let document: Value = serde_json::from_str(text).map_err(|e| {
        let line_start = text.split_inclusive('\n').take(e.line().saturating_sub(1)).map(str::len).sum::<usize>();
        let at = (line_start + e.column().saturating_sub(1)).min(text.len());
        fault(
            at..at,
            format!("the profile is not valid JSON: {e}"),
            "expected a Chrome trace, as jax.profiler.trace writes it",
        )
    })?;
    let events = document.get("traceEvents").or(Some(&document)).and_then(Value::as_array);
    let Some(events) = events else {
        return Err(fault(
            0..1,
            "the profile has no traceEvents",
            "expected a Chrome trace, as jax.profiler.trace writes it",
        ));
    };
    let mut products: BTreeMap<Precision, Vec<Point>> = BTreeMap::new();
    let (mut memory, mut found) = (Vec::new(), Found::default());
    for event in events {
        let none = Map::new();
        let args = event.get("args").and_then(Value::as_object).unwrap_or(&none);
        let Some(seconds) = duration(event).filter(|&seconds| seconds > 0.0) else { continue };
        let long = ["long_name", "hlo_text", "tf_op"].iter().find_map(|key| args.get(*key)?.as_str());
        let text = long.or_else(|| event.get("name")?.as_str()).unwrap_or_default();
        let hlo = Hlo::of(text);
        if let Some((kind, devices, bytes)) = hlo.as_ref().and_then(Hlo::collective) {
            found.add(kind, devices, bytes, seconds);
        } else if let Some((precision, flops)) = hlo.as_ref().and_then(Hlo::product).or_else(|| stated(args, text)) {
            products.entry(precision).or_default().push(Point { work: flops, seconds });
        } else if let Some(bytes) = number(args, &["raw_bytes_accessed", "bytes_accessed"]).filter(|&bytes| bytes > 0.0)
        {
            memory.push(Point { work: bytes, seconds });
        }
    }
    let mut series = found.series("XLA's profile");
    for Class(key, precision) in CLASSES {
        let Some(points) = products.remove(&precision) else { continue };
        let how = format!("{} products for {key} in XLA's profile", points.len());
        series.push(Series { quantity: Quantity::Product(precision), points, how });
    }
    if !memory.is_empty() {
        let how = format!("{} other ops in XLA's profile, by the bytes that they access", memory.len());
        series.push(Series { quantity: Quantity::Memory, points: memory, how });
    }
    if series.is_empty() {
        let note = "products have their shapes in name, long_name or model_flops, other ops bytes_accessed, \
                    collectives replica_groups: was this a profile of the device?";
        return Err(fault(0..1, "the profile has no event with the shape of its op", note));
    }
    Ok(series)
}

/// The seconds of a complete event.
fn duration(event: &Value) -> Option<f64> {
    let is_complete = event.get("ph").and_then(Value::as_str) == Some("X");
    event.get("dur").and_then(Value::as_f64).filter(|_| is_complete).map(|us| 1e-6 * us)
}

/// A number of an event, which may be written as a text.
fn number(args: &Map<String, Value>, keys: &[&str]) -> Option<f64> {
    let value = keys.iter().find_map(|key| args.get(*key))?;
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).filter(|x| x.is_finite())
}

/// The FLOPs that the profile states for a fusion with a product.
fn stated(args: &Map<String, Value>, text: &str) -> Option<(Precision, f64)> {
    let flops = number(args, &["model_flops", "flops"]).filter(|&flops| flops > 0.0)?;
    let category = args.get("hlo_category").and_then(Value::as_str).unwrap_or_default();
    let multiplies = ["convolution", "dot", "matmul", "custom-call"].iter().any(|word| category.contains(word));
    let element = shapes(text).last().map(|shape| shape.element)?;
    multiplies.then(|| (Precision::of_element(&stablehlo(element)), flops))
}

/// StableHLO's name of an element type.
fn stablehlo(element: &str) -> String {
    match element.split_at_checked(1) {
        Some(("s", bits)) => format!("i{bits}"),
        Some(("u", bits)) => format!("ui{bits}"),
        _ if element == "pred" => "i1".to_owned(),
        _ => element.replace("e4m3fn", "E4M3FN").replace("e5m2", "E5M2"),
    }
}

/// The text of an op, split at its name.
struct Hlo<'a> {
    results: &'a str,
    op: &'a str,
    operands: &'a str,
    attributes: &'a str,
}

/// An array, as HLO writes it: `bf16[8,128]{1,0:T(8,128)}`.
struct Shape<'a> {
    element: &'a str,
    dims: Vec<f64>,
}

impl Shape<'_> {
    fn elements(&self) -> f64 {
        self.dims.iter().product()
    }

    fn bytes(&self) -> f64 {
        let bits: f64 = match self.element {
            "pred" => 8.0,
            element => {
                let digits: String =
                    element.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
                digits.parse().unwrap_or(32.0)
            }
        };
        self.elements() * bits / 8.0
    }
}

/// The arrays whose types a text has.
fn shapes(text: &str) -> Vec<Shape<'_>> {
    let mut shapes = Vec::new();
    for (at, _) in text.match_indices('[') {
        let before = &text[..at];
        let start = before.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |i| i + 1);
        let element = &before[start..];
        let is_type = ["f", "bf", "s", "u", "pred"]
            .iter()
            .any(|p| element.starts_with(p) && element.len() > p.len() || element == "pred");
        let Some(end) = text[at..].find(']').filter(|_| is_type) else { continue };
        let inside = &text[at + 1..at + end];
        let dims: Option<Vec<f64>> = match inside {
            "" => Some(Vec::new()),
            _ => inside.split(',').map(|d| d.trim_start_matches("<=").parse::<u32>().ok().map(f64::from)).collect(),
        };
        shapes.extend(dims.map(|dims| Shape { element, dims }));
    }
    shapes
}

impl<'a> Hlo<'a> {
    /// Splits `%name = TYPE op(operands), attributes`.
    fn of(text: &'a str) -> Option<Self> {
        let (_, rest) = text.split_once(" = ")?;
        let names = ["dot", "convolution"].into_iter().chain(COLLECTIVES.iter().map(|row| row.0));
        let (at, op) = names.filter_map(|op| Some((rest.find(&format!(" {op}("))?, op))).min()?;
        let open = at + op.len() + 2;
        let close = open + closing(&rest[open..])?;
        Some(Self { results: &rest[..at], op, operands: &rest[open..close], attributes: &rest[close + 1..] })
    }

    /// The numbers in the braces of an attribute.
    fn list(&self, name: &str) -> Option<Vec<usize>> {
        let start = self.attributes.find(&format!("{name}={{"))? + name.len() + 2;
        let end = self.attributes[start..].find('}')?;
        let inside = &self.attributes[start..start + end];
        inside.split(',').filter(|d| !d.trim().is_empty()).map(|d| d.trim().parse().ok()).collect()
    }

    /// The class and the FLOPs of a product with shapes.
    fn product(&self) -> Option<(Precision, f64)> {
        let (operands, result) = (shapes(self.operands), shapes(self.results));
        let ([lhs, rhs, ..], [result, ..]) = (&operands[..], &result[..]) else { return None };
        if self.op != "dot" {
            return None;
        }
        let contracted = self.list("lhs_contracting_dims")?;
        let size = contracted.iter().map(|&d| lhs.dims.get(d)).product::<Option<f64>>()?;
        let precision = Precision::of_product(&stablehlo(lhs.element), &stablehlo(rhs.element));
        let flops = 2.0 * result.elements() * size;
        (flops > 0.0).then_some((precision, flops))
    }

    /// The kind of a collective, the devices of a group, and the bytes of the whole array.
    fn collective(&self) -> Option<(CollectiveKind, usize, f64)> {
        let kind = COLLECTIVES.iter().find(|row| row.0 == self.op)?.1;
        let bytes = |text: &str| shapes(text).iter().map(Shape::bytes).sum::<f64>();
        let bytes = if kind == CollectiveKind::AllGather { bytes(self.results) } else { bytes(self.operands) };
        let devices = if kind == CollectiveKind::CollectivePermute { 2 } else { self.group()? };
        (bytes > 0.0 && devices > 1).then_some((kind, devices, bytes))
    }

    /// The number of devices of a group: of `replica_groups={{0,1},{2,3}}` or `replica_groups=[2,2]<=[4]`.
    fn group(&self) -> Option<usize> {
        let start = self.attributes.find("replica_groups=")? + "replica_groups=".len();
        let text = &self.attributes[start..];
        if let Some(list) = text.strip_prefix("{{") {
            return Some(list[..list.find('}')?].split(',').count());
        }
        let inside = text.strip_prefix('[')?.split(']').next()?;
        inside.rsplit(',').next()?.trim().parse().ok()
    }
}

/// The place of the parenthesis that closes an open one.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}
