//! Numbers in messages, as people read them.

/// `1.5 MiB`
pub(crate) fn bytes(bytes: f64) -> String {
    if bytes == 1.0 {
        return "1 byte".to_owned();
    }
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let step = (0..units.len() - 1).find(|&i| bytes < 1024f64.powi(i as i32 + 1)).unwrap_or(units.len() - 1);
    let text = format!("{:.1}", bytes / 1024f64.powi(step as i32));
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), units[step])
}

/// `1.5 ms`
pub(crate) fn seconds(seconds: f64) -> String {
    let units = ["s", "ms", "us", "ns"];
    let step = (0..units.len() - 1).find(|&i| seconds * 1000f64.powi(i as i32) >= 1.0).unwrap_or(units.len() - 1);
    let text = format!("{:.1}", seconds * 1000f64.powi(step as i32));
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), units[step])
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_have_a_unit() {
        let bytes = [0.0, 1.0, 1023.0, 1536.0, 16e9].map(super::bytes);
        assert_eq!(bytes, ["0 bytes", "1 byte", "1023 bytes", "1.5 KiB", "14.9 GiB"]);
        let seconds = [2.0, 0.9714, 1e-6, 2.5e-10].map(super::seconds);
        assert_eq!(seconds, ["2 s", "971.4 ms", "1 us", "0.2 ns"]);
    }
}
