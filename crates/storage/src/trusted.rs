//! To whom credentials may be shown: the one place that decides it for each URL that is opened.
//!
//! A person types some locations; others come from data: the friends that a file records, the files of an index. Whoever opens
//! a file says by [`Network::credentials_for`](crate::Network) which origins a person named. A URL of another origin is
//! opened without credentials ([`Network::toward`](crate::Network::toward)): no token, no X.509 certificate, no signature of
//! S3, whether they were given or found in the environment or in files. Where redirects lead is decided by what follows
//! them, for each request.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use url::Url;

use crate::error::{Error, Result};
use crate::secret::redacted_place;
use crate::xrootd::FileAddress;

/// Scheme, host and port. Of S3 the host is the bucket, of file systems that are not ours whatever stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: String,
    host: String,
    port: Option<u16>,
}

impl Origin {
    /// That of a URL, as the store which opens it understands it; `None` of a local file, and of what no store takes.
    pub fn of(url: &str) -> Option<Origin> {
        let (scheme, rest) = url.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        // What stands between the words of a list must not begin another word.
        let new =
            |scheme: &str, host: &str, port| Some(Origin { scheme: scheme.to_owned(), host: encoded(host), port });
        match scheme.as_str() {
            "file" => None,
            "http" | "https" => Self::of_parsed(&scheme, url),
            "s3+http" | "s3+https" => {
                let endpoint = rest.split(['/', '?']).next().unwrap_or_default();
                Self::of_parsed(&scheme, &format!("{}://{endpoint}", &scheme["s3+".len()..]))
            }
            "s3" => new(&scheme, rest.split(['/', '?']).next()?, None).filter(|origin| !origin.host.is_empty()),
            "root" | "roots" | "xroot" | "xroots" => {
                let target = FileAddress::parse(url).ok()?;
                let host = encoded(&target.host).to_ascii_lowercase();
                new(if target.is_secure { "roots" } else { "root" }, &host, Some(target.port))
            }
            _ => new(scheme.split("::").next()?, &place_of_others(url), None),
        }
    }

    fn of_parsed(scheme: &str, url: &str) -> Option<Origin> {
        let parsed = Url::parse(url).ok()?;
        let host = encoded(&parsed.host_str()?.trim_matches(['[', ']']).to_ascii_lowercase());
        Some(Origin { scheme: scheme.to_owned(), host, port: Some(parsed.port_or_known_default()?) })
    }

    /// Whether what is for this one is for another: the same, or its encrypted side.
    fn covers(&self, other: &Origin) -> bool {
        let encrypted = match (self.scheme.as_str(), self.port) {
            ("http", Some(80)) => Some(("https", Some(443))),
            ("root", port) => Some(("roots", port)),
            _ => None,
        };
        let is_encrypted_side = || encrypted == Some((other.scheme.as_str(), other.port)) && self.host == other.host;
        self == other || is_encrypted_side()
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || ".-_:[]@%".contains(c)
}

/// A place without any character that ends one.
fn encoded(place: &str) -> String {
    let character = |c: char| if is_plain(c) { c.to_string() } else { crate::percent::encoded(&c.to_string()) };
    place.chars().map(character).collect()
}

/// What makes the numbers of chained URLs, in this process.
static NUMBERS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// What stands in the place of a host in the URL of a file system that is not ours, without user and password; of chained
/// ones (`zip://in.root::https://host/a.zip`) all but the path in the first, each of which has to be the same.
fn place_of_others(url: &str) -> String {
    if let Some((_, others)) = url.split_once("::") {
        let directory = |link: &str| link.split('/').take(3).collect::<Vec<_>>().join("/");
        let directories: Vec<_> = others.split("::").map(directory).collect();
        // As a number, for user and password may be anywhere in them; no file can know of another with the same.
        return format!("{:016x}", NUMBERS.hash_one(directories));
    }
    // Of what has no host, as `memory://f`, there is one place.
    let place = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(host, _)| host);
    // Where another reader might see an end of the host, nothing is taken off.
    if place.chars().all(is_plain) && !place.contains('%') {
        return place.rsplit('@').next().unwrap_or_default().to_owned();
    }
    encoded(place)
}

impl std::fmt::Display for Origin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Origin { scheme, host, port } = self;
        match port {
            Some(port) if host.contains(':') => write!(formatter, "{scheme}://[{host}]:{port}"),
            Some(port) => write!(formatter, "{scheme}://{host}:{port}"),
            None => write!(formatter, "{scheme}://{host}"),
        }
    }
}

