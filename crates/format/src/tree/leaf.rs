//! Leaves: what the values of a branch are.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::ids::LeafId;
use super::objects::{Gap, Object, Objects, Slot};
use crate::cursor::Cursor;
use crate::error::{Error, Result, Within};
use crate::output::Output;
use crate::streamer::{Primitive, name_text, named_base};

/// A counter that is counted itself is not known to exist; a chain of them is made to harm.
pub(super) const MAX_DEPTH: usize = 8;
/// Class version of `TLeaf` that is written (ROOT 6.40).
pub(super) const VERSION: u16 = 2;

/// A leaf, one member of each entry of a branch: its description, and the numbers of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// What it is. Leaves of files with one schema share it.
    pub description: Arc<LeafDescription>,
    /// `fLen`: number of values in an entry, or for each count of the counter; 0 stands for 1.
    pub n_values: i32,
    /// `fMinimum` and `fMaximum` as they are stored: big-endian in the last bytes of a word.
    pub limits: [u64; 2],
}

impl Deref for Leaf {
    type Target = LeafDescription;

    fn deref(&self) -> &LeafDescription {
        &self.description
    }
}

impl DerefMut for Leaf {
    fn deref_mut(&mut self) -> &mut LeafDescription {
        Arc::make_mut(&mut self.description)
    }
}

/// What the record says of a leaf that files of one schema have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafDescription {
    /// Class: `TLeafI`, `TLeafElement`, ...
    pub class: Cow<'static, str>,
    /// Version of that class.
    pub version: u16,
    /// `fBits` of the leaf as a `TObject`.
    pub bits: u32,
    /// `fName`.
    pub name: String,
    /// `fTitle`: the name with its dimensions, `"a[n][3]"`, and the range of packed floats.
    pub title: String,
    /// What is stored.
    pub kind: LeafKind,
    /// `fLenType`: bytes of a value in memory.
    pub value_bytes: i32,
    /// `fOffset`: where the value begins in an entry of several leaves, in bytes.
    pub offset: i32,
    /// `fIsRange`: whether it counts the values of another leaf.
    pub is_counter: bool,
    /// `fIsUnsigned`.
    pub is_unsigned: bool,
    /// `fLeafCount`: the leaf that says how many there are in each entry.
    pub counter: Option<LeafId>,
}

/// The class of a leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeafKind {
    /// `TLeafB` to `TLeafD32`: numbers.
    Number(Primitive),
    /// `TLeafC`: a counted string.
    Text,
    /// `TLeafElement`: the branch is a `TBranchElement`, which knows more.
    Element {
        /// `fID`, as that of the branch.
        id: i32,
        /// `fType`, an element type code: `fStreamerType` of the branch.
        type_code: i32,
    },
    /// `TLeafObject`: a whole object of the class in the title.
    Object {
        /// `fVirtual`: whether each object is named with its class.
        is_virtual: bool,
    },
    /// Another class.
    Other,
}

/// A class of leaves of numbers, or of text.
struct LeafClass {
    name: &'static str,
    version: u16,
    /// What it holds, and what if `fIsUnsigned` is set.
    types: [Primitive; 2],
    /// These stand in the title of a branch.
    codes: [char; 2],
    /// Bytes of a value in memory, and of a limit in the file.
    value_bytes: u8,
    limit_bytes: u8,
}

const fn numbers(
    name: &'static str,
    types: [Primitive; 2],
    codes: [char; 2],
    value_bytes: u8,
    limit_bytes: u8,
) -> LeafClass {
    let version = if value_bytes == limit_bytes { 1 } else { 2 };
    LeafClass { name, version, types, codes, value_bytes, limit_bytes }
}

