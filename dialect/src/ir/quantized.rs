//! Quantized element types, parsed from their text: `!quant.uniform<i8:f32, 0.5:3>`,
//! `!quant.uniform<u8<1:9>:f32:1, {0.5, 2.0:1}>`.
//!
//! A program stores them as [`ElementType::Other`](super::ElementType::Other) by their canonical text; this is the
//! structured view. Source: MLIR's quant dialect and the StableHLO specification, "Quantized element types".

use std::fmt;

use super::program::Program;
use super::ty::ElementType;

/// The parameters of a quantized element type.
#[derive(Clone, PartialEq, Debug)]
pub struct Quantized {
    /// The type of the stored integers.
    pub storage: ElementType,
    /// The type they represent.
    pub expressed: ElementType,
    /// The smallest and largest integer used.
    pub range: (i64, i64),
    /// The dimension that has a scale per element; `None`: one scale for the whole tensor.
    pub dimension: Option<i64>,
    /// The scales: one, or one for each index of the dimension.
    pub scales: Vec<f64>,
    /// The integers that represent zero, one per scale.
    pub zero_points: Vec<i64>,
}

impl Quantized {
    /// Parses `text`; `None` when it isn't `!quant.uniform` with scales per tensor or per axis.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let inner = text.strip_prefix("!quant.uniform<")?.strip_suffix('>')?;
        let inner: String = inner.chars().filter(|c| !c.is_whitespace()).collect();
        let (types, scales) = inner.split_once(',')?;
        // Sub-channel blocks (several dimensions) stay text.
        if types.contains('{') {
            return None;
        }
        Some(read(types, scales))
    }

    /// Returns the parameters of an element type, if it is a quantized one.
    pub fn of(program: &Program, element: ElementType) -> Option<Self> {
        match element {
            ElementType::Other(name) => Self::parse(program.name_text(name))?.ok(),
            _ => None,
        }
    }

    /// Returns whether each index of one dimension has its own scale.
    pub fn per_axis(&self) -> bool {
        self.dimension.is_some()
    }
}

fn read(types: &str, scales: &str) -> Result<Quantized, String> {
    let (storage_text, rest) = match types.find('<') {
        Some(at) => {
            let (range, rest) = types[at + 1..].split_once('>').ok_or("the range of stored values isn't closed")?;
            ((&types[..at], Some(range)), rest.strip_prefix(':').unwrap_or_default())
        }
        None => {
            let (storage, rest) = types.split_once(':').unwrap_or((types, ""));
            ((storage, None), rest)
        }
    };
    let storage = storage(storage_text.0)?;
    let range = match storage_text.1 {
        None => default_range(storage),
        Some(text) => {
            let (low, high) = text.split_once(':').ok_or("expected a range of stored values as lowest:highest")?;
            let bounds = low.parse().ok().zip(high.parse().ok());
            let (low, high) = bounds.ok_or_else(|| format!("'{text}' is not a range of integers"))?;
            let most = default_range(storage);
            if low >= high || low < most.0 || high > most.1 {
                return Err(format!(
                    "the range {low}:{high} is empty or exceeds the range of {}",
                    storage.text().unwrap_or("?")
                ));
            }
            (low, high)
        }
    };
    let (expressed, dimension) = match rest.split_once(':') {
        None => (rest, None),
        Some((expressed, dimension)) => {
            let number = dimension.parse().ok().filter(|&d: &i64| d >= 0);
            let dimension = number.ok_or_else(|| format!("'{dimension}' is not a dimension"))?;
            (expressed, Some(dimension))
        }
    };
    let expressed = ElementType::from_text(expressed)
        .filter(|e| e.is_float())
        .ok_or_else(|| format!("expected a quantized type to express floats, found '{expressed}'"))?;
    let list = match dimension {
        None => scales,
        Some(_) => scales
            .strip_prefix('{')
            .and_then(|s| s.strip_suffix('}'))
            .ok_or("expected the scales of a dimension in braces")?,
    };
    let mut quantized = Quantized { storage, expressed, range, dimension, scales: Vec::new(), zero_points: Vec::new() };
    for item in list.split(',') {
        let (scale, zero) = item.split_once(':').unwrap_or((item, "0"));
        let text = scale;
        let scale: f64 = text.parse().map_err(|_| format!("'{text}' is not a scale"))?;
        let (least, most) = scales_of(expressed);
        if !(least..=most).contains(&scale) {
            return Err(format!("scale {text} isn't a positive value of {}", expressed.text().unwrap_or("?")));
        }
        let zero: i64 = zero.parse().map_err(|_| format!("'{zero}' is not a zero point"))?;
        quantized.scales.push(scale);
        quantized.zero_points.push(zero);
    }
    if dimension.is_none() && quantized.scales.len() != 1 {
        return Err("expected one scale, because the type names no dimension".to_owned());
    }
    Ok(quantized)
}

