//! Where the numbers of a histogram, graph or parameter lie in its bytes, by the streamer information of its file.
//!
//! Source: `TH1`, `TH2`, `TH3`, `TProfile`, `TAxis`, `TArray`, `TGraph`, `TParameter` (ROOT 6.40, and the versions before that have streamer
//! information).

use std::ops::Range;

use arrowroot::format::streamer::{Element, ElementClass, StreamerInfo, StreamerInfos};
use arrowroot::format::{Cursor, Error, Result};

/// Classes are in each other at most so deep.
const MAX_DEPTH: usize = 16;
/// `TH1::kIsAverage`: the bins of those are averaged.
const IS_AVERAGE: u32 = 1 << 18;
/// `TParameter::kMultiply` to `kLast`: those are merged in other ways.
const OTHER_THAN_SUMS: u32 = 0b11111 << 16;
/// A `TList` with nothing in it behind a pointer takes so many bytes, with its class and an empty name.
const EMPTY_LIST_BYTES: usize = 35;

/// The rule for the numbers of a span when an object is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Byte counts, versions, lengths: they say what follows.
    Structure,
    /// The same in all, or they cannot be added: axes.
    Same,
    /// That of the first is kept: names, colours.
    Keep,
    /// Numbers that are added.
    Add(Number),
    /// The points of a graph.
    Points,
    /// A pointer to what drawing keeps, and makes anew if it is not there.
    Drawn,
}

/// A type of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
}

impl Number {
    pub(crate) fn n_bytes(self) -> usize {
        match self {
            Number::Int8 => 1,
            Number::Int16 => 2,
            Number::Int32 | Number::Float32 => 4,
            Number::Int64 | Number::Float64 => 8,
        }
    }
}

/// Bytes of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemberSpan {
    pub(crate) range: Range<usize>,
    pub(crate) role: Role,
    /// Members from the object to these bytes, as `fXaxis.fNbins`; empty for [`Role::Structure`].
    pub(crate) path: String,
}

/// An object in bytes: where the parts of it are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    /// One behind the other, all of its bytes.
    pub(crate) spans: Vec<MemberSpan>,
    /// Byte counts, and the end of what they count.
    pub(crate) counts: Vec<Range<usize>>,
}

impl Layout {
    pub(crate) fn span(&self, path: &str) -> Option<&MemberSpan> {
        self.spans.iter().find(|span| span.path == path)
    }
}

/// True if objects of a class are graphs, whose points can be found.
pub(crate) fn is_graph(class: &str) -> bool {
    matches!(class, "TGraph" | "TGraphErrors" | "TGraphAsymmErrors")
}

/// True if objects of a class are parameters whose values are added.
pub(crate) fn is_parameter(class: &str) -> bool {
    let kind = class.strip_prefix("TParameter<").and_then(|rest| rest.strip_suffix('>'));
    kind.is_some_and(|kind| matches!(kind, "int" | "long" | "Long64_t" | "float" | "double"))
}

/// True if objects of a class are histograms or profiles, whose numbers can be found.
pub(crate) fn is_histogram(class: &str) -> bool {
    let kind = class.strip_prefix("TH").filter(|rest| rest.starts_with(['1', '2', '3']));
    kind.is_some_and(|rest| matches!(&rest[1..], "C" | "S" | "I" | "L" | "F" | "D"))
        || matches!(class, "TProfile" | "TProfile2D" | "TProfile3D")
}

/// The layout of such an object.
///
/// # Errors
/// If the bytes are not those of the class, or its numbers would not be right if they were added: fills that are in its buffer,
/// averages, products.
pub(crate) fn layout_of(class: &str, object: &[u8], infos: &StreamerInfos) -> Result<Layout> {
    let mut walk = Walk { cursor: Cursor::new(object), infos, layout: Layout::default(), counter: 0 };
    walk.object(class, "", 0)?;
    let end = walk.cursor.position();
    walk.push(end..object.len(), Role::Keep, "");
    Ok(walk.layout)
}

