//! What follows the branches in the record of a tree: leaves again, aliases, indices, friends, what users added.

use std::ops::{Range, RangeInclusive};

use super::TreeRecord;
use super::references::{FoundReferences, read_references};
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::output::Output;
use crate::streamer::{name_text, object_base};
use crate::tree::leaf::read_leaf_pointer;
use crate::tree::objects::{List, Passed, Slot, read_array_head, read_named};
use crate::tree::reading::Reading;

/// Version of `TFriendElement` from which on it says whether it opens the file itself.
const FRIEND_OWNS_FILE: u16 = 2;
/// Versions of `TTreeIndex` whose values are known: the first has no minor ones.
const INDEX_VERSIONS: RangeInclusive<u16> = 1..=2;
/// The values of an index have less than this: byte counts have 30 bits, and the tree's record has more in it.
const MAX_INDEX_BYTES: usize = (1 << 30) - (16 << 20);
/// Class versions that are written (ROOT 6.40).
const VIRTUAL_INDEX_VERSION: u16 = 1;
const STRING_VERSION: u16 = 1;
const PARAMETER_VERSION: u16 = 2;
/// `TParameter::kIsConst`, which all have that are made with a value: merging them gives one if they are equal.
const IS_CONSTANT: u32 = 1 << 21;
/// The name of the list that `TTree::GetUserInfo` makes.
const USER_INFO: &str = "UserInfo";

/// The index that `TTree::BuildIndex` made, or may have made: the default says that this could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedIndex {
    /// Class, `TTreeIndex`; empty if it could not be read whether there is an index.
    pub class_name: String,
    /// The expressions of its major and minor values (`fMajorName`, `fMinorName`) if the class is `TTreeIndex`.
    pub names: Option<(String, String)>,
    /// Version of the class.
    version: u16,
    /// `fBits`, name and title of it as a `TNamed`.
    named: (u32, String, String),
    /// Where its sorted values and their entries lie in the object data: `fN`, `fIndexValues`, `fIndexValuesMinor`, `fIndex`.
    values: Range<usize>,
    /// The same, if it was made here.
    made: Option<Box<[u8]>>,
}

impl RecordedIndex {
    /// The most entries of one that is made: a record holds less than 1 GiB.
    pub const MAX_ENTRIES: usize = (MAX_INDEX_BYTES / 8 - 1) / 3;

    /// The values of each entry that an index read from a record has, sorted: major, minor, and entry. `None` if they
    /// cannot be read: version 1 of the class has the first two in one.
    ///
    /// `object_data`: of the tree. Source: `TTreeIndex::Streamer` (ROOT 6.40).
    pub fn sorted_values(&self, object_data: &[u8]) -> Option<Vec<[i64; 3]>> {
        let mut cursor = Cursor::new(object_data.get(self.values.clone())?);
        let n_entries = usize::try_from(cursor.i64().ok()?).ok()?;
        if self.version < *INDEX_VERSIONS.end() || n_entries > cursor.remaining() / 24 {
            return None;
        }
        let mut values = vec![[0; 3]; n_entries];
        for array in 0..3 {
            for value in &mut values {
                value[array] = cursor.i64().ok()?;
            }
        }
        Some(values)
    }

    /// The index of a tree by two expressions, `"0"` for one that is not there. `values`: those of each entry.
    ///
    /// Source: `TTreeIndex::TTreeIndex` (ROOT 6.40). Where several entries have the same, their order is that of the tree.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a record cannot hold so many.
    pub fn made(major: &str, minor: &str, values: &[(i64, i64)]) -> Result<RecordedIndex> {
        let n_entries = values.len();
        if n_entries > Self::MAX_ENTRIES {
            let what = format!("an index of {n_entries} entries: a record holds {} at most", Self::MAX_ENTRIES);
            return Err(Error::unsupported(0, what));
        }
        let mut order: Vec<usize> = (0..n_entries).collect();
        order.sort_by_key(|&entry| values[entry]);
        let mut made = Vec::with_capacity(8 * (1 + 3 * n_entries));
        made.extend((n_entries as u64).to_be_bytes());
        order.iter().for_each(|&entry| made.extend(values[entry].0.to_be_bytes()));
        order.iter().for_each(|&entry| made.extend(values[entry].1.to_be_bytes()));
        order.iter().for_each(|&entry| made.extend((entry as u64).to_be_bytes()));
        Ok(RecordedIndex {
            class_name: "TTreeIndex".to_owned(),
            names: Some((major.to_owned(), minor.to_owned())),
            version: *INDEX_VERSIONS.end(),
            made: Some(made.into()),
            ..RecordedIndex::default()
        })
    }
}

