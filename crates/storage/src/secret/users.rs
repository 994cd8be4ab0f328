//! Users and passwords in URLs: where they are in a text.
//!
//! The rule: what stands between something like the beginning of a URL and an `@` is a user, unless it is the path behind a
//! host. Three beginnings are told apart.
//!
//! - *A scheme with slashes* (`https://`, `s3:///`, `htp;//`, `http:/ /`, any number of slashes and dots): all up to the last
//!   `@` before the next slash, as a token may stand there alone. `file://` has paths, and so have drives (`C:\\`).
//! - *Slashes* otherwise: the same, if a colon is in it.
//! - *A slash, an edge of a word*: the same, if a colon is in it. So `/data/a@b.root` is shown, and `/data/a:b@c.root` is not.
//!
//! Behind the first two a password may have anything in it if what stands at the place of the port is none: it ends with the
//! last `@` of its word; with the next one of the line if its word has none (spaces and quotes); and it goes on to another one
//! behind that if there is nothing but words between. What may be a port, but stands behind a name without dots or is empty
//! (`https://me:1/PW@h`), begins a password if there is an `@` in the path. So `https://h/a@b`, `s3://bucket/a@b` and
//! `root://host.ch:1094//a@b` are shown. `%40` and the wide `＠` count as `@`, `%3A` as a colon.

use std::ops::Range;

/// A user with what stands for the `@` behind it.
pub(super) struct User {
    pub(super) range: Range<usize>,
    /// Spaces or quotes are in it, or right before it: no word of the text has it alone.
    pub(super) is_spread: bool,
}

/// Characters before a place where a user may stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    Scheme,
    Slashes,
    Word,
}

struct Beginning {
    kind: Begin,
    /// With the marks.
    from: usize,
    at: usize,
    is_spread: bool,
}

/// Schemes whose URLs are known though something else stands for `://`.
const SCHEMES: [&str; 13] =
    ["http", "https", "root", "roots", "xroot", "xroots", "s3", "s3+http", "s3+https", "dav", "davs", "ftp", "ftps"];
/// Marks that end a user.
const ENDS: [&str; 4] = ["@", "%40", "%2540", "\u{ff20}"];
/// Spellings of a colon.
const COLONS: [char; 4] = [':', ';', ',', '|'];
/// More of them say nothing new.
const MOST_MARKS: usize = 64;
const SLASHES: [char; 2] = ['/', '\\'];

/// True if a character ends a word of a message.
pub(super) fn is_edge(c: char) -> bool {
    c.is_whitespace() || "'\"`<>()".contains(c)
}

pub(super) fn is_known_scheme(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.eq_ignore_ascii_case(scheme))
}

/// All users of a text, in their order. Takes the time of a few looks at each character.
pub(super) fn users(text: &str) -> Vec<User> {
    let mut ends: Vec<Range<usize>> =
        ENDS.iter().flat_map(|end| text.match_indices(end)).map(|(at, end)| at..at + end.len()).collect();
    if ends.is_empty() {
        return Vec::new();
    }
    ends.sort_unstable_by_key(|end| end.start);
    let edges: Vec<usize> = text.match_indices(is_edge).map(|(at, _)| at).collect();
    let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let beginnings = beginnings(text);
    let of_kind = |kinds: &[Begin]| -> Vec<usize> {
        beginnings.iter().filter(|begin| kinds.contains(&begin.kind)).map(|begin| begin.from).collect()
    };
    let (schemes, slashes) = (of_kind(&[Begin::Scheme]), of_kind(&[Begin::Scheme, Begin::Slashes]));
    let look = Look { text, ends, edges, lines, schemes, slashes };
    let mut users: Vec<User> = Vec::new();
    let mut seen = 0;
    for Beginning { from, mut at, is_spread, .. } in beginnings {
        if at < seen {
            continue;
        }
        let shown_from = users.last().map_or(0, |user| user.range.end).min(from);
        let before = before_marks(&text[shown_from..from]);
        let mut marks = text[shown_from + before.len()..at].to_owned();
        let mut kind = kind_of(before, &marks);
        // Without the user, what follows may be one.
        while let Some(range) = look.user_at(at, kind) {
            at = text.len() - text[range.end..].trim_start_matches(is_mark).len();
            if at > range.end && marks.len() < MOST_MARKS {
                marks.push_str(&text[range.end..at]);
                kind = kind_of(before, &marks);
            }
            seen = at;
            let is_spread = is_spread || text[range.clone()].contains(is_edge);
            users.push(User { range, is_spread });
        }
    }
    users
}

/// Where users may begin: at the begin of the text, and behind slashes and edges of words with what stands around them.
fn beginnings(text: &str) -> Vec<Beginning> {
    let mut found = Vec::new();
    let mut from = 0;
    loop {
        let rest = text[from..].trim_start_matches(is_mark);
        let at = text.len() - rest.len();
        let before = before_marks(&text[..from]);
        let marks = &text[before.len()..at];
        let kind = kind_of(before, marks);
        found.push(Beginning { kind, from, at, is_spread: kind != Begin::Word && marks.contains(is_edge) });
        match rest.find(|c| is_edge(c) || SLASHES.contains(&c)) {
            Some(n_bytes) => from = at + n_bytes,
            None => return found,
        }
    }
}

