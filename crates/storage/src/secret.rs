//! What must not be shown.
//!
//! Users and passwords in URLs are found by [`users`], which has the rule; what is in queries by [`parts`].

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use base64::engine::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use twox_hash::XxHash64;

use crate::percent;

use users::{is_edge, is_known_scheme, users};

mod users;

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

/// A part of a URL.
#[derive(Debug, Clone, Copy)]
enum UrlPart<'u> {
    Shown(&'u str),
    /// User and password with the `@` behind them: left out.
    User(&'u str),
    /// What stands in a query, or a fragment: shown as dots.
    Hidden(&'u str),
}

/// Words of library messages that are shorter than this are not taken for a secret: they give nothing away, and occur by
/// chance.
const SHORTEST_SECRET: usize = 6;

/// More looks at a text that somebody made find nothing new.
const MOST_LOOKS: usize = 4;

/// Options whose values may be shown where a query sets them: all that take no secret and no URL.
pub(crate) const SHOWN_OPTIONS: [&str; 19] = [
    "strategy",
    "cache_size",
    "max_gap",
    "max_span",
    "prefetch",
    "learn_entries",
    "download_dir",
    "download_size",
    "block_cache",
    "block_cache_size",
    "timeout",
    "deadline",
    "retries",
    "connections",
    "certificate",
    "key",
    "authorities",
    "s3_region",
    "credentials_for",
];

/// A URL without what gives access: no user and password, nothing of its query or fragment but names, and the values of
/// known harmless ones. URLs inside it, chained (`zip://in.root::https://...`) or nested (`root://proxy//root://...`), are
/// treated alike, and so are mistyped ones as far as they can be told. A path is shown as it is, unless it is a private key.
pub fn redacted(url: &str) -> String {
    let mut shown = redacted_once(url);
    // What was left out may have hidden what is one of its own.
    for _ in 1..MOST_LOOKS {
        let again = redacted_once(&shown);
        if again == shown {
            break;
        }
        shown = again;
    }
    shown
}

fn redacted_once(url: &str) -> String {
    let url = &without_passwords(without_keys(url));
    let shown = parts(url).into_iter().map(|part| match part {
        UrlPart::Shown(text) => text,
        UrlPart::User(_) => "",
        UrlPart::Hidden(_) => "...",
    });
    shown.collect()
}

/// A text without private keys: what was to be the name of a file is one at times.
fn without_keys(text: &str) -> Cow<'_, str> {
    match text.split_once("-----BEGIN ") {
        Some((before, _)) => Cow::Owned(format!("{before}...")),
        None => Cow::Borrowed(text),
    }
}

/// A text without the values of `password=`, as libpq has them: a word, or what is in quotes.
fn without_passwords(text: Cow<'_, str>) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    let (mut shown, mut shown_from) = (String::new(), 0);
    let names = ["password", "passwd", "pwd"].into_iter().flat_map(|name| lower.match_indices(name));
    let mut names: Vec<(usize, &str)> = names.collect();
    names.sort_unstable();
    for (at, name) in names {
        let before = lower[..at].strip_suffix("ssl").unwrap_or(&lower[..at]);
        let is_whole = before.chars().next_back().is_none_or(|c| is_edge(c) || ";,-".contains(c));
        let behind = text[at + name.len()..].trim_start_matches(' ');
        let Some(value) = behind.strip_prefix('=').filter(|_| is_whole && at >= shown_from) else {
            continue;
        };
        let value = value.trim_start_matches(' ');
        let (n_lead, n_value) = quoted_or_word(value);
        if n_value > 0 {
            let from = text.len() - value.len() + n_lead;
            shown.extend([&text[shown_from..from], "..."]);
            shown_from = from + n_value;
        }
    }
    if shown_from == 0 {
        return text;
    }
    shown.push_str(&text[shown_from..]);
    Cow::Owned(shown)
}

/// Lengths of the quote that a text begins with, if it does, and of what is in it; else of its first word.
fn quoted_or_word(text: &str) -> (usize, usize) {
    let bare = text.strip_prefix('\\').unwrap_or(text);
    let n_lead = text.len() - bare.len() + 1;
    if bare.is_empty() {
        return (0, 0);
    }
    let Some(quote) = bare.chars().next().filter(|c| "'\"".contains(*c)) else {
        return (0, text.find(|c: char| c.is_whitespace() || "'\"`<>".contains(c)).unwrap_or(text.len()));
    };
    let inside = &text[n_lead..];
    let mut is_escaped = false;
    let is_end = |c: char| {
        // Quotes that are escaped themselves end with such a one.
        let is_end = c == quote && is_escaped == (n_lead > 1);
        is_escaped = c == '\\' && !is_escaped;
        is_end
    };
    let n_inside = inside.find(is_end).unwrap_or(inside.len());
    (n_lead, n_inside - usize::from(n_lead > 1 && inside[..n_inside].ends_with('\\')))
}

/// A text without the users that none of its words has alone: there are spaces or quotes in their passwords, or before them.
fn without_spread_users(text: &str) -> String {
    let mut shown = String::new();
    let mut shown_from = 0;
    for user in users(text).into_iter().filter(|user| user.is_spread) {
        shown.push_str(&text[shown_from..user.range.start]);
        shown_from = user.range.end;
    }
    shown.push_str(&text[shown_from..]);
    shown
}

/// The place of a server as [`redacted`] shows a URL, though it has no scheme.
pub(crate) fn redacted_place(place: &str) -> String {
    if place.contains("://") {
        return redacted(place);
    }
    let shown = redacted(&format!("https://{place}"));
    shown.strip_prefix("https://").unwrap_or(&shown).to_owned()
}

/// Names in a query, in lower case, of what gives access and nothing else.
const OF_ACCESS: [&str; 9] =
    ["access_token", "authz", "awsaccesskeyid", "googleaccessid", "jwt", "key-pair-id", "sig", "signature", "token"];
/// Beginnings of such names: what signed URLs of S3 and of Google have.
const BEGIN_OF_ACCESS: [&str; 2] = ["x-amz-", "x-goog-"];
/// Names of what a signature covers: they go with one (Azure, CloudFront, Google).
const SIGNED: [&str; 14] =
    ["expires", "policy", "se", "sip", "ske", "skoid", "sks", "skt", "sktid", "skv", "sp", "spr", "st", "sv"];

/// What [`redacted`] hides of a URL and what may name another file all the same, as one number; `None` if nothing does.
/// Tokens and signatures, by their names, do not: they are new each time, and the file is the same.
pub(crate) fn hidden_distinction(url: &str) -> Option<u64> {
    let parts = parts(url);
    let name_before = |index: usize| match parts.get(index.wrapping_sub(1)) {
        Some(UrlPart::Shown(shown)) => {
            let name = shown.to_ascii_lowercase().replace("%3f", "?").replace("%26", "&");
            let name = name.trim_end_matches('=').rsplit(|c| IN_QUERY.contains(&c) || c == ';').next();
            name.unwrap_or_default().to_owned()
        }
        _ => String::new(),
    };
    let is_authority = |index: usize, user: &str| {
        let is_behind_scheme =
            matches!(parts.get(index.wrapping_sub(1)), Some(UrlPart::Shown(shown)) if shown.ends_with("://"));
        is_behind_scheme && !user.contains(['/', '\\', '?', '#'])
    };
    let hidden = || {
        let parts = parts.iter().enumerate();
        parts.filter_map(|(index, part)| match part {
            UrlPart::Hidden(value) => Some((name_before(index), *value)),
            // What looks like one may be of the path, which names the file.
            UrlPart::User(user) => (!is_authority(index, user)).then(|| (String::new(), *user)),
            UrlPart::Shown(_) => None,
        })
    };
    let gives_access =
        |name: &str| OF_ACCESS.contains(&name) || BEGIN_OF_ACCESS.iter().any(|begin| name.starts_with(begin));
    let is_signed = hidden().any(|(name, _)| matches!(name.as_str(), "sig" | "signature"));
    let is_new_each_time = |name: &str| gives_access(name) || (is_signed && SIGNED.contains(&name));
    let telling = hidden().filter(|(name, _)| !is_new_each_time(name));
    let text: String = telling.map(|(name, value)| format!("{name}={value}\n")).collect();
    (!text.is_empty()).then(|| XxHash64::oneshot(0, text.as_bytes()))
}

/// What others say while they read `url`, without what [`redacted`] hides of it, and of any other URL in the text.
pub fn scrubbed(text: &str, url: &str) -> String {
    scrubbed_of_sent(text, &[url], None)
}

/// What a server says, without what was sent to it with a request: what [`redacted`] hides of the `urls` that led to it, the
/// user and password of these as the head of a request has them, and a `token`.
pub(crate) fn scrubbed_of_sent(text: &str, urls: &[&str], token: Option<&Secret>) -> String {
    let text = without_spread_users(&without_passwords(without_keys(text)));
    let mut replacements = Vec::new();
    let mut before = "";
    replacements.extend(token.into_iter().flat_map(|token| words_of(token.expose())));
    for part in urls.iter().flat_map(|url| parts(url)) {
        match part {
            UrlPart::Shown(shown) => before = shown,
            UrlPart::User(user) => {
                replacements.extend(["//", "\\\\"].map(|slashes| (format!("{slashes}{user}"), slashes.to_owned())));
                replacements.extend(user.contains(':').then(|| (user.to_owned(), String::new())));
                let (name, password) = user.trim_end_matches('@').split_once(':').unwrap_or((user, ""));
                let name = name.trim_end_matches('@');
                replacements.extend([name, password].into_iter().flat_map(words_of));
                replacements.extend(words_of(&format!("{name}:{password}")));
            }
            UrlPart::Hidden(value) => {
                let name = before.trim_start_matches(IN_QUERY);
                replacements.extend(IN_QUERY.map(|c| (format!("{c}{name}{value}"), format!("{c}{name}..."))));
                replacements.extend(words_of(value));
            }
        }
    }
    // Of two secrets one may begin as the other.
    replacements.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
    let text = replacements.iter().fold(text, |text, (secret, shown)| text.replace(secret, shown));
    // A sentence may go on behind a URL: what ends it is none of it.
    let is_end = |c: char| is_edge(c) || ":;,".contains(c);
    let words = text.split_inclusive(is_edge).map(|word| word.split_at(word.trim_end_matches(is_end).len()));
    // What was typed for an option is a word of its own.
    let shown = |word: &str| match word.split_once('=').filter(|(option, _)| option.starts_with("--")) {
        Some((option, value)) => format!("{option}={}", redacted(value)),
        None => redacted(word),
    };
    // What follows the name of a way to be let in, lets in; it is named in sentences, too.
    let mut is_next_hidden = false;
    let mut hiding = |word: &str| {
        let is_hidden =
            std::mem::replace(&mut is_next_hidden, ["bearer", "basic"].contains(&&*word.to_ascii_lowercase()));
        let is_prose = ["", "token", "tokens", "authentication", "authorization"].contains(&word);
        if is_hidden && !is_prose { "...".to_owned() } else { shown(word) }
    };
    words.flat_map(|(word, edge)| [hiding(word), edge.to_owned()]).collect()
}

/// What a message may have of a hidden text: all of it, decoded, and the parts of one that holds another URL.
fn words_of(hidden: &str) -> Vec<(String, String)> {
    let decoded = percent::decoded(hidden);
    let mut words: Vec<&str> = vec![hidden, &decoded];
    words.extend(hidden.strip_prefix("Bearer%20"));
    words.extend(decoded.strip_prefix("Bearer "));
    if decoded.contains("::") || decoded.contains("://") {
        words.extend(decoded.split([':', '/', '?', '#', '&', '=', '@']));
    }
    // Whose key signed a request to S3 stands before what it was signed for.
    words.extend(decoded.strip_suffix("/aws4_request").and_then(|signed| signed.split('/').next()));
    words.retain(|word| word.len() >= SHORTEST_SECRET);
    words
        .into_iter()
        .flat_map(|word| [word.to_owned(), percent::encoded(word), STANDARD_NO_PAD.encode(word)].map(shown_as_dots))
        .collect()
}

fn shown_as_dots(secret: String) -> (String, String) {
    (secret, "...".to_owned())
}

/// User and password of a URL as the head of a request has them (RFC 7617), where they stand for themselves.
pub(crate) fn basic_authorization(user: &str, password: &str) -> Secret {
    let text = STANDARD.encode(format!("{}:{}", percent::decoded(user), percent::decoded(password)));
    Secret::new(format!("Basic {text}"))
}

/// What begins a query or a fragment, and what stands between their parts.
const IN_QUERY: [char; 3] = ['?', '&', '#'];

fn parts(url: &str) -> Vec<UrlPart<'_>> {
    let mut parts = Vec::new();
    let mut shown_from = 0;
    let mut is_url = before_query(url).contains("://") || mistyped_scheme(url).is_some();
    let mut scheme = mistyped_scheme(url).unwrap_or("https");
    let last_value = url.rfind('=');
    let mut query = None;
    for user in users(url) {
        let range = user.range;
        query = query_in(url, shown_from..range.start, last_value, &mut scheme).filter(|_| is_url);
        if query.is_some() {
            break;
        }
        parts.extend([UrlPart::Shown(&url[shown_from..range.start]), UrlPart::User(&url[range.clone()])]);
        shown_from = range.end;
        is_url = true;
    }
    if is_url && query.is_none() {
        query = query_in(url, shown_from..url.len(), last_value, &mut scheme);
    }
    parts.push(UrlPart::Shown(&url[shown_from..query.unwrap_or(url.len())]));
    let rest = &url[query.unwrap_or(url.len())..];
    parts.extend(rest.char_indices().filter(|(_, c)| IN_QUERY.contains(c)).flat_map(|(start, _)| {
        let end = rest[start + 1..].find(IN_QUERY).map_or(rest.len(), |n_bytes| start + 1 + n_bytes);
        parts_of_pair(&rest[start..end])
    }));
    // A path may have any other: what gives access is known by its name.
    let marks: &[&str] = if is_url { &["&", ";", "%3f", "%26"] } else { &["?", "&", ";", "#"] };
    let loose = |part| match part {
        UrlPart::Shown(text) => parts_with_loose_pairs(text, if is_url { 0 } else { before_query(url).len() }, marks),
        other => vec![other],
    };
    parts.into_iter().flat_map(loose).collect()
}