/// A friend of a tree, as `TFriendElement` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Friend {
    /// Version of `TFriendElement`.
    pub version: u16,
    /// `fBits` as a `TObject`.
    pub bits: u32,
    /// Alias in expressions.
    pub alias: String,
    /// Name of the tree.
    pub tree_name: String,
    /// File, if it is another one.
    pub file_name: String,
    /// `fOwnFile`: whether the friend opens that file itself.
    pub is_file_own: bool,
}

/// Something that somebody added to a tree (`TTree::GetUserInfo`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserInfo {
    /// Class: `TNamed`, `TObjString`, or `TParameter` of a number.
    pub class_name: String,
    /// `fBits` as a `TObject`.
    pub bits: u32,
    /// Name; the text of a `TObjString`.
    pub name: String,
    /// Title; the value of a `TParameter`; empty for a `TObjString`.
    pub title: String,
}

/// The members behind the branches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// Where the values of `fIndexValues` and `fIndex` lie in the object data: an index of before ROOT 4.
    old_index: [Range<usize>; 2],
    /// `fBits` and name of the lists `fAliases` and `fFriends`, and `fBits` of each alias.
    alias_list: (u32, String),
    alias_bits: Vec<u32>,
    friend_list: (u32, String),
    /// `fBits` and name of the list `fUserInfo`, if there is one.
    user_info: Option<(u32, String)>,
    /// Version of `TNtuple` or `TNtupleD`, and `fNvar`, if the tree is one.
    pub(super) variables: Option<(u16, i32)>,
    /// The part that was read and not kept, so the record cannot be written again.
    left_out: Option<String>,
    /// True if it is not known where everything in it is, kept or not.
    is_unknown: bool,
}

impl Tail {
    /// True if the values of an index of before ROOT 4 are in the object data.
    pub(super) fn has_old_index(&self) -> bool {
        self.old_index.iter().any(|range| !range.is_empty())
    }

    /// About the bytes behind its members.
    pub(super) fn n_bytes(&self) -> usize {
        let user_info = self.user_info.as_ref().map_or(0, |(_, name)| name.len());
        let left_out = self.left_out.as_ref().map_or(0, String::len);
        let names = self.alias_list.1.len() + self.friend_list.1.len() + user_info + left_out;
        names + size_of_val(self.alias_bits.as_slice())
    }

    pub(super) fn leave_out(&mut self, what: String) {
        self.left_out.get_or_insert(what);
    }

    /// Leaves out what may name baskets.
    pub(super) fn leave_out_unknown(&mut self, what: String) {
        self.leave_out(what);
        self.is_unknown = true;
    }

    /// Leaves out what was passed over in a list.
    fn pass_over(&mut self, passed: Passed, what: &str) {
        match passed {
            Passed::Nothing => {}
            Passed::WithoutBaskets => self.leave_out(what.to_owned()),
            Passed::Unknown => self.leave_out_unknown(what.to_owned()),
        }
    }
}

impl UserInfo {
    /// A `TNamed`.
    pub fn named(name: &str, title: &str) -> UserInfo {
        UserInfo { class_name: "TNamed".to_owned(), bits: 0, name: name.to_owned(), title: title.to_owned() }
    }

    /// One of that class as ROOT makes it: `title` is the value of a `TParameter` as text.
    pub fn new(class_name: &str, name: &str, title: &str) -> UserInfo {
        let bits = if class_name.starts_with("TParameter<") { IS_CONSTANT } else { 0 };
        UserInfo { class_name: class_name.to_owned(), bits, name: name.to_owned(), title: title.to_owned() }
    }