/// A text without the marks at its end that belong to those behind it.
fn before_marks(text: &str) -> &str {
    text.trim_end_matches(|c| COLONS.contains(&c) || c == '.')
}

fn is_mark(c: char) -> bool {
    SLASHES.contains(&c) || COLONS.contains(&c) || c == '.' || is_edge(c)
}

/// The kind of a beginning by what stands there, and before that.
fn kind_of(before: &str, marks: &str) -> Begin {
    if marks.ends_with(is_edge) {
        return Begin::Word;
    }
    let scheme = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).next().unwrap_or("");
    let n_slashes = marks.matches(SLASHES).count();
    let is_marked = marks.starts_with(COLONS);
    let is_like_any = is_marked && n_slashes > 1 && !marks[1..].starts_with(is_edge);
    let is_like_known = is_known_scheme(scheme) && n_slashes > usize::from(!is_marked);
    if (is_like_any && scheme.len() != 1 && !scheme.eq_ignore_ascii_case("file")) || is_like_known {
        Begin::Scheme
    } else if n_slashes > usize::from(!is_marked) {
        Begin::Slashes
    } else {
        Begin::Word
    }
}

/// A text with the places of what users are told by, each list in its order.
struct Look<'t> {
    text: &'t str,
    ends: Vec<Range<usize>>,
    edges: Vec<usize>,
    lines: Vec<usize>,
    /// Beginnings with a scheme, and those with slashes besides.
    schemes: Vec<usize>,
    slashes: Vec<usize>,
}

impl Look<'_> {
    /// The first of some places that is not before another one, or the end of the text.
    fn next(&self, indices: &[usize], from: usize) -> usize {
        indices.get(indices.partition_point(|place| *place < from)).copied().unwrap_or(self.text.len())
    }

    fn first_end(&self, part: Range<usize>) -> Option<Range<usize>> {
        let first = self.ends.get(self.ends.partition_point(|end| end.start < part.start))?;
        (first.end <= part.end).then(|| first.clone())
    }

    fn last_end(&self, part: Range<usize>) -> Option<Range<usize>> {
        let n_before = self.ends.partition_point(|end| end.end <= part.end);
        self.ends[..n_before].last().filter(|end| end.start >= part.start).cloned()
    }

    /// The user that begins at a place.
    fn user_at(&self, at: usize, kind: Begin) -> Option<Range<usize>> {
        let word_end = self.next(&self.edges, at);
        let word = &self.text[at..word_end];
        let segment = &word[..word.find(['/', '\\', '?', '#']).unwrap_or(word.len())];
        let segment_end = at + segment.len();
        if let Some(end) = self.last_end(at..segment_end) {
            let user = &self.text[at..end.start];
            return match user.find(':').or_else(|| user.find("%3A")).or_else(|| user.find("%3a")) {
                Some(colon) if kind == Begin::Word => {
                    let before_name = user[..colon].rfind(['=', ',', ';', '|', '&', '[', '{']);
                    Some(at + before_name.map_or(0, |before| before + 1)..end.end)
                }
                Some(_) => Some(at..self.with_words_behind(end.end)),
                None => (kind == Begin::Scheme).then_some(at..end.end),
            };
        }
        let (name, port) = segment.split_once(':').filter(|_| kind != Begin::Word)?;
        if name.is_empty() || name.starts_with('[') || port.starts_with(':') {
            return None;
        }
        let password = at + name.len() + 1;
        let next_scheme = self.next(&self.schemes, password);
        let last_of_word = self.last_end(password..word_end.min(next_scheme));
        let behind_port =
            port.trim_start_matches(|c: char| c.is_ascii_digit()).trim_matches([',', ';', ':', '.', ']', '}']);
        if behind_port.is_empty() {
            let path = &self.text[segment_end..word_end];
            let is_host = if port.is_empty() {
                path.starts_with("//") || path.starts_with("\\\\")
            } else {
                name.contains('.') || name == "localhost"
            };
            return last_of_word.filter(|_| !is_host && !path.starts_with('?')).map(|end| at..end.end);
        }
        let line_end = self.next(&self.lines, password).min(next_scheme);
        let end = last_of_word.or_else(|| self.first_end(password..line_end))?;
        Some(at..self.with_words_behind(end.end))
    }

    /// The end of a user whose password may have been taken for its end: there is another one behind mere words.
    fn with_words_behind(&self, mut end: usize) -> usize {
        loop {
            let host = &self.text[end..self.next(&self.edges, end)];
            let until = self.next(&self.lines, end).min(self.next(&self.slashes, end));
            let Some(next) = self.first_end(end..until).filter(|_| !host.contains(['/', '\\', '?', '#'])) else {
                return end;
            };
            let is_closing = |c: char| ",;:.)]}'\"`>".contains(c);
            let between = &self.text[end..next.start];
            if between
                .match_indices(is_closing)
                .any(|(at, mark)| between[at + mark.len()..].starts_with(char::is_whitespace))
            {
                return end;
            }
            end = next.end;
        }
    }
}
