//! Percent-encoding.

/// What a part of a URL stands for; as it is where that is no text.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = if byte == b'%' { after.get(..2).and_then(|code| std::str::from_utf8(code).ok()) } else { None };
        let code = code.filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// As a word of a query: what is no letter, digit or mark becomes a percent and its number.
pub(crate) fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_comes_back_and_what_is_not_stays() {
        assert_eq!(decoded("a%20b%2fc%"), "a b/c%");
        assert_eq!(decoded("100%zz"), "100%zz");
        assert_eq!(encoded("Bearer a+b/c="), "Bearer%20a%2Bb%2Fc%3D");
    }
}