    /// Reads an object of that class, if it is one of them.
    fn read(cursor: &mut Cursor<'_>, class: &str) -> Result<Option<UserInfo>> {
        let (bits, name, title) = match class {
            "TNamed" => read_named(cursor)?,
            "TObjString" => {
                cursor.version()?;
                (object_base(cursor)?, name_text(cursor.string_bytes()?), String::new())
            }
            _ => {
                let Some(parameter) = Parameter::of_class(class) else { return Ok(None) };
                cursor.version()?;
                (object_base(cursor)?, name_text(cursor.string_bytes()?), parameter.read(cursor)?)
            }
        };
        Ok(Some(UserInfo { class_name: class.to_owned(), bits, name, title }))
    }

    fn write(&self, output: &mut Output) -> Result<()> {
        let (pointer, _) = output.begin_object(&self.class_name)?;
        match (self.class_name.as_str(), Parameter::of_class(&self.class_name)) {
            ("TNamed", _) => output.named_base(self.bits, self.name.as_bytes(), self.title.as_bytes())?,
            ("TObjString", _) => {
                let frame = output.begin(STRING_VERSION);
                output.object_base(self.bits);
                output.string(self.name.as_bytes())?;
                output.end(frame)?;
            }
            (_, Some(parameter)) => {
                let frame = output.begin(PARAMETER_VERSION);
                output.object_base(self.bits);
                output.string(self.name.as_bytes())?;
                parameter.write(&self.title, output).ok_or_else(|| {
                    Error::unsupported(
                        output.position(),
                        format!("{:?} as the value of a {}", self.title, self.class_name),
                    )
                })?;
                output.end(frame)?;
            }
            _ => return Err(Error::unsupported(output.position(), format!("a {} in fUserInfo", self.class_name))),
        }
        output.end(pointer)
    }
}

/// The value of a `TParameter`.
enum Parameter {
    Bool,
    Int32,
    Int64,
    Float32,
    Float64,
}

impl Parameter {
    fn of_class(class: &str) -> Option<Self> {
        Some(match class.strip_prefix("TParameter<")?.strip_suffix('>')? {
            "bool" => Parameter::Bool,
            "int" => Parameter::Int32,
            "Long64_t" | "long" => Parameter::Int64,
            "float" => Parameter::Float32,
            "double" => Parameter::Float64,
            _ => return None,
        })
    }

    fn read(&self, cursor: &mut Cursor<'_>) -> Result<String> {
        Ok(match self {
            Parameter::Bool => cursor.u8()?.to_string(),
            Parameter::Int32 => cursor.i32()?.to_string(),
            Parameter::Int64 => cursor.i64()?.to_string(),
            Parameter::Float32 => cursor.f32()?.to_string(),
            Parameter::Float64 => cursor.f64()?.to_string(),
        })
    }

    /// `None` if the text is no such value.
    fn write(&self, text: &str, output: &mut Output) -> Option<()> {
        match self {
            Parameter::Bool => output.u8(text.parse().ok()?),
            Parameter::Int32 => output.i32(text.parse().ok()?),
            Parameter::Int64 => output.i64(text.parse().ok()?),
            Parameter::Float32 => output.f32(text.parse().ok()?),
            Parameter::Float64 => output.f64(text.parse().ok()?),
        }
        Some(())
    }
}

impl Friend {
    /// A friend as `TTree::AddFriend` records it: `file_name` is empty for a tree of the same file.
    pub fn new(alias: &str, tree_name: &str, file_name: &str) -> Friend {
        Friend {
            version: FRIEND_OWNS_FILE,
            bits: 0,
            alias: alias.to_owned(),
            tree_name: tree_name.to_owned(),
            file_name: file_name.to_owned(),
            is_file_own: !file_name.is_empty(),
        }
    }

    fn read(cursor: &mut Cursor<'_>, class: &str) -> Result<Option<Friend>> {
        if class != "TFriendElement" {
            return Ok(None);
        }
        let frame = cursor.version()?;
        let (bits, alias, file_name) = read_named(cursor)?;
        let tree_name = cursor.string()?;
        let has_flag = frame.end.is_some_and(|end| cursor.position() < end);
        let is_file_own = if has_flag { cursor.u8()? != 0 } else { !file_name.is_empty() };
        let version = if has_flag { frame.version.max(FRIEND_OWNS_FILE) } else { frame.version };
        Ok(Some(Friend { version, bits, alias, tree_name, file_name, is_file_own }))
    }

