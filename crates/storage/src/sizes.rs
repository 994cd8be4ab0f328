//! Sizes as people write them.

/// Bytes of a size as people write it: `4k` and `4 KiB` are 4096 as RFIO and ROOT take them, `10 MB` is 10^7.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        _ => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    #[expect(clippy::cast_precision_loss, reason = "factors are small powers")]
    let bytes = number.parse::<f64>().ok()? * factor as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    // Less than a byte is no size, and not 0, which means something else.
    ((0.0..1e18).contains(&bytes) && !(bytes > 0.0 && bytes < 1.0)).then_some(bytes.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(parse_size("4k"), Some(4096));
        assert_eq!(parse_size(" 10 MB "), Some(10_000_000));
        assert_eq!(parse_size("1.5 MiB"), Some(1_572_864));
        assert_eq!((parse_size("0.29 kB"), parse_size(".5KiB")), (Some(290), Some(512)));
        assert_eq!(parse_size("128"), Some(128));
        assert_eq!((parse_size("0"), parse_size("0.0 MB"), parse_size("0.5k")), (Some(0), Some(0), Some(512)));
        for wrong in ["", "k", "-1", "0.5", "0.0001 kB", "1x", "1e400", "99999999999999999999", "."] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }
}