/// Source: `TLeafO.h` to `TLeafD32.h`, `TBranch::Init` (ROOT 6.40).
const NUMBERS: [LeafClass; 10] = [
    numbers("TLeafO", [Primitive::Bool; 2], ['O'; 2], 1, 1),
    numbers("TLeafB", [Primitive::Int8, Primitive::UInt8], ['B', 'b'], 1, 1),
    numbers("TLeafS", [Primitive::Int16, Primitive::UInt16], ['S', 's'], 2, 2),
    numbers("TLeafI", [Primitive::Int32, Primitive::UInt32], ['I', 'i'], 4, 4),
    numbers("TLeafL", [Primitive::Int64, Primitive::UInt64], ['L', 'l'], 8, 8),
    numbers("TLeafG", [Primitive::Int64, Primitive::UInt64], ['G', 'g'], 8, 8),
    numbers("TLeafF", [Primitive::Float32; 2], ['F'; 2], 4, 4),
    numbers("TLeafD", [Primitive::Float64; 2], ['D'; 2], 8, 8),
    numbers("TLeafF16", [Primitive::Float16; 2], ['f'; 2], 4, 3),
    numbers("TLeafD32", [Primitive::Double32; 2], ['d'; 2], 8, 4),
];
/// The class of text, its code, and the bytes of its limits.
const TEXT: (&str, char, u8) = ("TLeafC", 'C', 4);

impl LeafClass {
    fn of_name(name: &str) -> Option<&'static LeafClass> {
        NUMBERS.iter().find(|class| class.name == name)
    }

    /// The class for numbers of that type, and whether these are its unsigned ones.
    fn of_type(primitive: Primitive) -> Option<(&'static LeafClass, bool)> {
        NUMBERS.iter().find_map(|class| {
            let index = class.types.iter().position(|&of_class| of_class == primitive)?;
            Some((class, index == 1))
        })
    }
}

impl Leaf {
    /// A leaf of numbers: `dims` are the sizes of fixed arrays in each entry, or in each count of its counter
    /// ([`super::TreeRecord::add_leaf`]).
    ///
    /// # Errors
    /// [`Error::Unsupported`] if an entry has more than 2^31 - 1 values.
    pub fn number(name: &str, primitive: Primitive, dims: &[u32]) -> Result<Leaf> {
        // Every primitive has a class: the test below says so.
        let (class, is_unsigned) = LeafClass::of_type(primitive).unwrap_or((&NUMBERS[0], false));
        let n_values = dims.iter().try_fold(1_i32, |n, &dim| n.checked_mul(i32::try_from(dim).ok()?));
        let n_values = n_values
            .filter(|&n| n > 0)
            .ok_or_else(|| Error::unsupported(0, format!("a leaf {name:?} with arrays of {dims:?}")))?;
        let dims: String = dims.iter().map(|dim| format!("[{dim}]")).collect();
        let mut leaf = Leaf::new(class.name, name, format!("{name}{dims}"), LeafKind::Number(primitive));
        leaf.n_values = n_values;
        (leaf.value_bytes, leaf.is_unsigned, leaf.version) = (class.value_bytes.into(), is_unsigned, class.version);
        Ok(leaf)
    }

    /// A leaf of text. [`Leaf::set_longest_text`] is to be called before it is written.
    pub fn text(name: &str) -> Leaf {
        Leaf::new(TEXT.0, name, name.to_owned(), LeafKind::Text)
    }

    /// The leaf of a `TBranchElement` with that `fID` and `fStreamerType`. Its title has the counter where there is one.
    pub fn element(name: &str, title: &str, id: i32, type_code: i32) -> Leaf {
        let kind = LeafKind::Element { id, type_code };
        let mut leaf = Leaf::new("TLeafElement", name, title.to_owned(), kind);
        leaf.value_bytes = 0;
        leaf
    }

    fn new(class: &'static str, name: &str, title: String, kind: LeafKind) -> Leaf {
        let description = LeafDescription {
            class: Cow::Borrowed(class),
            version: 1,
            bits: 0,
            name: name.to_owned(),
            title,
            kind,
            value_bytes: 1,
            offset: 0,
            is_counter: false,
            is_unsigned: false,
            counter: None,
        };
        Leaf { description: description.into(), n_values: 1, limits: [0; 2] }
    }

    /// The letter of its type in the title of a branch, `x/F`. Source: `TBranch::Init` (ROOT 6.40).
    pub fn code(&self) -> Option<char> {
        match self.kind {
            LeafKind::Number(_) => Some(LeafClass::of_name(&self.class)?.codes[usize::from(self.is_unsigned)]),
            LeafKind::Text => Some(TEXT.1),
            _ => None,
        }
    }

    /// `fLen` as it is meant.
    pub fn n_items(&self) -> i32 {
        if self.n_values == 0 { 1 } else { self.n_values }
    }