    fn write(&self, output: &mut Output) -> Result<()> {
        let (pointer, _) = output.begin_object("TFriendElement")?;
        let frame = output.begin(self.version);
        output.named_base(self.bits, self.alias.as_bytes(), self.file_name.as_bytes())?;
        output.string(self.tree_name.as_bytes())?;
        if self.version >= FRIEND_OWNS_FILE {
            output.u8(self.is_file_own.into());
        }
        output.end(frame)?;
        output.end(pointer)
    }
}

fn read_alias(cursor: &mut Cursor<'_>, class: &str) -> Result<Option<(u32, String, String)>> {
    if class == "TNamed" { read_named(cursor).map(Some) } else { Ok(None) }
}

impl TreeRecord {
    /// Leaves out what finds entries by their values: it is right for these entries alone.
    pub fn remove_index(&mut self) {
        self.index = None;
        self.tail.old_index = Default::default();
    }

    /// True if the record names no baskets but those of its branches and of its references: what else is in it, kept or not, is
    /// the same wherever they are.
    pub fn has_known_parts(&self) -> bool {
        !self.tail.is_unknown
    }

    /// Goes on behind the branches to the end of the record.
    pub(super) fn read_tail<'a>(&mut self, cursor: &mut Cursor<'a>, reading: &mut Reading<'a>) {
        if self.read_to_index(cursor, reading).is_err() {
            // Nobody may take the tree for one without an index.
            self.index = Some(RecordedIndex::default());
            self.tail.leave_out_unknown("what follows the branches, which could not be read".to_owned());
        } else if self.read_after_index(cursor, reading).is_err() {
            self.tail.leave_out_unknown("friends or what users added, which could not be read".to_owned());
        }
    }

    fn read_to_index<'a>(&mut self, cursor: &mut Cursor<'a>, reading: &mut Reading<'a>) -> Result<()> {
        if !(16..=20).contains(&self.version) {
            let what = format!("what follows the branches of TTree version {}", self.version);
            return Err(Error::unsupported(cursor.position(), what));
        }
        let head = read_array_head(cursor)?; // fLeaves: all seen before
        self.array_bits[1] = head.bits;
        self.listed_leaves.reserve(head.n_objects);
        for _ in 0..head.n_objects {
            self.listed_leaves.extend(read_leaf_pointer(cursor, &mut reading.objects, &mut reading.leaves)?);
        }
        if let Some(end) = head.end {
            cursor.leave(end)?;
        }
        let aliases = List::read(cursor, &mut reading.objects, read_alias)?;
        self.tail.pass_over(aliases.passed, "some of its aliases");
        self.tail.alias_list = (aliases.bits, aliases.name);
        for (bits, name, title) in aliases.items {
            self.tail.alias_bits.push(bits);
            self.aliases.push((name, title));
        }
        for (values, item_bytes) in self.tail.old_index.iter_mut().zip([8, 4]) {
            let n_bytes = cursor.count(item_bytes)? * item_bytes;
            if n_bytes > 0 {
                *values = cursor.position()..cursor.position() + n_bytes;
                cursor.skip(n_bytes)?;
            }
        }
        self.index = self.read_index(cursor, reading)?;
        Ok(())
    }

    fn read_after_index<'a>(&mut self, cursor: &mut Cursor<'a>, reading: &mut Reading<'a>) -> Result<()> {
        let friends = List::read(cursor, &mut reading.objects, Friend::read)?;
        self.tail.pass_over(friends.passed, "some of its friends");
        self.tail.friend_list = (friends.bits, friends.name);
        self.friends = friends.items;
        let user_info = List::read(cursor, &mut reading.objects, UserInfo::read)?;
        self.tail.pass_over(user_info.passed, "objects in its fUserInfo");
        if !user_info.items.is_empty() {
            self.tail.user_info = Some((user_info.bits, user_info.name));
            self.user_info = user_info.items;
        }
        match read_references(cursor, reading)? {
            FoundReferences::Nothing => {}
            FoundReferences::Here(references) => self.references = Some(references),
            FoundReferences::InPart => {
                self.tail.leave_out_unknown("objects in its fBranchRef".to_owned());
            }
        }
        Ok(())
    }

    /// Reads the pointer `fTreeIndex`. Source: `TTreeIndex::Streamer`, versions 1 and 2 (ROOT 6.40).
    fn read_index<'a>(&mut self, cursor: &mut Cursor<'a>, reading: &mut Reading<'a>) -> Result<Option<RecordedIndex>> {
        match reading.objects.slot(cursor)? {
            Slot::Null => Ok(None),
            Slot::New { class, end: Some(end), .. } => {
                let mut index = RecordedIndex { class_name: class.to_owned(), ..RecordedIndex::default() };
                if class == "TTreeIndex" {
                    index.version = cursor.version()?.version;
                    let base = cursor.version()?; // TVirtualIndex: a TNamed, and no members
                    index.named = read_named(cursor)?;
                    if let Some(base_end) = base.end {
                        cursor.leave(base_end)?;
                    }
                    index.names = Some((cursor.string()?, cursor.string()?));
                    index.values = cursor.position()..end;
                }
                if !INDEX_VERSIONS.contains(&index.version) {
                    self.tail.leave_out_unknown(format!("a {class} of version {}", index.version));
                }
                cursor.leave(end)?; // the columns have these values and entry numbers too
                Ok(Some(index))
            }
            Slot::Seen(_) => {
                self.tail.leave_out("an index that is something else too".to_owned());
                Ok(Some(RecordedIndex::default()))
            }
            Slot::New { class, position, .. } => {
                Err(Error::unsupported(position, format!("a {class} without a byte count")))
            }
        }
    }

    /// Writes what follows the leaves, up to `fBranchRef`.
    pub(super) fn write_tail(&self, object_data: &[u8], output: &mut Output) -> Result<()> {
        if let Some(what) = &self.tail.left_out {
            return Err(Error::unsupported(
                output.position(),
                format!("{what}: this was not kept and cannot be written"),
            ));
        }
        let values = |range: &Range<usize>, output: &Output| {
            object_data
                .get(range.clone())
                .ok_or_else(|| Error::unsupported(output.position(), "an index without the record it was in"))
        };
        let (bits, name) = self.tail.alias_list.clone();
        let all_bits = self.tail.alias_bits.iter().copied().chain(std::iter::repeat(0));
        let aliases = List { items: self.aliases.iter().zip(all_bits).collect(), bits, name, passed: Passed::Nothing };
        aliases.write(output, |output, ((name, title), bits)| {
            let (pointer, _) = output.begin_object("TNamed")?;
            output.named_base(*bits, name.as_bytes(), title.as_bytes())?;
            output.end(pointer)
        })?;
        for (range, item_bytes) in self.tail.old_index.iter().zip([8, 4]) {
            let bytes = values(range, output)?;
            output.count(bytes.len() / item_bytes)?;
            output.raw(bytes);
        }
        match &self.index {
            None => output.null(),
            Some(RecordedIndex { class_name, version, named, names: Some((major, minor)), values: range, made }) => {
                let (pointer, _) = output.begin_object(class_name)?;
                let frame = output.begin(*version);
                let base = output.begin(VIRTUAL_INDEX_VERSION);
                let (bits, name, title) = named;
                output.named_base(*bits, name.as_bytes(), title.as_bytes())?;
                output.end(base)?;
                output.string(major.as_bytes())?;
                output.string(minor.as_bytes())?;
                output.raw(match made {
                    Some(made) => made,
                    None => values(range, output)?,
                });
                output.end(frame)?;
                output.end(pointer)?;
            }
            Some(RecordedIndex { class_name, .. }) => {
                return Err(Error::unsupported(output.position(), format!("an index of class {class_name:?}")));
            }
        }
        let (bits, name) = self.tail.friend_list.clone();
        let friends = List { items: self.friends.iter().collect(), bits, name, passed: Passed::Nothing };
        friends.write(output, |output, friend| friend.write(output))?;
        let (bits, name) = self.tail.user_info.clone().unwrap_or((0, USER_INFO.to_owned()));
        let user_info = List { items: self.user_info.iter().collect(), bits, name, passed: Passed::Nothing };
        user_info.write(output, |output, info| info.write(output))?;
        Ok(())
    }
}