/// One word of the option `credentials_for`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Origin(Origin),
    /// A host, or a bucket of S3, over whatever protocol; all ports of it if none is named.
    Host(String, Option<u16>),
}

impl Name {
    fn parse(word: &str) -> Option<Name> {
        if word.contains("://") {
            let is_without_host = word.ends_with("://");
            let origin = Origin::of(&format!("{word}{}", if is_without_host { "-" } else { "//-" }))?;
            return (origin.host.is_empty() == is_without_host).then_some(Name::Origin(origin));
        }
        // What a URL takes as a host, without anything else of a URL.
        if word.contains(['/', '@', '?', '#', '*', '\\', '%']) {
            return None;
        }
        let (host, port) = match word.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port.parse().ok()?)),
            _ => (word, None),
        };
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        (!host.is_empty()).then_some(Name::Host(host, port))
    }

    fn covers(&self, other: &Origin) -> bool {
        match self {
            Name::Origin(origin) => origin.covers(other),
            Name::Host(host, port) => *host == other.host && (port.is_none() || *port == other.port),
        }
    }
}

/// The origins that may see credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    names: Vec<Name>,
    text: String,
}

impl Trusted {
    /// Reads a list with commas or spaces between `host`, `host:port` or `scheme://host:port`.
    ///
    /// # Errors
    /// What is no such word.
    pub fn parse(text: &str) -> std::result::Result<Trusted, String> {
        let words = || text.split([',', ' ', '\n', '\t']).filter(|word| !word.is_empty());
        let parsed = |word: &str| {
            let wrong = || format!("{:?} is no host, host:port or scheme://host:port", redacted_place(word));
            Name::parse(word).ok_or_else(wrong)
        };
        let names = words().map(parsed).collect::<std::result::Result<_, _>>()?;
        Ok(Trusted { names, text: words().map(crate::redacted).collect::<Vec<_>>().join(",") })
    }

    /// Whether the store of a URL may be shown credentials. A local file sees none.
    pub fn holds(&self, url: &str) -> bool {
        Origin::of(url).is_some_and(|origin| self.names.iter().any(|name| name.covers(&origin)))
    }

