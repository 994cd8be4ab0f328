//! The record of streamer information.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use ahash::{HashMap, HashMapExt, HashSet, HashSetExt};

use crate::codec::Decompressor;
use crate::column::Compiled;
use crate::cursor::Cursor;
use crate::error::{Error, Result, Within};
use crate::output::{Frame, Output};
use crate::streamer::element::{Element, ElementClass, parse_elements, write_elements};
use crate::streamer::typename::{Primitive, TypeName};
use crate::streamer::{ObjectSlot, ObjectSlots, name_text, named_base, object_base};

/// A list in which more entries cannot be read is given up: it is damaged as a whole.
const MAX_FAILED: usize = 100;
const INFO_CLASS: &str = "TStreamerInfo";
/// Name of the list of rules in the list of streamer information.
const RULES: &str = "listOfRules";
/// Status bit of a list that owns what it holds, as the list of rules does. Source: `TCollection::kIsOwner`.
const IS_OWNER: u32 = 1 << 14;
/// Class versions of `TList` and `TObjString`, as ROOT 6.40 writes them.
const LIST_VERSION: u16 = 5;
const OBJECT_STRING_VERSION: u16 = 1;
/// Length of the key of `builtin.bin`.
const BUILTIN_KEY_BYTES: usize = 64;

/// What the file says about one version of a class.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StreamerInfo {
    /// Name of the class.
    pub name: String,
    /// Checksum of its members, which identifies it where versions do not.
    pub checksum: u32,
    /// Version of the class; 1 for classes that have none.
    pub version: u16,
    /// Class version of the `TStreamerInfo` itself, on which the encoding of some members depends.
    pub info_version: u16,
    /// Title of the `TStreamerInfo` itself.
    pub title: String,
    /// Its status bits, and those of the array of its elements. See [`StreamerInfo::COMPILED_BITS`].
    pub bits: [u32; 2],
    /// Its bases and members, in the order they are stored.
    pub elements: Vec<Element>,
}

impl StreamerInfo {
    /// Class version of `TStreamerInfo`, as ROOT 6.40 writes it.
    pub const INFO_VERSION: u16 = 10;
    /// Status bits of what ROOT writes: `TVirtualStreamerInfo::kIsCompiled`.
    pub const COMPILED_BITS: [u32; 2] = [0x1_0000, 0];

    /// Writes it as an object behind a pointer.
    fn write(&self, output: &mut Output) -> Result<()> {
        let (slot, _) = output.begin_object(INFO_CLASS)?;
        let frame = output.begin(self.info_version);
        let [bits, bits_of_elements] = self.bits;
        output.named_base(bits, self.name.as_bytes(), self.title.as_bytes())?;
        output.u32(self.checksum);
        output.u32(self.version.into());
        write_elements(self, bits_of_elements, output)?;
        output.end(frame)?;
        output.end(slot)
    }

    /// The member, or base, of that name.
    pub fn element(&self, name: &str) -> Option<&Element> {
        self.elements.iter().find(|element| &*element.name == name)
    }

    /// Its base classes.
    pub fn bases(&self) -> impl Iterator<Item = &Element> {
        self.elements.iter().filter(|element| element.is_base())
    }
}

/// A rule of schema evolution: how ROOT reads a member of an older version of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// As it is written in a dictionary.
    pub text: String,
    /// Status bits of the `TObjString` that holds it.
    pub bits: u32,
}

/// Streamer information that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedInfo {
    /// Name of the class; empty if even that could not be read.
    pub name: String,
    /// Why not.
    pub error: Error,
}

/// What a file says about its classes.
#[derive(Debug, Clone, Default)]
pub struct StreamerInfos {
    infos: Vec<StreamerInfo>,
    by_name: HashMap<String, Vec<usize>>,
    /// Those whose usual spelling differs from the name.
    by_spelling: HashMap<String, Vec<usize>>,
    failed: Vec<FailedInfo>,
    /// Status bits of the list, and of the list of rules.
    bits: [u32; 2],
    rules: Vec<Rule>,
    enumerations: OnceLock<HashMap<String, Primitive>>,
    /// By the names that they have without packed numbers, those that have such.
    packed_twins: OnceLock<HashMap<String, Vec<usize>>>,
    /// The classes of users that derive from `TTree`, in their usual spelling.
    trees: OnceLock<HashSet<String>>,
    /// What was made of them: a copy of the information shares it.
    compiled: OnceLock<Arc<Compiled>>,
    /// ROOT version that wrote the file, 0 if unknown.
    root_version: u32,
}