fn before_query(url: &str) -> &str {
    &url[..url.find('?').unwrap_or(url.len())]
}

/// Where the query of a URL begins, or its fragment, in a part of it without users. `scheme`: that of the innermost URL.
fn query_in<'u>(url: &'u str, part: Range<usize>, last_value: Option<usize>, scheme: &mut &'u str) -> Option<usize> {
    url[part.clone()].match_indices([':', '?', '#']).map(|(at, mark)| (part.start + at, mark)).find_map(|(at, mark)| {
        if url[at..].starts_with("://") {
            *scheme = url[..at].rsplit(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).next().unwrap_or("");
        }
        (mark == "?" || (mark == "#" && is_fragment(scheme, last_value > Some(at)))).then_some(at)
    })
}

/// What was typed for the characters of `://`.
const IN_SEPARATOR: [char; 6] = [':', '/', ';', ',', '.', '|'];

/// A known scheme at the beginning of a URL, with something like `://` behind it.
fn mistyped_scheme(url: &str) -> Option<&str> {
    let n_scheme = url.find(IN_SEPARATOR)?;
    let rest = url[n_scheme..].trim_start_matches(IN_SEPARATOR);
    let separator = &url[n_scheme..url.len() - rest.len()];
    let is_marked = separator.starts_with(':') || (separator.len() > 1 && separator.contains('/'));
    (is_known_scheme(&url[..n_scheme]) && is_marked).then(|| &url[..n_scheme])
}

