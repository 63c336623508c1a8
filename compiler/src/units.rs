//! Numbers formatted for people.

/// `4 KiB`, `1.5 MiB`
pub fn bytes(value: f64) -> String {
    scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
}

/// `1.02 us`, `3.5 ms`
pub fn seconds(value: f64) -> String {
    let (scale, unit) = match value {
        0.0 => return "0 s".to_owned(),
        v if v < 1e-6 => (1e9, "ns"),
        v if v < 1e-3 => (1e6, "us"),
        v if v < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{} {unit}", three_digits(value * scale))
}

/// `1.2 GFLOP`
pub fn flops(value: f64) -> String {
    scaled(value, 1000.0, &["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"])
}

/// `41 %`
pub fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0} %", 100.0 * part / whole) } else { "-".to_owned() }
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    format!("{} {}", three_digits(value), units[unit])
}

/// Three significant digits, without trailing zeros after the decimal point.
fn three_digits(value: f64) -> String {
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(4096.0), "4 KiB");
        assert_eq!(bytes(1_600_000.0), "1.53 MiB");
        assert_eq!(seconds(1.0182e-6), "1.02 us");
        assert_eq!(seconds(0.25), "250 ms");
        assert_eq!(seconds(3.3e-10), "0.33 ns");
        assert_eq!(flops(2.5e9), "2.5 GFLOP");
        assert_eq!(percent(1.0, 3.0), "33 %");
    }
}