/// `i8`, `u8` and `ui8`.
fn storage(text: &str) -> Result<ElementType, String> {
    let long = match text.strip_prefix('u') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("ui{rest}"),
        _ => text.to_owned(),
    };
    let known = ElementType::from_text(&long).filter(|e| e.is_integer() && *e != ElementType::Index && e.bits() <= 32);
    known.ok_or_else(|| format!("expected a quantized type to store integers of at most 32 bits, found '{text}'"))
}

/// Returns the smallest and largest positive values of a float type; those of `f32` for types narrower than `f16`.
fn scales_of(expressed: ElementType) -> (f64, f64) {
    match expressed {
        ElementType::F64 => (f64::from_bits(1), f64::MAX),
        ElementType::F16 => (f64::powi(2.0, -24), 65504.0),
        ElementType::BF16 => (f64::powi(2.0, -133), f64::from(f32::from_bits(0x7F7F_0000))),
        _ => (f64::from(f32::from_bits(1)), f64::from(f32::MAX)),
    }
}

fn default_range(storage: ElementType) -> (i64, i64) {
    let bits = storage.bits();
    match storage.class() {
        super::ElementClass::Unsigned => (0, (1 << bits) - 1),
        _ => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    }
}

impl fmt::Display for Quantized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let storage = self.storage.text().unwrap_or("?").replace("ui", "u");
        write!(f, "!quant.uniform<{storage}")?;
        if self.range != default_range(self.storage) {
            write!(f, "<{}:{}>", self.range.0, self.range.1)?;
        }
        write!(f, ":{}", self.expressed.text().unwrap_or("?"))?;
        if let Some(dimension) = self.dimension {
            write!(f, ":{dimension}")?;
        }
        f.write_str(if self.per_axis() { ", {" } else { ", " })?;
        for (i, (&scale, &zero)) in self.scales.iter().zip(&self.zero_points).enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            f.write_str(&crate::text::float_text(scale))?;
            if zero != 0 {
                write!(f, ":{zero}")?;
            }
        }
        f.write_str(if self.per_axis() { "}>" } else { ">" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_type_has_one_text() {
        let text = |s: &str| Quantized::parse(s).unwrap().unwrap().to_string();
        assert_eq!(text("!quant.uniform<ui8:f32, 34.0:16>"), "!quant.uniform<u8:f32, 3.400000e+01:16>");
        assert_eq!(text("!quant.uniform<i8<-128:127>:f32, 2.0:0>"), "!quant.uniform<i8:f32, 2.000000e+00>");
        assert_eq!(
            text("!quant.uniform<i8<-127:127>:f32:1,{0.5,0.25:-3}>"),
            "!quant.uniform<i8<-127:127>:f32:1, {5.000000e-01, 2.500000e-01:-3}>"
        );
        assert!(Quantized::parse("!quant.any<i8:f32>").is_none());
    }

    #[test]
    fn says_what_is_wrong() {
        let message = |s: &str| Quantized::parse(s).unwrap().unwrap_err();
        assert_eq!(
            message("!quant.uniform<f8:f32, 1.0>"),
            "expected a quantized type to store integers of at most 32 bits, found 'f8'"
        );
        assert_eq!(
            message("!quant.uniform<i8<-200:10>:f32, 1.0>"),
            "the range -200:10 is empty or exceeds the range of i8"
        );
        assert_eq!(
            message("!quant.uniform<i8:f32, 1.0, 2.0>"),
            "expected one scale, because the type names no dimension"
        );
        assert_eq!(message("!quant.uniform<i8:f32->x<1!q<i8:f32, 1.0>"), "the range of stored values isn't closed");
        assert_eq!(message("!quant.uniform<i8:f32:-1, {1.0}>"), "'-1' is not a dimension");
        assert_eq!(message("!quant.uniform<i4:f16, 1.0551e5>"), "scale 1.0551e5 isn't a positive value of f16");
        assert_eq!(message("!quant.uniform<i8:f32, -1.0>"), "scale -1.0 isn't a positive value of f32");
    }
}