impl StreamerInfos {
    /// Of a file that this version of ROOT wrote, as its header has it: some things were written otherwise before.
    #[must_use]
    pub fn written_by(mut self, root_version: u32) -> Self {
        self.root_version = root_version;
        self
    }

    /// These, in this order.
    pub fn of(infos: Vec<StreamerInfo>) -> Self {
        let mut all = StreamerInfos { infos, ..StreamerInfos::default() };
        all.index();
        all
    }

    /// The same with rules of schema evolution.
    #[must_use]
    pub fn with_rules(mut self, rules: Vec<Rule>) -> Self {
        self.rules = rules;
        self.bits[1] = IS_OWNER;
        self
    }

    /// What ROOT 6.40 says of its own classes that files hold most often.
    pub fn of_root() -> &'static StreamerInfos {
        builtin()
    }

    pub(crate) fn compiled(&self) -> &Arc<Compiled> {
        self.compiled.get_or_init(|| Arc::new(Compiled::new(self.infos.iter().map(|info| info.elements.len()).sum())))
    }

    /// Whether a counted array of pointers holds the objects themselves, all of the declared class, and not pointers.
    /// Source: `TStreamerInfo::ReadBuffer` of `kStreamLoop` (ROOT 6.40).
    pub fn has_loops_of_objects(&self) -> bool {
        (1..=51_508).contains(&self.root_version)
    }

    /// Reads the object of the record of streamer information, uncompressed. `key_bytes`: length of its key.
    ///
    /// What cannot be read of a class is kept as [failed](StreamerInfos::failed) and does not hinder the others.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Truncated`] if this is no list at all.
    pub fn parse(object_data: &[u8], key_bytes: usize) -> Result<Self> {
        let mut infos = StreamerInfos::default();
        let mut cursor = Cursor::new(object_data);
        let mut head = || {
            let frame = cursor.version()?;
            let bits = if frame.version > 2 { object_base(&mut cursor)? } else { 0 };
            if frame.version > 1 {
                cursor.string_bytes()?;
            }
            Ok((frame.version, bits, cursor.count(4)?))
        };
        let (list_version, bits, n_entries) = head().within(|| "streamer information")?;
        infos.bits[0] = bits;
        let mut slots = ObjectSlots::new(key_bytes);
        for i in 0..n_entries {
            let within = || format!("streamer information {i}");
            if let Err(error) = infos.entry(&mut cursor, &mut slots, list_version).within(within) {
                // Where the next one starts is not known.
                infos.failed.push(FailedInfo { name: String::new(), error });
                break;
            }
            if infos.failed.len() >= MAX_FAILED {
                break;
            }
        }
        infos.index();
        Ok(infos)
    }

    /// Reads one entry of the list; an error means that the rest of the list is lost.
    fn entry<'a>(&mut self, cursor: &mut Cursor<'a>, slots: &mut ObjectSlots<'a>, list_version: u16) -> Result<()> {
        if let ObjectSlot::Object { class, end, .. } = slots.read(cursor)? {
            if class == INFO_CLASS.as_bytes() {
                match parse_info(cursor, slots) {
                    Ok(info) => {
                        self.infos.push(info);
                        if let Some(end) = end {
                            cursor.leave(end)?;
                        }
                    }
                    Err(failed) if end.is_some() => self.failed.push(failed),
                    Err(failed) => return Err(failed.error),
                }
            } else if end.is_none() {
                cursor.skip_object()?;
            } else if class == b"TList" {
                // Nothing is read by them.
                let (bits, rules) = parse_rules(&mut cursor.clone(), &mut slots.clone()).unwrap_or_default();
                self.bits[1] = bits;
                self.rules.extend(rules);
            }
            if let Some(end) = end {
                cursor.seek(end);
            }
        }
        if list_version > 3 {
            let n_bytes = match cursor.u8()? {
                255 if list_version > 4 => cursor.u32()? as usize,
                n_bytes => usize::from(n_bytes),
            };
            cursor.skip(n_bytes)?;
        }
        Ok(())
    }

    /// Writes the object of the record of streamer information. `output` must know the length of its key.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is too long.
    ///
    /// # Source
    /// `TFile::WriteStreamerInfo`, `TList::Streamer` (ROOT 6.40).
    pub fn write(&self, output: &mut Output) -> Result<()> {
        let has_rules = !self.rules.is_empty();
        let frame = begin_list(output, self.bits[0], "", self.infos.len() + usize::from(has_rules))?;
        for info in &self.infos {
            info.write(output)?;
            output.u8(0); // no option
        }
        if has_rules {
            let (slot, _) = output.begin_object("TList")?;
            let rules = begin_list(output, self.bits[1], RULES, self.rules.len())?;
            for rule in &self.rules {
                let (slot, _) = output.begin_object("TObjString")?;
                let frame = output.begin(OBJECT_STRING_VERSION);
                output.object_base(rule.bits);
                output.string(rule.text.as_bytes())?;
                output.end(frame)?;
                output.end(slot)?;
                output.u8(0);
            }
            output.end(rules)?;
            output.end(slot)?;
            output.u8(0);
        }
        output.end(frame)
    }

    /// Rules of schema evolution.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    fn index(&mut self) {
        for (i, info) in self.infos.iter().enumerate() {
            self.by_name.entry(info.name.clone()).or_default().push(i);
            if let Some(spelling) = usual_spelling(&info.name)
                && spelling != info.name
            {
                self.by_spelling.entry(spelling).or_default().push(i);
            }
        }
    }

    /// All that are called `name`, or mean the same in another spelling.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &StreamerInfo> {
        let found = self.by_name.get(name).or_else(|| {
            let spelling = usual_spelling(name)?;
            self.by_name.get(&spelling).or_else(|| self.by_spelling.get(&spelling))
        });
        found.into_iter().flatten().filter_map(|&i| self.infos.get(i))
    }

    /// Those of the classes that are the same but for numbers which are packed: `Box<Double32_t>` where `Box<double>` is meant.
    /// RNTuples name the second where ROOT's streamers wrote the first.
    pub fn packed_twins(&self, name: &str) -> impl Iterator<Item = &StreamerInfo> {
        let twins = self.packed_twins.get_or_init(|| {
            let mut twins: HashMap<String, Vec<usize>> = HashMap::new();
            for (i, info) in self.infos.iter().enumerate().filter(|(_, info)| info.name.contains('<')) {
                let Ok(parsed) = TypeName::parse(&info.name) else { continue };
                let unpacked = parsed.clone().unpacked();
                if unpacked != parsed {
                    twins.entry(unpacked.with_usual_numbers().to_string()).or_default().push(i);
                }
            }
            twins
        });
        let spelling = if twins.is_empty() { None } else { usual_spelling(name) };
        spelling.and_then(|spelling| twins.get(&spelling)).into_iter().flatten().filter_map(|&i| self.infos.get(i))
    }

    /// The name under which the class of that name, or else of that checksum, is described.
    pub fn described_name<'s>(&'s self, name: &'s str, checksum: Option<u32>) -> &'s str {
        if self.named(name).chain(self.packed_twins(name)).next().is_some() {
            return name;
        }
        let same = |info: &&StreamerInfo| Some(info.checksum) == checksum && info.checksum != 0;
        self.infos.iter().find(same).map_or(name, |info| &info.name)
    }

    /// Whether a class is described under this very name.
    pub fn is_named(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// What the file says about a version of a class.
    pub fn get(&self, name: &str, version: u16) -> Option<&StreamerInfo> {
        self.named(name).find(|info| info.version == version)
    }

    /// What the file says about the class with that name and checksum.
    pub fn by_checksum(&self, name: &str, checksum: u32) -> Option<&StreamerInfo> {
        self.named(name).find(|info| info.checksum == checksum)
    }

    /// The highest version of a class.
    pub fn latest(&self, name: &str) -> Option<&StreamerInfo> {
        // The first one of equals, which max_by_key would not return.
        self.named(name).reduce(|best, info| if info.version > best.version { info } else { best })
    }

    /// What the file says about a base or member's class: by the checksum of a base, or its version, or any.
    pub fn of_base(&self, element: &Element) -> Option<&StreamerInfo> {
        let by_checksum =
            (element.base_checksum != 0).then(|| self.by_checksum(&element.name, element.base_checksum)).flatten();
        by_checksum
            .or_else(|| self.get(&element.name, u16::try_from(element.base_version).ok()?))
            .or_else(|| self.latest(&element.name))
    }

    /// Whether any version of `class` derives from `base`, directly or not; a class does not derive from itself.
    pub fn is_derived_from(&self, class: &str, base: &str) -> bool {
        let mut seen = HashSet::from_iter([class]);
        let mut waiting = vec![class];
        while let Some(class) = waiting.pop() {
            for element in self.named(class).flat_map(StreamerInfo::bases) {
                if &*element.name == base {
                    return true;
                }
                if seen.insert(&element.name) {
                    waiting.push(&element.name);
                }
            }
        }
        false
    }

    /// True if the objects of a class are trees: it is `TTree`, or derives from it in any version.
    ///
    /// A `TChain` is none: it has no entries of its own, but the names of files.
    pub fn is_tree(&self, class: &str) -> bool {
        if matches!(class, "TTree" | "TNtuple" | "TNtupleD") {
            return true;
        }
        let trees = self.trees.get_or_init(|| self.find_trees());
        !trees.is_empty() && trees.contains(&*spelled(class))
    }

    fn find_trees(&self) -> HashSet<String> {
        let mut derived: HashMap<Cow<'_, str>, Vec<&str>> = HashMap::new();
        for info in self.infos.iter().filter(|info| info.name != "TChain") {
            for base in info.bases() {
                derived.entry(spelled(&base.name)).or_default().push(&info.name);
            }
        }
        let mut found = HashSet::new();
        let mut waiting: Vec<&str> =
            ["TTree", "TNtuple", "TNtupleD"].iter().filter_map(|tree| derived.remove(*tree)).flatten().collect();
        while let Some(class) = waiting.pop() {
            let class = spelled(class);
            waiting.extend(derived.remove(&class).unwrap_or_default());
            found.insert(class.into_owned());
        }
        found
    }

    /// The type in which values of `name` are stored, if that is an enumeration.
    ///
    /// Files do not describe enumerations: a member of that type, or a container of them, gives it away.
    pub fn enumeration(&self, name: &str) -> Option<Primitive> {
        self.enumerations.get_or_init(|| self.find_enumerations()).get(name).copied()
    }

    fn find_enumerations(&self) -> HashMap<String, Primitive> {
        let mut found = HashMap::new();
        // Pairs of maps have enumerations as their own types, but nothing else has.
        let infos = self.infos.iter().filter(|info| !info.name.starts_with("pair<"));
        for element in infos.flat_map(|info| &info.elements) {
            let Ok(name) = TypeName::parse(&element.type_name) else { continue };
            let (name, primitive) = match element.class {
                ElementClass::BasicType => (Some(&name), element.primitive()),
                ElementClass::Stl => {
                    let is_number = Primitive::from_type_code(element.contained_type).is_some();
                    (name.argument(0), is_number.then_some(Primitive::Int32))
                }
                _ => continue,
            };
            let name = name.filter(|name| !name.is_pointer() && name.primitive().is_none());
            if let (Some(name), Some(primitive)) = (name, primitive) {
                found.insert(name.to_string(), primitive);
            }
        }
        found
    }

    /// The classes that a class derives from in any version, near ones first.
    pub fn bases_of(&self, class: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        let mut seen = HashSet::from_iter([class]);
        let mut next = 0;
        let mut waiting = Some(class);
        while let Some(class) = waiting {
            for element in self.named(class).flat_map(StreamerInfo::bases) {
                if seen.insert(&element.name) {
                    found.push(&element.name);
                }
            }
            waiting = found.get(next).copied();
            next += 1;
        }
        found
    }

    /// Whether a class and its bases are described, and have no members in any version.
    pub fn is_without_members(&self, class: &str) -> bool {
        let is_bare = |class: &str| {
            let mut infos = self.named(class).peekable();
            infos.peek().is_some() && infos.all(|info| info.elements.iter().all(Element::is_base))
        };
        is_bare(class) && self.bases_of(class).into_iter().all(is_bare)
    }

    /// Adds what ROOT's own classes look like, where the file describes them in no version.
    #[must_use]
    pub fn with_builtin(mut self) -> Self {
        let missing = builtin().infos.iter().filter(|info| self.named(&info.name).next().is_none());
        let missing: Vec<StreamerInfo> = missing.cloned().collect();
        self.infos.extend(missing);
        self.by_name.clear();
        self.by_spelling.clear();
        (self.trees, self.packed_twins) = (OnceLock::new(), OnceLock::new());
        self.index();
        self
    }

    /// Whether a class is one of ROOT's own that is known without a file.
    pub fn is_of_root(class: &str) -> bool {
        builtin().named(class).next().is_some()
    }

    /// True if objects of a class may hold others of any class, as far as the name says: ROOT's collections and folders, and all
    /// that is not ROOT's.
    pub fn may_hold_objects(class: &str) -> bool {
        let infos = builtin();
        infos.named(class).next().is_none()
            || matches!(class, "TCollection" | "TFolder")
            || infos.bases_of(class).contains(&"TCollection")
    }

    /// All of them, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &StreamerInfo> {
        self.infos.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.infos.len()
    }

    /// Whether there are none, as files with trees of numbers alone may have.
    pub fn is_empty(&self) -> bool {
        self.infos.is_empty()
    }

    /// Those that could not be read.
    pub fn failed(&self) -> &[FailedInfo] {
        &self.failed
    }
}