struct Walk<'a> {
    cursor: Cursor<'a>,
    infos: &'a StreamerInfos,
    layout: Layout,
    /// `fBufferSize`, or `fNpoints`: numbers behind pointers.
    counter: usize,
}

impl<'a> Walk<'a> {
    fn push(&mut self, range: Range<usize>, role: Role, path: &str) {
        if range.is_empty() {
            return;
        }
        match self.layout.spans.last_mut() {
            Some(last) if last.role == role && role == Role::Structure && last.range.end == range.start => {
                last.range.end = range.end;
            }
            _ => self.layout.spans.push(MemberSpan { range, role, path: path.to_owned() }),
        }
    }

    /// Passes over bytes of a role.
    fn take(&mut self, n_bytes: usize, role: Role, path: &str) -> Result<()> {
        let start = self.cursor.position();
        self.cursor.skip(n_bytes)?;
        self.push(start..start + n_bytes, role, path);
        Ok(())
    }

    /// An object with its version.
    fn object(&mut self, class: &str, path: &str, depth: usize) -> Result<()> {
        let start = self.cursor.position();
        if depth > MAX_DEPTH {
            return Err(Error::corrupt(start, "classes in each other without end"));
        }
        if let Some(number) = array_class(class) {
            let n_bytes = self.cursor.count(number.n_bytes())? * number.n_bytes();
            self.push(start..self.cursor.position(), Role::Structure, "");
            let role = if path.starts_with("fXaxis") || path.starts_with("fYaxis") || path.starts_with("fZaxis") {
                Role::Same
            } else if path == "fContour" {
                Role::Keep
            } else {
                Role::Add(number)
            };
            return self.take(n_bytes, role, path);
        }
        let frame = self.cursor.version()?;
        self.push(start..self.cursor.position(), Role::Structure, "");
        self.layout.counts.extend(frame.end.map(|end| start..end));
        let end = frame.end.ok_or_else(|| Error::unsupported(start, format!("a {class} without a byte count")))?;
        if class == "TObject" {
            return Err(Error::unsupported(start, "a TObject with a byte count"));
        }
        let root = StreamerInfos::of_root();
        let info: &StreamerInfo =
            self.infos.get(class, frame.version).or_else(|| root.get(class, frame.version)).ok_or_else(|| {
                Error::unsupported(start, format!("{class} of version {} is not described", frame.version))
            })?;
        for element in &info.elements {
            self.member(element, class, path, depth)?;
        }
        if self.cursor.position() != end {
            return Err(Error::corrupt(self.cursor.position(), format!("a {class} that ends at {end}")));
        }
        Ok(())
    }