    /// `fMaximum` of a leaf of integers or text; of a counter it is the largest count.
    pub fn maximum(&self) -> Option<i64> {
        self.limit(1)
    }

    fn limit(&self, index: usize) -> Option<i64> {
        let unused = self.integer_bits()?;
        let word = self.limits[index] << unused;
        // Words of 8 bytes are shown as they are if they are unsigned.
        Some(if self.is_unsigned { (word >> unused).cast_signed() } else { word.cast_signed() >> unused })
    }

    /// Sets `fMaximum` of a leaf of integers. That of a counter must be the largest count: readers size their memory by it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the leaf cannot hold it.
    pub fn set_maximum(&mut self, maximum: i64) -> Result<()> {
        if let Some(unused) = self.integer_bits() {
            self.limits[1] = maximum.cast_unsigned() << unused >> unused;
            if self.maximum() == Some(maximum) {
                return Ok(());
            }
        }
        Err(Error::unsupported(0, format!("leaf {:?} ({}) cannot hold {maximum}", self.name, self.class)))
    }

    /// Says how many bytes the longest text has: `fLen` and `fMaximum` count its final zero too. Source: `TLeafC::FillBasket`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it has 2 GiB.
    pub fn set_longest_text(&mut self, n_bytes: usize) -> Result<()> {
        let with_zero = i32::try_from(n_bytes).ok().and_then(|n_bytes| n_bytes.checked_add(1));
        self.n_values = with_zero
            .ok_or_else(|| Error::unsupported(0, format!("leaf {:?} cannot hold {n_bytes} bytes", self.name)))?;
        self.set_maximum(self.n_values.into())
    }

    /// Has it say what holds for the entries of another one, too, which is of the same kind: the limits of integers, and the
    /// longest text.
    pub fn include(&mut self, other: &Leaf) {
        if self.kind == LeafKind::Text {
            self.n_values = self.n_values.max(other.n_values);
        }
        for (index, is_maximum) in [(0, false), (1, true)] {
            if let (Some(own), Some(of_other)) = (self.limit(index), other.limit(index))
                && if is_maximum { self.is_below(own, of_other) } else { self.is_below(of_other, own) }
            {
                self.limits[index] = other.limits[index];
            }
        }
    }

    /// True if one limit is less than another; those of unsigned words of 8 bytes are shown as they are.
    fn is_below(&self, one: i64, other: i64) -> bool {
        if self.is_unsigned { one.cast_unsigned() < other.cast_unsigned() } else { one < other }
    }

    /// Bits of a word that an integer limit does not use.
    fn integer_bits(&self) -> Option<u32> {
        let is_integer = match self.kind {
            LeafKind::Number(primitive) => {
                !matches!(primitive, Primitive::Float32 | Primitive::Float64 | Primitive::Float16 | Primitive::Double32)
            }
            LeafKind::Text => true,
            _ => false,
        };
        let n_bytes = self.limit_bytes();
        (is_integer && n_bytes > 0).then(|| 64 - 8 * u32::from(n_bytes))
    }

    fn limit_bytes(&self) -> u8 {
        match self.kind {
            LeafKind::Number(_) => LeafClass::of_name(&self.class).map_or(0, |class| class.limit_bytes),
            LeafKind::Text => TEXT.2,
            _ => 0,
        }
    }

    /// Writes what stands before the pointer to the counter.
    pub(super) fn write_before_counter(&self, output: &mut Output) -> Result<()> {
        output.named_base(self.bits, self.name.as_bytes(), self.title.as_bytes())?;
        output.i32(self.n_values);
        output.i32(self.value_bytes);
        output.i32(self.offset);
        output.u8(self.is_counter.into());
        output.u8(self.is_unsigned.into());
        Ok(())
    }

    /// Writes what its class adds to a `TLeaf`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is of a class that is not written.
    pub(super) fn write_own(&self, output: &mut Output) -> Result<()> {
        match self.kind {
            LeafKind::Number(_) | LeafKind::Text => {
                let unused = 8 - usize::from(self.limit_bytes());
                self.limits.iter().for_each(|limit| output.raw(&limit.to_be_bytes()[unused..]));
                Ok(())
            }
            LeafKind::Element { id, type_code } => {
                output.i32(id);
                output.i32(type_code);
                Ok(())
            }
            LeafKind::Object { is_virtual } => {
                output.u8(is_virtual.into());
                Ok(())
            }
            LeafKind::Other => {
                Err(Error::unsupported(output.position(), format!("leaves of class {} are not written", self.class)))
            }
        }
    }
}