/// Classes of ROOT as ROOT 6.40 describes them: the record of streamer information of a file that it wrote, compressed,
/// behind its length. `tools/builtin_classes.py` makes it anew.
fn builtin() -> &'static StreamerInfos {
    static BUILTIN: OnceLock<StreamerInfos> = OnceLock::new();
    let unpack = || {
        let (n_bytes, stored) = include_bytes!("builtin.bin").split_first_chunk::<4>()?;
        let mut record = vec![0; u32::from_be_bytes(*n_bytes) as usize];
        Decompressor::new().decompress(stored, &mut record).ok()?;
        // References in it count from its key.
        StreamerInfos::parse(&record, BUILTIN_KEY_BYTES).ok()
    };
    // A mistake in it would leave classes unknown, and is what a test is for.
    BUILTIN.get_or_init(|| unpack().unwrap_or_default())
}

/// Begins a `TList`.
fn begin_list(output: &mut Output, bits: u32, name: &str, n_entries: usize) -> Result<Frame> {
    let frame = output.begin(LIST_VERSION);
    output.object_base(bits);
    output.string(name.as_bytes())?;
    output.count(n_entries)?;
    Ok(frame)
}

/// Reads a `TList` of `TObjString`s after its class tag.
fn parse_rules<'a>(cursor: &mut Cursor<'a>, slots: &mut ObjectSlots<'a>) -> Result<(u32, Vec<Rule>)> {
    let frame = cursor.version()?;
    let bits = object_base(cursor)?;
    let name = cursor.string()?;
    let n_entries = cursor.count(4)?;
    let mut rules = Vec::new();
    if name != RULES || frame.version != LIST_VERSION {
        return Ok((0, rules));
    }
    for _ in 0..n_entries {
        if let ObjectSlot::Object { class: b"TObjString", .. } = slots.read(cursor)? {
            cursor.version()?;
            let bits = object_base(cursor)?;
            rules.push(Rule { text: cursor.string()?, bits });
        }
        cursor.u8()?;
    }
    Ok((bits, rules))
}