    fn member(&mut self, element: &Element, class: &str, path: &str, depth: usize) -> Result<()> {
        let start = self.cursor.position();
        let name = &*element.name;
        let inside = || if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match (element.class, element.type_code) {
            (ElementClass::Base, _) if name == "TObject" => {
                self.cursor.skip(6)?;
                let bits = self.cursor.u32()?;
                // Referenced objects have the index of their process, too.
                let n_more = if bits & 1 << 4 != 0 { 2 } else { 0 };
                self.cursor.skip(n_more)?;
                if class.starts_with("TParameter<") && bits & OTHER_THAN_SUMS != 0 {
                    return Err(Error::unsupported(start, "a parameter that is merged otherwise than by adding"));
                }
                if path.is_empty() && class == "TNamed" && bits & IS_AVERAGE != 0 {
                    return Err(Error::unsupported(start, "a histogram of averages (TH1::kIsAverage)"));
                }
                self.push(start..self.cursor.position(), Role::Keep, &inside());
                Ok(())
            }
            // The contents of the bins.
            (ElementClass::Base, _) if array_class(name).is_some() => self.object(name, "contents", depth + 1),
            (ElementClass::Base, _) => self.object(name, path, depth + 1),
            (ElementClass::BasicType, code) => {
                let (number, n_bytes) = basic(code % 20).ok_or_else(|| self.unknown(element, class))?;
                let n_values = usize::try_from(element.array_length.max(1)).unwrap_or(usize::MAX);
                if matches!(name, "fBufferSize" | "fNpoints") {
                    self.counter = usize::try_from(self.cursor.clone().i32()?).unwrap_or(0);
                }
                let role = match number {
                    Some(number) if is_sum(class, name) => Role::Add(number),
                    _ if is_same(class, name) => Role::Same,
                    _ => Role::Keep,
                };
                self.take(n_bytes.saturating_mul(n_values), role, &inside())
            }
            (ElementClass::BasicPointer, 48) => {
                let is_there = self.cursor.u8()? != 0;
                if is_there && name == "fBuffer" && self.cursor.clone().f64()? != 0.0 {
                    return Err(Error::unsupported(start, "fills that are in no bin yet (TH1::BufferEmpty)"));
                }
                self.push(start..start + 1, Role::Structure, "");
                let n_bytes = if is_there { self.counter.saturating_mul(8) } else { 0 };
                self.take(n_bytes, if name == "fBuffer" { Role::Keep } else { Role::Points }, &inside())
            }
            (ElementClass::String, 65) => {
                let n_bytes = self.cursor.string_bytes()?.len();
                let end = self.cursor.position();
                self.push(start..end - n_bytes, Role::Structure, "");
                self.push(end - n_bytes..end, Role::Keep, &inside());
                Ok(())
            }
            (ElementClass::Object | ElementClass::ObjectAny, 61 | 62) => {
                self.object(&element.type_name, &inside(), depth + 1)
            }
            // Functions and labels: a byte count, or a pointer to nothing.
            (ElementClass::ObjectPointer | ElementClass::ObjectAnyPointer, 63 | 64 | 68 | 69) => {
                let is_nothing = self.cursor.clone().u32()? == 0;
                if is_nothing {
                    self.cursor.skip(4)?;
                } else {
                    self.cursor.skip_object()?;
                }
                let is_of_graph = class == "TGraph";
                if is_of_graph && name == "fFunctions" && self.cursor.position() - start > EMPTY_LIST_BYTES {
                    return Err(Error::unsupported(start, "a graph with functions"));
                }
                let role = match name {
                    "fLabels" => Role::Same,
                    "fHistogram" if is_of_graph => Role::Drawn,
                    _ => Role::Keep,
                };
                self.push(start..self.cursor.position(), role, &inside());
                Ok(())
            }
            _ => Err(self.unknown(element, class)),
        }
    }

    fn unknown(&self, element: &Element, class: &str) -> Error {
        let what = format!("{class}::{} ({}) in an object to add", element.name, element.type_name);
        Error::unsupported(self.cursor.position(), what)
    }
}

fn array_class(class: &str) -> Option<Number> {
    Some(match class {
        "TArrayC" => Number::Int8,
        "TArrayS" => Number::Int16,
        "TArrayI" => Number::Int32,
        "TArrayL" | "TArrayL64" => Number::Int64,
        "TArrayF" => Number::Float32,
        "TArrayD" => Number::Float64,
        _ => return None,
    })
}

/// The number of a type code, if it can be added, and its bytes in a file.
fn basic(code: i32) -> Option<(Option<Number>, usize)> {
    Some(match code {
        1 | 11 | 18 => (None, 1),
        2 | 12 => (None, 2),
        3 | 6 => (Some(Number::Int32), 4),
        13 | 15 => (None, 4),
        4 | 16 => (Some(Number::Int64), 8),
        14 | 17 => (None, 8),
        5 => (Some(Number::Float32), 4),
        8 => (Some(Number::Float64), 8),
        _ => return None,
    })
}

/// True for members that are sums over the fills.
fn is_sum(class: &str, name: &str) -> bool {
    let is_of_histogram = class.starts_with("TH") || class.starts_with("TProfile");
    is_of_histogram && (name == "fEntries" || name.starts_with("fTsum"))
        || class.starts_with("TParameter<") && name == "fVal"
        || class == "TGraph" && name == "fNpoints"
}

/// True for members that must be the same in all.
fn is_same(class: &str, name: &str) -> bool {
    name == "fNcells" || class == "TAxis" && matches!(name, "fNbins" | "fXmin" | "fXmax")
}
