//! The way through the bytes of a histogram, graph, parameter or list of them, by the streamer information of its file.
//!
//! Source: `TH1`, `TH2`, `TH3`, `THn`, `TProfile`, `TAxis`, `TArray`, `TGraph`, `TParameter`, `TEfficiency`, `THStack`, `TList`,
//! `TObjArray` (ROOT 6.40, and the versions before that have streamer information).

use std::ops::Range;

use arrowroot::format::streamer::{
    Element, ElementClass, ObjectSlot, ObjectSlots, StreamerInfo, StreamerInfos, object_base,
};
use arrowroot::format::{Cursor, Error, Result};

use super::classes::{
    array_of, basic, is_added, is_histogram, is_list, is_mean, is_merged_by_root, is_poly, is_poly_bin, is_same,
    is_sum, vector_of,
};
use super::layout::{Group, Layout, Manner, MemberSpan, Number, Role};
use super::means::Mean;
use super::references::{Pointee, Pointer};

/// Classes are in each other at most so deep.
const MAX_DEPTH: usize = 16;
/// `TH1::kIsAverage`: the bins of those are averaged.
const IS_AVERAGE: u32 = 1 << 18;
/// A `TList` with nothing in it behind a pointer takes so many bytes, with its class and an empty name.
pub(super) const EMPTY_LIST_BYTES: usize = 35;
/// The versions of lists from which on they have a name.
const LIST_VERSION: u16 = 5;
const ARRAY_VERSION: u16 = 3;

/// The layout of an object. `key_bytes`: of its key.
///
/// # Errors
/// As [`super::layout::Layouts::of`].
pub(crate) fn walked(class: &str, object: &[u8], key_bytes: usize, infos: &StreamerInfos) -> Result<Layout> {
    let mut layout = Layout::default();
    layout.groups.push(Group::default());
    let slots = ObjectSlots::new(key_bytes);
    let cursor = Cursor::new(object);
    let mut walk = Walk {
        cursor,
        slots,
        infos,
        layout,
        counter: 0,
        group: 0,
        own_bits: 0,
        is_shape: false,
        is_mean: false,
        doubles: Vec::new(),
    };
    walk.whole(class, "", 0)?;
    let end = walk.cursor.position();
    walk.push(end..object.len(), Role::Keep, "");
    Ok(walk.layout)
}

struct Walk<'a> {
    cursor: Cursor<'a>,
    slots: ObjectSlots<'a>,
    infos: &'a StreamerInfos,
    layout: Layout,
    /// `fBufferSize`, or `fNpoints`: numbers behind pointers.
    counter: usize,
    /// The group that sums are added to.
    group: usize,
    /// The bits of the last `TObject`.
    own_bits: u32,
    /// The polygon of a bin is walked, whose points are the same in all.
    is_shape: bool,
    /// The bin of a profile is walked, whose content is the mean.
    is_mean: bool,
    /// Where its members are that are doubles.
    doubles: Vec<usize>,
}

