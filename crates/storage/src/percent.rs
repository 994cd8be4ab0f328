//! Percent-encoding.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What is written with a percent in a word of a query: all but letters, digits and these marks (RFC 3986, unreserved).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What a part of a URL stands for; as it is where that is no text.
pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), String::from)
}

/// As a word of a query.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_comes_back_and_what_is_not_stays() {
        assert_eq!(decoded("a%20b%2fc%"), "a b/c%");
        assert_eq!(decoded("100%zz"), "100%zz");
        assert_eq!(decoded("%ff%20"), "%ff%20");
        assert_eq!(encoded("Bearer a+b/c=-._~é"), "Bearer%20a%2Bb%2Fc%3D-._~%C3%A9");
        assert_eq!(decoded(&encoded("a/b é")), "a/b é");
    }
}