impl LeafDescription {
    /// The description, whose texts are read still: the known one if it is the same.
    fn shared(self, name: &[u8], title: &[u8], known: Option<&Arc<LeafDescription>>) -> Arc<LeafDescription> {
        let same = known.filter(|known| {
            let has_texts = (known.name.as_bytes(), known.title.as_bytes()) == (name, title);
            has_texts && self.is_but_for_texts(known)
        });
        match same {
            Some(known) => Arc::clone(known),
            None => Arc::new(LeafDescription { name: name_text(name), title: name_text(title), ..self }),
        }
    }

    fn is_but_for_texts(&self, other: &LeafDescription) -> bool {
        let LeafDescription {
            class,
            version,
            bits,
            name: _,
            title: _,
            kind,
            value_bytes,
            offset,
            is_counter,
            is_unsigned,
            counter,
        } = other;
        (&self.class, &self.kind, &self.counter) == (class, kind, counter)
            && (self.version, self.bits, self.value_bytes) == (*version, *bits, *value_bytes)
            && (self.offset, self.is_counter, self.is_unsigned) == (*offset, *is_counter, *is_unsigned)
    }
}

/// The leaves of a record so far, and those that it perhaps has: descriptions that are the same are taken from there.
pub(super) struct Leaves<'a> {
    pub(super) read: Vec<Leaf>,
    pub(super) known: &'a [Leaf],
}

/// Reads a leaf whose class tag was read, up to `end`.
pub(super) fn read_leaf<'a>(
    cursor: &mut Cursor<'a>,
    objects: &mut Objects<'a>,
    leaves: &mut Leaves<'a>,
    class: &'a str,
    position: usize,
    end: Option<usize>,
) -> Result<LeafId> {
    if objects.leaf_depth > MAX_DEPTH {
        return Err(Error::corrupt(position, "leaves that count each other without end"));
    }
    let outer = cursor.version()?;
    let base = if class == "TLeaf" { outer } else { cursor.version()? };
    let (bits, name, title) = named_base(cursor).within(|| "leaf")?;
    let n_values = cursor.i32()?;
    let value_bytes = cursor.i32()?;
    let offset = cursor.i32()?;
    let is_counter = cursor.u8()? != 0;
    let is_unsigned = cursor.u8()? != 0;
    // The counter may be written in full here, when its own branch comes later.
    objects.leaf_depth += 1;
    let counter = read_leaf_pointer(cursor, objects, leaves).within(|| format!("leaf {}", name_text(name)));
    objects.leaf_depth -= 1;
    let counter = counter?;
    if let Some(base_end) = base.end {
        cursor.leave(base_end)?;
    }
    let (class, kind) = match (class, LeafClass::of_name(class)) {
        (_, Some(of_numbers)) => {
            (Cow::Borrowed(of_numbers.name), LeafKind::Number(of_numbers.types[usize::from(is_unsigned)]))
        }
        ("TLeafElement", _) => {
            (Cow::Borrowed("TLeafElement"), LeafKind::Element { id: cursor.i32()?, type_code: cursor.i32()? })
        }
        ("TLeafC", _) => (Cow::Borrowed("TLeafC"), LeafKind::Text),
        ("TLeafObject", _) => {
            // The first versions did not have it.
            let is_virtual = outer.end.is_none_or(|end| cursor.position() == end) || cursor.u8()? != 0;
            (Cow::Borrowed("TLeafObject"), LeafKind::Object { is_virtual })
        }
        (other, _) => (Cow::Owned(other.to_owned()), LeafKind::Other),
    };
    let rest = LeafDescription {
        class,
        version: outer.version,
        bits,
        name: String::new(),
        title: String::new(),
        kind,
        value_bytes,
        offset,
        is_counter,
        is_unsigned,
        counter,
    };
    let known = leaves.known.get(leaves.read.len()).map(|known| &known.description);
    let mut leaf = Leaf { description: rest.shared(name, title, known), n_values, limits: [0; 2] };
    let Some(end) = end.or(outer.end) else {
        return Err(Error::unsupported(position, format!("leaf {} without a byte count", leaf.name)));
    };
    let id = LeafId(u32::try_from(leaves.read.len()).map_err(|_| Error::corrupt(position, "too many leaves"))?);
    let limit_bytes = usize::from(leaf.limit_bytes());
    if cursor.position() + 2 * limit_bytes <= end {
        objects.note(cursor.position(), Gap::Limits(id, limit_bytes));
        leaf.limits = read_limits(cursor, limit_bytes)?;
    }
    cursor.leave(end)?;
    leaves.read.push(leaf);
    objects.remember(position, Object::Leaf(id));
    Ok(id)
}