/// What is shown, but for the values of names that give access where they stand in no query: behind `&` and `;` in a path, or
/// behind a mark that was encoded.
fn parts_with_loose_pairs<'u>(text: &'u str, from: usize, marks: &[&str]) -> Vec<UrlPart<'u>> {
    // Nobody knows where it ends: nothing is shown behind the first.
    match value_of_access(text, from, marks) {
        Some(at) => vec![UrlPart::Shown(&text[..at]), UrlPart::Hidden(&text[at..])],
        None => vec![UrlPart::Shown(text)],
    }
}

/// Where the first value begins whose name says that it gives access; names stand behind one of the marks.
fn value_of_access(text: &str, from: usize, marks: &[&str]) -> Option<usize> {
    const ENDINGS: [&str; 9] =
        ["token", "authz", "jwt", "key", "keyid", "password", "secret", "signature", "credential"];
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_telling = |name: &str| name == "sig" || ENDINGS.iter().any(|ending| name.ends_with(ending));
    let lower = text.to_ascii_lowercase();
    let marks = marks.iter().flat_map(|mark| lower.match_indices(mark)).filter(|(at, _)| *at >= from);
    let value_from = |(at, mark): (usize, &str)| {
        // A name ends before the next mark: looking for all of them takes the time of one look.
        let behind = &lower[at + mark.len()..];
        let (name, rest) = behind.split_at(behind.find(|c| !is_in_name(c)).unwrap_or(behind.len()));
        let value = rest.strip_prefix('=')?;
        (is_telling(name) && !value.is_empty()).then(|| text.len() - value.len())
    };
    marks.filter_map(value_from).min()
}