/// The spelling in which names are compared when they are not equal as written.
fn usual_spelling(name: &str) -> Option<String> {
    if !name.contains(['<', ' ']) && !name.starts_with("std::") {
        return None;
    }
    TypeName::parse(name).ok().map(|name| name.with_usual_numbers().to_string())
}

/// The usual spelling of a name, which is itself for most.
fn spelled(name: &str) -> Cow<'_, str> {
    usual_spelling(name).map_or(Cow::Borrowed(name), Cow::Owned)
}

/// Reads a `TStreamerInfo` after its class tag.
fn parse_info<'a>(cursor: &mut Cursor<'a>, slots: &mut ObjectSlots<'a>) -> Result<StreamerInfo, FailedInfo> {
    let mut name = String::new();
    let mut parse = || {
        let info_version = cursor.version()?.version;
        let (bits, name_bytes, title) = named_base(cursor)?;
        name = name_text(name_bytes);
        let checksum = cursor.u32()?;
        let version = cursor.i32()?.unsigned_abs();
        let version = u16::try_from(version)
            .map_err(|_| Error::corrupt(cursor.position() - 4, format!("a class cannot have version {version}")))?;
        let (bits_of_elements, elements) = match slots.read(cursor)? {
            ObjectSlot::Object { .. } => parse_elements(cursor, slots)?,
            _ => (0, Vec::new()),
        };
        Ok((info_version, [bits, bits_of_elements], name_text(title), checksum, version, elements))
    };
    match parse() {
        Ok((info_version, bits, title, checksum, version, elements)) => {
            Ok(StreamerInfo { name, checksum, version, info_version, title, bits, elements })
        }
        Err(error) => {
            let error: Error = error;
            Err(FailedInfo { error: error.within(format!("streamer information of {name}")), name })
        }
    }
}

#[cfg(test)]
mod tests;
