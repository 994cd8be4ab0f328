//! What must not be shown.

use std::fmt;

/// A text that no message, log or report shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// The text, for whom it was meant.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(hidden)")
    }
}

/// A URL without what gives access: no user and password, no values in its query but those of known harmless names.
pub fn redacted(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let query = query.map(|query| {
        let hidden = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) if !is_harmless(name) => format!("{name}=..."),
            _ => pair.to_owned(),
        });
        format!("?{}", hidden.collect::<Vec<_>>().join("&"))
    });
    format!("{scheme}://{host}{path}{}", query.unwrap_or_default())
}

fn is_harmless(name: &str) -> bool {
    name.strip_prefix("arrowroot.").is_some_and(|option| option != "token")
        || matches!(name, "xrdcl.requuid" | "oss.asize")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_credentials() {
        assert_eq!(
            redacted("https://me:pw@host:1/p/f.root?X-Amz-Signature=ab&arrowroot.retries=3"),
            "https://host:1/p/f.root?X-Amz-Signature=...&arrowroot.retries=3"
        );
        assert_eq!(redacted("root://host//a@b?authz=Bearer%20x"), "root://host//a@b?authz=...");
        assert_eq!(redacted("/local/file?x=1"), "/local/file?x=1");
    }
}