/// Reads `fMinimum` and `fMaximum` of so many bytes each.
pub(super) fn read_limits(cursor: &mut Cursor<'_>, limit_bytes: usize) -> Result<[u64; 2]> {
    let mut limits = [0; 2];
    for limit in &mut limits {
        *limit = cursor.take(limit_bytes)?.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    }
    Ok(limits)
}

/// Reads a pointer to a leaf: null, a leaf seen before, or a leaf written here.
pub(super) fn read_leaf_pointer<'a>(
    cursor: &mut Cursor<'a>,
    objects: &mut Objects<'a>,
    leaves: &mut Leaves<'a>,
) -> Result<Option<LeafId>> {
    match objects.slot(cursor)? {
        Slot::Null => Ok(None),
        Slot::Seen(Some(Object::Leaf(id))) => Ok(Some(id)),
        Slot::Seen(_) => Ok(None),
        Slot::New { class, position, end } if class.starts_with("TLeaf") => {
            read_leaf(cursor, objects, leaves, class, position, end).map(Some)
        }
        Slot::New { class, position, .. } => {
            Err(Error::corrupt(position, format!("a leaf was expected, this is a {class}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Branch, TreeRecord};

    #[test]
    fn every_number_has_one_class_both_ways() {
        use Primitive::{
            Bool, Double32, Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64,
        };
        let codes = [
            (Bool, 'O'),
            (Int8, 'B'),
            (UInt8, 'b'),
            (Int16, 'S'),
            (UInt16, 's'),
            (Int32, 'I'),
            (UInt32, 'i'),
            (Int64, 'L'),
            (UInt64, 'l'),
            (Float32, 'F'),
            (Float64, 'D'),
            (Float16, 'f'),
            (Double32, 'd'),
        ];
        for (primitive, code) in codes {
            let leaf = Leaf::number("x", primitive, &[2, 3]).unwrap();
            assert_eq!((leaf.code(), leaf.n_items(), leaf.title.as_str()), (Some(code), 6, "x[2][3]"));
            let mut tree = TreeRecord::new("t", "");
            let branch = tree.add_branch(None, Branch::new("x", "")).unwrap();
            let id = tree.add_leaf(branch, leaf.clone(), None).unwrap();
            let mut output = Output::new(60);
            tree.write(&[], &mut output).unwrap();
            let read = TreeRecord::parse(&output.into_bytes(), "TTree", 60, &|| panic!("not needed")).unwrap();
            assert_eq!(read.leaf(id), &leaf, "{primitive:?}");
        }
    }

    #[test]
    fn a_maximum_is_kept_or_refused() {
        let mut leaf = Leaf::number("n", Primitive::Int16, &[]).unwrap();
        for maximum in [0, 32767, -1, -32768] {
            leaf.set_maximum(maximum).unwrap();
            assert_eq!((leaf.maximum(), leaf.limits[1] >> 16), (Some(maximum), 0));
        }
        assert!(leaf.set_maximum(32768).is_err());
        let mut unsigned = Leaf::number("n", Primitive::UInt8, &[]).unwrap();
        unsigned.set_maximum(255).unwrap();
        assert_eq!(unsigned.maximum(), Some(255));
        assert!(unsigned.set_maximum(-1).is_err() && unsigned.set_maximum(256).is_err());
        assert!(Leaf::number("x", Primitive::Float32, &[]).unwrap().set_maximum(1).is_err());
        assert!(Leaf::number("x", Primitive::Float32, &[0]).is_err());
        let mut text = Leaf::text("s");
        text.set_longest_text(300).unwrap();
        assert_eq!((text.n_values, text.maximum()), (301, Some(301)));
        assert!(text.set_longest_text(i32::MAX.unsigned_abs() as usize).is_err());
    }
}