/// Whether what begins with `#` is for the client alone. Servers of XRootD have it in the names of files, and so have
/// local disks; of the schemes of others nobody knows. Keys of S3 have it, too, but what looks like a name with a value is
/// better hidden.
fn is_fragment(scheme: &str, has_value: bool) -> bool {
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" => true,
        "" | "file" | "root" | "roots" | "xroot" | "xroots" => false,
        _ => has_value,
    }
}

/// A part of a query with the character that begins it.
fn parts_of_pair(pair: &str) -> Vec<UrlPart<'_>> {
    let (mark, content) = pair.split_at(1);
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-%".contains(&b));
    match content.split_once('=') {
        _ if content.is_empty() => vec![UrlPart::Shown(mark)],
        // What ends with `=` may be base64.
        Some((name, value)) if is_name(name) && !value.trim_matches('=').is_empty() => {
            let shown = UrlPart::Shown(&pair[..mark.len() + name.len() + 1]);
            vec![shown, if is_harmless(name, value) { UrlPart::Shown(value) } else { UrlPart::Hidden(value) }]
        }
        _ => vec![UrlPart::Shown(mark), UrlPart::Hidden(content)],
    }
}

fn is_harmless(name: &str, value: &str) -> bool {
    let is_known = name.strip_prefix("arrowroot.").is_some_and(|name| SHOWN_OPTIONS.contains(&name))
        || matches!(name, "xrdcl.requuid" | "oss.asize");
    is_known && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/%+ ".contains(&byte))
}

#[cfg(test)]
mod tests;