    /// As it is written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// More bytes than any URL has: servers take no longer ones, and no disk has a longer path.
const MAX_NAMED_BYTES: usize = 8 << 10;

/// Refuses the location that a file names if it is on this machine and that file is not, or if it is longer than any.
///
/// # Errors
/// [`Error::Option`], which says what to do instead.
pub fn check_named(url: &str, named_by: &str) -> Result<()> {
    if url.len() > MAX_NAMED_BYTES {
        let begin: String = crate::redacted(url).chars().take(80).collect();
        let what = format!(
            "it names a file by {} bytes, {begin}..., and none has a name of more than {MAX_NAMED_BYTES}; open that file \
             yourself by a shorter one (arrowroot.open; a friend by Tree.add_friend)",
            url.len()
        );
        return Err(Error::Option { option: crate::redacted(named_by), what });
    }
    let is_local = |url: &str| url.split_once("://").is_none_or(|(scheme, _)| scheme.eq_ignore_ascii_case("file"));
    if is_local(url) && !is_local(named_by) {
        let what = format!(
            "{}: a remote file names this one, which is on this machine; it is opened only if you name it yourself \
             (arrowroot.open; a friend by Tree.add_friend)",
            crate::redacted(url)
        );
        return Err(Error::Option { option: crate::redacted(named_by), what });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str, url: &str) -> bool {
        Trusted::parse(text).unwrap().holds(url)
    }

    fn origin(url: &str) -> String {
        Origin::of(url).map_or_else(String::new, |origin| origin.to_string())
    }

    #[test]
    fn an_origin_is_what_the_store_connects_to() {
        for (url, expected) in [
            ("https://Host/f?x#y", "https://host:443"),
            ("http://me:pw@host:81/f", "http://host:81"),
            (r"https://typed\@evil/f", "https://typed:443"),
            ("https://typed@evil/f", "https://evil:443"),
            ("https://[::1]:8443/f", "https://[::1]:8443"),
            ("ROOT://me@Host//f", "root://host:1094"),
            ("root://typed#@evil//f", "root://evil:1094"),
            ("xroots://host:1095//f?authz=t", "roots://host:1095"),
            ("s3://Bucket/key", "s3://Bucket"),
            ("s3+https://endpoint/bucket/key", "s3+https://endpoint:443"),
            ("s3://a,evil.com/key", "s3://a%2Cevil.com"),
            ("https://a,evil.com/f", "https://a%2Cevil.com:443"),
            ("root://a,evil.com//f", "root://a%2cevil.com:1094"),
            ("gs://bucket/f", "gs://bucket"),
            ("memory://f.root", "memory://"),
            ("ssh://me:pw@host/f", "ssh://host"),
            ("ssh://typed#@evil/f", "ssh://typed%23@evil"),
            ("file:///etc/passwd", ""),
            ("/etc/passwd", ""),
            ("https://", ""),
        ] {
            assert_eq!(origin(url), expected, "{url}");
            // What is told of it names it.
            assert_eq!(holds(&origin(url), url), !expected.is_empty(), "{url}");
            assert!(!holds(&origin(url), "https://evil.com/f"), "{url}");
        }
    }

    #[test]
    fn chained_places_are_the_same_if_all_of_them_are_and_show_no_secret() {
        let typed = origin("zip://in.root::https://me:SECRET@host:1/a.zip");
        assert!(!typed.contains("SECRET"), "{typed}");
        for (url, expected) in [
            ("zip://other.root::https://me:SECRET@host:1/b.zip", true),
            ("zip://in.root::https://host:2/a.zip", false),
            ("zip://in.root::/etc/passwd", false),
            ("tar://in.root::https://me:SECRET@host:1/a.zip", false),
        ] {
            assert_eq!(holds(&typed, url), expected, "{url}");
        }
        assert!(holds(&origin("zip://in::/disk/a, b.zip"), "zip://in::/disk/a, b.zip"));
    }

    #[test]
    fn a_named_origin_covers_itself_and_its_encrypted_side() {
        for (text, url, expected) in [
            ("https://h:443", "https://h/other", true),
            ("https://h:443", "http://h/f", false),
            ("https://h:443", "https://h:444/f", false),
            ("https://h:443", "https://h.evil/f", false),
            ("http://h:80", "https://h/f", true),
            ("http://h:81", "https://h:81/f", false),
            ("root://h:1094", "roots://h//f", true),
            ("roots://h:1094", "root://h//f", false),
            ("root://h:1094", "https://h:1094/f", false),
            ("s3://a", "s3://a/key", true),
            ("s3://a", "s3://b/key", false),
            ("h", "http://h:99/f", true),
            ("H", "root://h//f", true),
            ("h:99", "http://h:99/f", true),
            ("h:99", "http://h/f", false),
            ("[::1]:99", "http://[::1]:99/f", true),
            ("a, h b", "https://h/f", true),
            ("", "https://h/f", false),
            ("h", "/h", false),
            ("gs://b", "gs://b/f", true),
            ("gs://b", "gs://b/f::/etc/passwd", false),
            ("gs://b", "simplecache::gs://b/f", false),
        ] {
            assert_eq!(holds(text, url), expected, "{text} {url}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused_and_shows_no_secret() {
        for wrong in ["*", "*.h", "me:SECRET@h", "h/path", "h:x", "https://", "https://me:SECRET@/"] {
            let error = Trusted::parse(wrong).unwrap_err();
            assert!(error.contains("scheme://host:port") && !error.contains("SECRET"), "{error}");
        }
    }

    #[test]
    fn a_name_that_no_file_has_is_refused_and_shown_in_part() {
        let long = format!("https://me:SECRET@h/{}", "x".repeat(MAX_NAMED_BYTES));
        let error = check_named(&long, "/data/main.root").unwrap_err().to_string();
        assert!(error.contains("https://h/xxx") && error.contains("8192") && error.len() < 500, "{error}");
        assert!(check_named(&long[..MAX_NAMED_BYTES], "/data/main.root").is_ok());
    }

    #[test]
    fn a_remote_file_names_no_file_of_this_machine() {
        for local in ["/etc/passwd", "file:///etc/passwd", "FILE://localhost/etc/passwd", "data.root"] {
            let error = check_named(local, "https://me:SECRET@h/f").unwrap_err().to_string();
            assert!(error.contains("yourself") && !error.contains("SECRET"), "{error}");
            assert!(check_named(local, "/data/main.root").is_ok());
        }
        assert!(check_named("https://h/f", "root://h//f").is_ok());
    }
}