/// The path of a member of an object.
pub(super) fn inside(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
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
            _ => {
                if let Role::Add(_) | Role::Joined(..) | Role::Marked | Role::Weight = role {
                    self.layout.groups[self.group].sums.push(self.layout.spans.len());
                }
                self.layout.spans.push(MemberSpan { range, role, path: path.to_owned() });
            }
        }
    }

    /// Passes over bytes of a role.
    fn take(&mut self, n_bytes: usize, role: Role, path: &str) -> Result<()> {
        let start = self.cursor.position();
        self.cursor.skip(n_bytes)?;
        self.push(start..start + n_bytes, role, path);
        Ok(())
    }

    /// An object that is none's base or member; a histogram has a group of its own.
    fn whole(&mut self, class: &str, path: &str, depth: usize) -> Result<()> {
        let outer = self.group;
        if is_added(class) {
            self.layout.members.push((path.to_owned(), class.to_owned()));
        }
        if is_histogram(class) {
            self.group = self.layout.groups.len();
            self.layout.groups.push(Group::default());
        }
        let walked = self.object(class, path, depth);
        self.group = outer;
        walked
    }

    /// An object with its version.
    fn object(&mut self, class: &str, path: &str, depth: usize) -> Result<()> {
        let start = self.cursor.position();
        if depth > MAX_DEPTH {
            return Err(Error::corrupt(start, "classes in each other without end"));
        }
        if let Some(number) = array_of(class) {
            let n_bytes = self.cursor.count(number.n_bytes())? * number.n_bytes();
            self.push(start..self.cursor.position(), Role::Structure, "");
            if n_bytes == 0 {
                self.layout.empty.push((path.to_owned(), self.cursor.position()));
            }
            let role = match path.rsplit('.').next() {
                Some("fXbins") => Role::Same,
                Some("fContour") => Role::Keep,
                _ => Role::Add(number),
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
        if is_list(class) {
            self.list(class, frame.version, path, depth)?;
        } else {
            let root = StreamerInfos::of_root();
            let info: &StreamerInfo =
                self.infos.get(class, frame.version).or_else(|| root.get(class, frame.version)).ok_or_else(|| {
                    Error::unsupported(start, format!("{class} of version {} is not described", frame.version))
                })?;
            let (outer, first) = (self.is_mean, self.layout.spans.len());
            self.is_mean |= is_mean(class);
            if is_mean(class) {
                self.doubles.clear();
            }
            for element in &info.elements {
                self.member(element, class, path, depth)?;
            }
            self.is_mean = outer;
            if is_mean(class) {
                let spans = &self.layout.spans[first..];
                let at = |name: &str| {
                    let path = inside(path, name);
                    let span = spans.iter().find(|span| span.path == path)?;
                    self.doubles.contains(&span.range.start).then(|| span.range.clone())
                };
                let without = || Error::unsupported(start, format!("a {class} without its sums and means as doubles"));
                let mean = Mean::of(at).ok_or_else(without)?;
                self.layout.means.push(mean);
            }
        }
        if self.cursor.position() != end {
            return Err(Error::corrupt(self.cursor.position(), format!("a {class} that ends at {end}")));
        }
        Ok(())
    }

    /// The objects of a list, behind its version.
    fn list(&mut self, class: &str, version: u16, path: &str, depth: usize) -> Result<()> {
        let start = self.cursor.position();
        let is_array = class == "TObjArray";
        if version < if is_array { ARRAY_VERSION } else { LIST_VERSION } {
            return Err(Error::unsupported(start, format!("a {class} of version {version}")));
        }
        self.object_base(class, path)?;
        self.text(&inside(path, "fName"))?;
        let start = self.cursor.position();
        let n_objects = self.cursor.count(4)?;
        if is_array {
            self.cursor.skip(4)?;
        }
        self.push(start..self.cursor.position(), Role::Structure, "");
        for number in 0..n_objects {
            self.pointer(&inside(path, &number.to_string()), depth + 1)?;
            if !is_array {
                self.text("")?;
            }
        }
        Ok(())
    }

    /// A pointer to an object, with its class.
    fn pointer(&mut self, path: &str, depth: usize) -> Result<()> {
        let start = self.cursor.position();
        let slot = self.slots.read(&mut self.cursor)?;
        self.push(start..self.cursor.position(), Role::Structure, "");
        let class = slot.class_name().unwrap_or_default();
        let is_of_poly = is_poly_bin(&class) || self.is_shape && class == "TGraph";
        let is_walked = is_of_poly || is_added(&class) || is_list(&class) || class == "TAxis";
        let target = if is_walked { Pointee::Walked } else { Pointee::Passed };
        self.layout.pointers.push(Pointer { at: start, target });
        let ObjectSlot::Object { end, .. } = slot else { return Ok(()) };
        let end = end.ok_or_else(|| Error::unsupported(start, format!("a {class} without a byte count")))?;
        self.layout.counts.push(start..end);
        if is_walked {
            return self.whole(&class, path, depth);
        }
        if self.is_shape {
            return Err(Error::unsupported(start, format!("a bin whose polygon is a {class}")));
        }
        if is_merged_by_root(&class, self.infos) || self.infos.is_tree(&class) {
            return Err(Error::unsupported(start, format!("a {class} in a list")));
        }
        self.take(end - self.cursor.position(), Role::Keep, path)
    }

    /// The `TObject` that an object of a class is.
    fn object_base(&mut self, class: &str, path: &str) -> Result<()> {
        let start = self.cursor.position();
        let bits = object_base(&mut self.cursor)?;
        // Behind a version without a byte count, and an identifier.
        self.layout.bits.push(start + 6);
        self.own_bits = bits;
        if self.group > 0 && !path.ends_with("axis") && class == "TNamed" && bits & IS_AVERAGE != 0 {
            return Err(Error::unsupported(start, "a histogram of averages (TH1::kIsAverage)"));
        }
        self.push(start..self.cursor.position(), Role::Keep, &inside(path, "TObject"));
        Ok(())
    }

    fn text(&mut self, path: &str) -> Result<()> {
        let start = self.cursor.position();
        let n_bytes = self.cursor.string_bytes()?.len();
        let end = self.cursor.position();
        self.push(start..end - n_bytes, Role::Structure, "");
        self.push(end - n_bytes..end, Role::Keep, path);
        Ok(())
    }

    fn member(&mut self, element: &Element, class: &str, path: &str, depth: usize) -> Result<()> {
        let name = &*element.name;
        match (element.class, element.type_code) {
            (ElementClass::Base, _) if name == "TObject" => self.object_base(class, path),
            // The contents of the bins.
            (ElementClass::Base, _) if array_of(name).is_some() => {
                self.object(name, &inside(path, "contents"), depth + 1)
            }
            (ElementClass::Base, _) => self.object(name, path, depth + 1),
            (ElementClass::BasicType, code) => {
                let (number, n_bytes) = basic(code % 20).ok_or_else(|| self.unknown(element, class))?;
                let n_values = usize::try_from(element.array_length.max(1)).unwrap_or(usize::MAX);
                self.basic(class, (number, n_bytes.saturating_mul(n_values)), name, path)
            }
            (ElementClass::BasicPointer, 48) => self.numbers(name, path, 8),
            (ElementClass::BasicPointer, 58) if is_poly(class) => self.numbers(name, path, 1),
            (ElementClass::Loop, _) if is_poly(class) => self.cells(element, &inside(path, name), depth),
            (ElementClass::ObjectPointer, 64) if name == "fPoly" => {
                self.is_shape = true;
                let walked = self.pointer(&inside(path, name), depth + 1);
                self.is_shape = false;
                walked
            }
            (ElementClass::String, 65) => self.text(&inside(path, name)),
            (ElementClass::Object | ElementClass::ObjectAny, 61 | 62) => {
                self.object(&element.type_name, &inside(path, name), depth + 1)
            }
            (ElementClass::Object, 81) if is_poly(class) => self.objects(element, &inside(path, name), depth),
            (ElementClass::Stl, _) => self.vector(element, path),
            (ElementClass::ObjectPointer, 64)
                if matches!(name, "fHists" | "fPassedHistogram" | "fTotalHistogram" | "fBins") =>
            {
                self.pointer(&inside(path, name), depth + 1)
            }
            // Functions and labels: a byte count, or a pointer to nothing.
            (ElementClass::ObjectPointer | ElementClass::ObjectAnyPointer, 63 | 64 | 68 | 69) => {
                self.skipped(element, class, path, depth)
            }
            _ => Err(self.unknown(element, class)),
        }
    }

    fn basic(&mut self, class: &str, (number, n_bytes): (Option<Number>, usize), name: &str, path: &str) -> Result<()> {
        let start = self.cursor.position();
        if matches!(name, "fBufferSize" | "fNpoints" | "fNCells") {
            self.counter = usize::try_from(self.cursor.clone().i32()?).unwrap_or(0);
        }
        if name == "fBufferSize" {
            self.layout.lengths.push(start..start + n_bytes);
        }
        if self.is_mean && number == Some(Number::Float64) {
            self.doubles.push(start);
        }
        let group = &mut self.layout.groups[self.group];
        if self.group > 0 && n_bytes == 8 {
            match name {
                "fEntries" => group.n_entries = Some(self.layout.spans.len()),
                "fTsumw" => group.sum_of_weights = Some(self.layout.spans.len()),
                _ => {}
            }
        }
        let role = match number {
            Some(_) if self.is_shape && name == "fNpoints" => Role::Same,
            Some(_) if class == "TEfficiency" && name == "fWeight" => Role::Weight,
            Some(_) if self.is_mean && class == "TH2PolyBin" && name == "fContent" => Role::Keep,
            Some(Number::Float64) if class == "THnBase" && name == "fTsumw2" => Role::Marked,
            Some(number) if is_sum(class, name) => {
                let manner = Some(self.own_bits).filter(|_| class.starts_with("TParameter<"));
                let manner = manner.and_then(|bits| Manner::of_bits(bits, number));
                manner.map_or(Role::Add(number), |manner| Role::Joined(number, manner))
            }
            _ if is_same(class, name) => Role::Same,
            _ => Role::Keep,
        };
        self.take(n_bytes, role, &inside(path, name))
    }

    /// The lists of a histogram's cells, as many as a member before says: of the bins that are in each. None has its class.
    fn cells(&mut self, element: &Element, path: &str, depth: usize) -> Result<()> {
        let (start, n_cells) = (self.cursor.position(), self.counter);
        let frame = self.cursor.version()?;
        self.layout.counts.extend(frame.end.map(|end| start..end));
        self.push(start..self.cursor.position(), Role::Structure, "");
        for number in 0..n_cells {
            self.object(element.type_name.trim_end_matches('*'), &inside(path, &number.to_string()), depth + 1)?;
        }
        // Graphs in them have numbers of their points.
        self.counter = n_cells;
        match frame.end {
            Some(end) if end != self.cursor.position() => {
                Err(Error::corrupt(self.cursor.position(), format!("cells that end at {end}")))
            }
            _ => Ok(()),
        }
    }

    /// Objects one behind the other: bins outside of all polygons.
    fn objects(&mut self, element: &Element, path: &str, depth: usize) -> Result<()> {
        for number in 0..element.array_length {
            self.object(&element.type_name, &inside(path, &number.to_string()), depth + 1)?;
        }
        Ok(())
    }

    /// Numbers behind a pointer, of so many bytes each: the buffer of a histogram, the points of a graph.
    fn numbers(&mut self, name: &str, path: &str, n_each: usize) -> Result<()> {
        let start = self.cursor.position();
        let is_there = self.cursor.u8()? != 0;
        self.push(start..start + 1, Role::Structure, "");
        let is_buffer = name == "fBuffer";
        if is_there && is_buffer {
            let n_fills = self.cursor.clone().f64()?;
            if n_fills < 0.0 {
                self.layout.copied_fills.push(start + 1);
            } else if n_fills != 0.0 {
                return Err(Error::unsupported(start, "fills that are in no bin yet (TH1::BufferEmpty)"));
            }
            self.layout.lengths.push(start + 1..start + 9);
        }
        let n_bytes = if is_there { self.counter.saturating_mul(n_each) } else { 0 };
        let role = match n_each {
            8 if self.is_shape => Role::Same,
            8 if !is_buffer => Role::Points,
            _ => Role::Keep,
        };
        if n_bytes == 0 && role == Role::Points {
            self.layout.empty.push((inside(path, name), start + 1));
        }
        self.take(n_bytes, role, &inside(path, name))
    }

    /// A vector: the numbers of a `THn`, or what is kept.
    fn vector(&mut self, element: &Element, path: &str) -> Result<()> {
        let start = self.cursor.position();
        let mut behind = self.cursor;
        behind.skip_object()?;
        let path = inside(path, &element.name);
        if let Some(number) = vector_of(&element.type_name) {
            let frame = self.cursor.version()?;
            self.layout.counts.extend(frame.end.map(|end| start..end));
            let n_bytes = self.cursor.count(number.n_bytes())? * number.n_bytes();
            self.push(start..self.cursor.position(), Role::Structure, "");
            if n_bytes == 0 {
                self.layout.empty.push((path.clone(), self.cursor.position()));
            }
            let role = if *element.name == *"fData" { Role::Add(number) } else { Role::Same };
            self.take(n_bytes, role, &path)?;
        } else {
            self.layout.lengths.push(start..start + 4);
            self.take(behind.position() - start, Role::Keep, &path)?;
        }
        if self.cursor.position() != behind.position() {
            return Err(Error::corrupt(start, format!("a {} that ends at {}", element.type_name, behind.position())));
        }
        Ok(())
    }

    /// An object behind a pointer that nothing is added of.
    fn skipped(&mut self, element: &Element, class: &str, path: &str, depth: usize) -> Result<()> {
        let (name, start) = (&*element.name, self.cursor.position());
        let is_of_graph = class == "TGraph";
        if is_of_graph && name == "fHistogram" {
            // Errors of the points come behind.
            let n_points = self.counter;
            self.pointer(&inside(path, name), depth + 1)?;
            self.counter = n_points;
            return Ok(());
        }
        let target = match element.type_code {
            64 | 69 => Pointee::Passed,
            _ if is_list(element.type_name.trim_end_matches('*')) => Pointee::PassedList,
            _ => Pointee::Unknown,
        };
        self.layout.pointers.push(Pointer { at: start, target });
        let is_nothing = self.cursor.clone().u32()? == 0;
        if is_nothing {
            self.cursor.skip(4)?;
        } else {
            self.cursor.skip_object()?;
        }
        if is_of_graph && name == "fFunctions" && self.cursor.position() - start > EMPTY_LIST_BYTES {
            return Err(Error::unsupported(start, "a graph with functions"));
        }
        let role = match name {
            "fLabels" => Role::Same,
            _ => Role::Keep,
        };
        self.layout.lengths.push(start..start + 4);
        self.push(start..self.cursor.position(), role, &inside(path, name));
        Ok(())
    }

    fn unknown(&self, element: &Element, class: &str) -> Error {
        let what = format!("{class}::{} ({}) in an object to add", element.name, element.type_name);
        Error::unsupported(self.cursor.position(), what)
    }
}
