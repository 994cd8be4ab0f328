//! What must not be shown.

use std::borrow::Cow;
use std::fmt;

use base64::engine::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use twox_hash::XxHash64;

use crate::options::OPTIONS;
use crate::percent;

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
enum Piece<'u> {
    Shown(&'u str),
    /// User and password with the `@` behind them: left out.
    User(&'u str),
    /// What stands in a query, or a fragment: shown as dots.
    Hidden(&'u str),
}

/// Words of library messages that are shorter than this are not taken for a secret: they give nothing away, and occur by
/// chance.
const SHORTEST_SECRET: usize = 6;

/// A URL without what gives access: no user and password, nothing of its query or fragment but names, and the values of
/// known harmless ones. URLs inside it, chained (`zip://in.root::https://...`) or nested (`root://proxy//root://...`), are
/// treated alike, and so are mistyped ones as far as they can be told. A path is shown as it is, unless it is a private key.
pub fn redacted(url: &str) -> String {
    let url = &without_oddities(url);
    let shown = pieces(url).into_iter().map(|piece| match piece {
        Piece::Shown(text) => text,
        Piece::User(_) => "",
        Piece::Hidden(_) => "...",
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

/// A text without private keys, passwords of databases (`host=h password=...`), and users that no parser of URLs would find.
fn without_oddities(text: &str) -> Cow<'_, str> {
    let mut text = without_keys(text);
    for without in [without_passwords, without_odd_users] {
        if let Cow::Owned(shown) = without(&text) {
            text = Cow::Owned(shown);
        }
    }
    text
}

/// A text without the values of `password=`, as libpq has them: a word, or what is in quotes.
fn without_passwords(text: &str) -> Cow<'_, str> {
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
    rest_behind(text, shown, shown_from)
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

/// A text without users that no parser of URLs would find: behind backslashes, with spaces or quotes in their passwords, or
/// with another `@`.
fn without_odd_users(text: &str) -> Cow<'_, str> {
    let (mut shown, mut shown_from) = (String::new(), 0);
    let mut next = separator_from(text, 0);
    while let Some((begin, mut at)) = next {
        let is_backslashed = text[begin..at].contains('\\');
        next = separator_from(text, at);
        // A part for each separator, each looked at once, takes the time of one look.
        let end = next.map_or(text.len(), |(begin, _)| begin);
        let end = text[at..end].find('\n').map_or(end, |n_bytes| at + n_bytes);
        loop {
            let n_user = odd_user(&text[at..end], is_backslashed);
            if n_user == 0 {
                break;
            }
            shown.push_str(&text[shown_from..at]);
            at += n_user;
            shown_from = at;
        }
    }
    rest_behind(text, shown, shown_from)
}

fn rest_behind(text: &str, mut shown: String, shown_from: usize) -> Cow<'_, str> {
    if shown_from == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(&text[shown_from..]);
    Cow::Owned(shown)
}

/// Where the next `://`, or what is like it, begins and ends.
fn separator_from(text: &str, from: usize) -> Option<(usize, usize)> {
    text[from..].match_indices([':', ';', ',', '|']).find_map(|(at, _)| {
        let behind = &text[from + at + 1..];
        let n_slashes = behind.len() - behind.trim_start_matches(['/', '\\']).len();
        (n_slashes > 1).then_some((from + at, from + at + 1 + n_slashes))
    })
}

/// Length of such a user at the beginning of a text, with what stands for its `@`.
fn odd_user(text: &str, is_backslashed: bool) -> usize {
    let word = &text[..text.find(is_edge).unwrap_or(text.len())];
    let start = authority_of(word).rfind('@').map_or(0, |n_bytes| n_bytes + 1);
    if is_backslashed && start > 0 {
        return start;
    }
    let Some((name, rest)) = text[start..].split_once(':') else {
        return 0;
    };
    let is_port = |rest: &str| {
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit()).chars().next();
        behind.is_none_or(|c| is_edge(c) || "/\\?#:,;]}".contains(c))
    };
    if name.is_empty() || name.contains(|c| is_edge(c) || "/\\?#[".contains(c)) || is_port(rest) {
        return 0;
    }
    let begin = start + name.len() + 1;
    let rest_of_word = &word[begin..];
    if let Some(n_bytes) = rest_of_word.rfind('@') {
        return if is_backslashed { begin + n_bytes + 1 } else { 0 };
    }
    let end_of = |part: &str| ["%40", "\u{ff20}"].iter().filter_map(|at| Some(part.rfind(at)? + at.len())).max();
    if let Some(n_bytes) = end_of(authority_of(rest_of_word)).or_else(|| end_of(rest_of_word)) {
        return begin + n_bytes;
    }
    let Some(n_bytes) = rest.find('@') else {
        return 0;
    };
    let behind = &rest[n_bytes + 1..];
    let behind = &behind[..behind.find(is_edge).unwrap_or(behind.len())];
    begin + n_bytes + 1 + behind.rfind('@').map_or(0, |n_bytes| n_bytes + 1)
}

/// True if a character ends a word of a message.
fn is_edge(c: char) -> bool {
    c.is_whitespace() || "'\"`<>()".contains(c)
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
    let pieces = pieces(url);
    let name_before = |place: usize| match pieces.get(place.wrapping_sub(1)) {
        Some(Piece::Shown(shown)) => {
            let name = shown.to_ascii_lowercase().replace("%3f", "?").replace("%26", "&");
            let name = name.trim_end_matches('=').rsplit(|c| IN_QUERY.contains(&c) || c == ';').next();
            name.unwrap_or_default().to_owned()
        }
        _ => String::new(),
    };
    let hidden = || {
        let pieces = pieces.iter().enumerate();
        pieces.filter_map(|(place, piece)| match piece {
            Piece::Hidden(value) => Some((name_before(place), *value)),
            Piece::Shown(_) | Piece::User(_) => None,
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
    let text = without_oddities(text);
    let mut replacements = Vec::new();
    let mut before = "";
    replacements.extend(token.into_iter().flat_map(|token| words_of(token.expose())));
    for piece in urls.iter().flat_map(|url| pieces(url)) {
        match piece {
            Piece::Shown(shown) => before = shown,
            Piece::User(user) => {
                replacements.push((format!("//{user}"), "//".to_owned()));
                let (name, password) = user.trim_end_matches('@').split_once(':').unwrap_or((user, ""));
                let name = name.trim_end_matches('@');
                replacements.extend([name, password].into_iter().flat_map(words_of));
                replacements.extend(words_of(&format!("{name}:{password}")));
            }
            Piece::Hidden(value) => {
                let name = before.trim_start_matches(IN_QUERY);
                replacements.extend(IN_QUERY.map(|c| (format!("{c}{name}{value}"), format!("{c}{name}..."))));
                replacements.extend(words_of(value));
            }
        }
    }
    // Of two secrets one may begin as the other.
    replacements.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
    let text = replacements.iter().fold(text.into_owned(), |text, (secret, shown)| text.replace(secret, shown));
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

fn pieces(url: &str) -> Vec<Piece<'_>> {
    let pieces = match mistyped_scheme(url) {
        Some((scheme, n_before)) => {
            let (mut pieces, mut at, mut shown_from) = (Vec::new(), n_before, 0);
            loop {
                let n_user = user_after_scheme(&url[at..]);
                if n_user == 0 {
                    break;
                }
                pieces.extend([Piece::Shown(&url[shown_from..at]), Piece::User(&url[at..at + n_user])]);
                shown_from = at + n_user;
                // Without the user, what follows may be one.
                at = url.len() - url[shown_from..].trim_start_matches([':', '/']).len();
            }
            pieces.extend(pieces_from(&url[shown_from..], at - shown_from, scheme));
            pieces
        }
        None if before_query(url).contains("://") => pieces_from(url, 0, ""),
        None => return pieces_without_scheme(url),
    };
    let loose = |piece| match piece {
        Piece::Shown(text) => pieces_with_loose_pairs(text),
        other => vec![other],
    };
    pieces.into_iter().flat_map(loose).collect()
}

fn before_query(url: &str) -> &str {
    &url[..url.find('?').unwrap_or(url.len())]
}

/// Those of a URL that lacks its scheme, or has one that nobody knows, or of a path: `user:password@host/...`, at its beginning
/// or behind what is like `://`, or what gives access by its name behind a question mark. A path may have any other.
fn pieces_without_scheme(url: &str) -> Vec<Piece<'_>> {
    let last = before_query(url).rfind('@').map_or(0, |at| at + 1);
    let mut pieces = Vec::new();
    let (mut shown_from, mut at) = (0, 0);
    while at < last {
        // Only the scheme and its colon may be missing, or what was typed is taken for a path.
        at = url.len() - url[at..].trim_start_matches(['/', '\\', '.']).len();
        let n_user = user_with_password(url, at, last);
        if n_user > 0 {
            pieces.extend([Piece::Shown(&url[shown_from..at]), Piece::User(&url[at..at + n_user])]);
            at += n_user;
            shown_from = at;
            if mistyped_scheme(&url[at..]).is_some() {
                pieces.extend(self::pieces(&url[at..]));
                return pieces;
            }
            // Without the user, what follows may be one.
        } else if let Some(n_before) = place_of_authority(&url[at..]) {
            at += n_before;
        } else {
            break;
        }
    }
    if pieces.is_empty() && url.contains("://") {
        pieces.extend(pieces_from(url, 0, ""));
    } else if pieces.is_empty() {
        let hidden = value_of_access(url, before_query(url).len(), &["?", "&", ";", "#"]).unwrap_or(url.len());
        let (shown, hidden) = url.split_at(hidden);
        pieces.push(Piece::Shown(shown));
        pieces.extend((!hidden.is_empty()).then_some(Piece::Hidden(hidden)));
    } else {
        pieces.extend(pieces_from(&url[shown_from..], 0, "https"));
    }
    pieces
}

/// Length of `user:password@` at a place of a text whose last `@` is before `last`: the password may have a slash.
fn user_with_password(url: &str, at: usize, last: usize) -> usize {
    let authority = authority_of(&url[at..]);
    match authority.rfind('@') {
        Some(end) => {
            if authority[..end].contains(':') {
                end + 1
            } else {
                0
            }
        }
        // Behind a host stands a number, and not the beginning of a password.
        None => match authority.split_once(':') {
            Some((user, port)) if at > 0 && !user.is_empty() && !port.bytes().all(|byte| byte.is_ascii_digit()) => {
                last.saturating_sub(at)
            }
            _ => 0,
        },
    }
}

/// Behind the next slashes that may be those of `://`: two of them, or one behind what may be its colon.
fn place_of_authority(text: &str) -> Option<usize> {
    let is_begin = |(at, _): &(usize, &str)| text[..*at].ends_with(IN_SEPARATOR) || text[at + 1..].starts_with('/');
    let (at, _) = text.match_indices('/').find(is_begin)?;
    Some(text.len() - text[at..].trim_start_matches('/').len())
}

/// What was typed for the characters of `://`.
const IN_SEPARATOR: [char; 6] = [':', '/', ';', ',', '.', '|'];

/// A scheme, and its length with what follows it instead of `://`.
fn mistyped_scheme(url: &str) -> Option<(&str, usize)> {
    const SCHEMES: [&str; 12] =
        ["http", "https", "root", "roots", "xroot", "xroots", "s3", "s3+http", "s3+https", "dav", "davs", "ftp"];
    let n_scheme = url.find(IN_SEPARATOR)?;
    let rest = url[n_scheme..].trim_start_matches(IN_SEPARATOR);
    let separator = &url[n_scheme..url.len() - rest.len()];
    let is_scheme = SCHEMES.iter().any(|scheme| url[..n_scheme].eq_ignore_ascii_case(scheme));
    let is_marked = separator.starts_with(':') || (separator.len() > 1 && separator.contains('/'));
    (is_scheme && is_marked && !separator.starts_with("://")).then(|| (&url[..n_scheme], url.len() - rest.len()))
}

/// What is shown, but for the values of names that give access where they stand in no query: behind `&` and `;` in a path, or
/// behind a mark that was encoded.
fn pieces_with_loose_pairs(text: &str) -> Vec<Piece<'_>> {
    // Nobody knows where it ends: nothing is shown behind the first.
    match value_of_access(text, 0, &["&", ";", "%3f", "%26"]) {
        Some(at) => vec![Piece::Shown(&text[..at]), Piece::Hidden(&text[at..])],
        None => vec![Piece::Shown(text)],
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

/// The pieces of a URL; what is before `at` has been looked at.
fn pieces_from<'u>(url: &'u str, mut at: usize, mut scheme: &'u str) -> Vec<Piece<'u>> {
    let mut pieces = Vec::new();
    let mut shown_from = 0;
    let mut link = Link::default();
    while let Some(n_before) = url[at..].find([':', '?', '#']) {
        at += n_before;
        let rest = &url[at..];
        if rest.starts_with('?') || (rest.starts_with('#') && is_fragment(scheme, rest)) {
            pieces.push(Piece::Shown(&url[shown_from..at]));
            pieces.extend(rest.char_indices().filter(|(_, c)| IN_QUERY.contains(c)).flat_map(|(start, _)| {
                let end = rest[start + 1..].find(IN_QUERY).map_or(rest.len(), |n_bytes| start + 1 + n_bytes);
                pieces_of_pair(&rest[start..end])
            }));
            return pieces;
        }
        let n_user = if rest.starts_with("://") {
            scheme = url[..at].rsplit(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).next().unwrap_or("");
            at += 3;
            user_after_scheme(&url[at..])
        } else if rest.starts_with("::") {
            at += 2;
            link.user_at(url, at)
        } else {
            at += 1;
            0
        };
        if n_user > 0 {
            pieces.extend([Piece::Shown(&url[shown_from..at]), Piece::User(&url[at..at + n_user])]);
            at += n_user;
            shown_from = at;
        }
    }
    pieces.push(Piece::Shown(&url[shown_from..]));
    pieces
}

/// Whether what begins with `#` is for the client alone. Servers of XRootD have it in the names of files, and so have
/// local disks; of the schemes of others nobody knows. Keys of S3 have it, too, but what looks like a name with a value is
/// better hidden.
fn is_fragment(scheme: &str, rest: &str) -> bool {
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" => true,
        "" | "file" | "root" | "roots" | "xroot" | "xroots" => false,
        _ => rest.contains('='),
    }
}

fn authority_of(rest: &str) -> &str {
    &rest[..rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len())]
}

/// Length of user and password behind `://`, with their `@`.
fn user_after_scheme(rest: &str) -> usize {
    let authority = authority_of(rest);
    if let Some(n_bytes) = authority.rfind('@') {
        return n_bytes + 1;
    }
    // A password with a slash that should have been encoded: what stands where the port does is its beginning.
    let port = authority.split_once(':').map_or("", |(_, port)| port);
    if port.bytes().all(|byte| byte.is_ascii_digit()) || authority.starts_with('[') || authority.contains("::") {
        return 0;
    }
    let link = &rest[..rest.find("://").unwrap_or(rest.len())];
    link.rfind('@').map_or(0, |n_bytes| n_bytes + 1)
}

/// What stands behind `::` up to the next mark that ends a host: looked at once, however many `::` are in it.
#[derive(Default)]
struct Link {
    end: usize,
    /// Behind its last `@`.
    user_end: usize,
}

impl Link {
    /// Length of user and password behind a `::`, where a path may stand, with their `@`. `at`: no less than before.
    fn user_at(&mut self, url: &str, at: usize) -> usize {
        if at >= self.end {
            let authority = authority_of(&url[at..]);
            self.end = at + authority.len();
            self.user_end = at + authority.rfind('@').map_or(0, |n_bytes| n_bytes + 1);
        }
        if self.user_end > at && url[at..self.user_end].contains(':') { self.user_end - at } else { 0 }
    }
}

/// A part of a query with the character that begins it.
fn pieces_of_pair(pair: &str) -> Vec<Piece<'_>> {
    let (mark, content) = pair.split_at(1);
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-%".contains(&b));
    match content.split_once('=') {
        _ if content.is_empty() => vec![Piece::Shown(mark)],
        // What ends with `=` may be base64.
        Some((name, value)) if is_name(name) && !value.trim_matches('=').is_empty() => {
            let shown = Piece::Shown(&pair[..mark.len() + name.len() + 1]);
            vec![shown, if is_harmless(name, value) { Piece::Shown(value) } else { Piece::Hidden(value) }]
        }
        _ => vec![Piece::Shown(mark), Piece::Hidden(content)],
    }
}

fn is_harmless(name: &str, value: &str) -> bool {
    let is_harmless_option =
        |name| OPTIONS.iter().any(|info| info.name == name && !info.is_secret && info.takes != "a URL");
    let is_known = name.strip_prefix("arrowroot.").is_some_and(is_harmless_option)
        || matches!(name, "xrdcl.requuid" | "oss.asize");
    is_known && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/%+ ".contains(&byte))
}

#[cfg(test)]
mod tests;
