//! C++ type names.

use std::{fmt, iter};

use crate::error::{Error, Result};

/// Templates may be nested this deep.
const MAX_DEPTH: usize = 64;
/// A longer name is none: each of many branches may have it, and be asked for its type.
pub const MAX_TYPE_NAME_BYTES: usize = 8 << 10;

/// Words that do not change how values are stored.
const IGNORED_WORDS: [&str; 7] = ["const", "volatile", "struct", "class", "enum", "typename", "mutable"];

/// Namespaces of the standard library and its inline ones.
const STANDARD_NAMESPACES: [&str; 4] = ["std::__cxx11::", "std::__1::", "std::", "::"];

/// A type name taken apart, without `const` and `std::`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TypeName {
    /// Name without template arguments; words are separated by one space. What follows template arguments, as in
    /// `A<int>::B`, is here with them.
    pub name: String,
    /// Template arguments, without the allocators and comparisons that are standard. Numbers are names, too.
    pub arguments: Vec<TypeName>,
    /// How many times it is a pointer.
    pub n_pointers: usize,
}

impl TypeName {
    /// Takes a type name apart.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for what is none: no name, more than 8 KiB, brackets that do not match, templates nested deeper
    /// than 64.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { text, position: 0 };
        if text.len() > MAX_TYPE_NAME_BYTES {
            return Err(parser.error(&format!("{} bytes, more than {MAX_TYPE_NAME_BYTES}", text.len())));
        }
        let name = parser.type_name(0)?;
        match parser.peek() {
            None => Ok(name),
            Some(found) => Err(parser.error(&format!("an unexpected '{found}'"))),
        }
    }

    /// A name without arguments.
    pub fn plain(name: impl Into<String>) -> Self {
        TypeName { name: name.into(), arguments: Vec::new(), n_pointers: 0 }
    }

    /// Whether it is a pointer.
    pub fn is_pointer(&self) -> bool {
        self.n_pointers > 0
    }

    /// The number type it names, if it is one and no pointer.
    pub fn primitive(&self) -> Option<Primitive> {
        if self.is_pointer() || !self.arguments.is_empty() { None } else { Primitive::from_words(&self.name) }
    }

    /// The template argument number `i`.
    pub fn argument(&self, i: usize) -> Option<&TypeName> {
        self.arguments.get(i)
    }

    /// The same with one spelling for each number type, so that `A<Int_t>` equals `A<int>`.
    #[must_use]
    pub fn with_usual_numbers(self) -> Self {
        let name = match self.arguments.is_empty().then(|| Primitive::from_words(&self.name)).flatten() {
            Some(primitive) => primitive.name().to_owned(),
            None => self.name,
        };
        let arguments = self.arguments.into_iter().map(TypeName::with_usual_numbers).collect();
        TypeName { name, arguments, n_pointers: self.n_pointers }
    }

    /// The same with plain numbers for packed ones: `A<double>` for `A<Double32_t>`.
    #[must_use]
    pub fn unpacked(self) -> Self {
        let name = match self.name.as_str() {
            "Double32_t" => "double".to_owned(),
            "Float16_t" => "float".to_owned(),
            _ => self.name,
        };
        let arguments = self.arguments.into_iter().map(TypeName::unpacked).collect();
        TypeName { name, arguments, n_pointers: self.n_pointers }
    }

    /// Takes away the arguments that are the standard ones, and writes strings as `string`.
    fn without_standard_arguments(mut self) -> Self {
        let n_kept = match self.name.as_str() {
            "vector" | "list" | "deque" | "forward_list" | "set" | "multiset" | "unordered_set"
            | "unordered_multiset" | "unique_ptr" | "basic_string" => 1,
            "map" | "multimap" | "unordered_map" | "unordered_multimap" => 2,
            _ => return self,
        };
        while self.arguments.len() > n_kept && self.arguments.last().is_some_and(TypeName::is_standard_argument) {
            self.arguments.pop();
        }
        if self.name == "basic_string" && self.arguments.len() == 1 && self.arguments[0].name == "char" {
            self.name = "string".to_owned();
            self.arguments.clear();
        }
        self
    }

    fn is_standard_argument(&self) -> bool {
        matches!(self.name.as_str(), "allocator" | "less" | "equal_to" | "hash" | "char_traits" | "default_delete")
    }

    fn write_arguments(&self, out: &mut impl fmt::Write) -> fmt::Result {
        for (i, argument) in self.arguments.iter().enumerate() {
            write!(out, "{}{argument}", if i == 0 { "<" } else { "," })?;
        }
        out.write_str(if self.arguments.is_empty() { "" } else { ">" })
    }
}

/// A class and the scopes it is in, the innermost first: "a::b", then "a".
pub(crate) fn scopes(class: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let ends = class.char_indices().rev().filter(move |&(end, letter)| {
        match letter {
            '>' => depth += 1,
            '<' => depth -= 1,
            _ => {}
        }
        depth == 0 && class[end..].starts_with("::")
    });
    iter::once(class).chain(ends.map(|(end, _)| &class[..end]))
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.write_arguments(f)?;
        (0..self.n_pointers).try_for_each(|_| f.write_str("*"))
    }
}

struct Parser<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.position += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    fn error(&self, what: &str) -> Error {
        let shown: String = self.text.chars().take(200).collect();
        Error::unsupported(self.position, format!("the type name \"{shown}\" has {what}"))
    }

    /// Reads up to what cannot be part of a type: a comma, a closing bracket or the end.
    fn type_name(&mut self, depth: usize) -> Result<TypeName> {
        if depth > MAX_DEPTH {
            return Err(self.error("too many nested templates"));
        }
        let mut found = TypeName::plain("");
        while let Some(next) = self.peek() {
            match next {
                ',' | '>' => break,
                '<' => {
                    if !found.arguments.is_empty() {
                        return Err(self.error("two lists of template arguments"));
                    }
                    self.position += 1;
                    found.arguments = self.arguments(depth)?;
                    found = found.without_standard_arguments();
                }
                '*' => {
                    self.position += 1;
                    found.n_pointers += 1;
                }
                '&' => self.position += 1,
                _ => {
                    let word = self.word()?;
                    if !IGNORED_WORDS.contains(&word) {
                        append(&mut found, word);
                    }
                }
            }
        }
        if found.name.is_empty() {
            return Err(self.error("an empty part"));
        }
        Ok(found)
    }

    /// Reads template arguments after their opening bracket, and the closing one.
    fn arguments(&mut self, depth: usize) -> Result<Vec<TypeName>> {
        let mut arguments = Vec::new();
        if self.peek() == Some('>') {
            self.position += 1;
            return Ok(arguments);
        }
        loop {
            arguments.push(self.type_name(depth + 1)?);
            match self.peek() {
                Some(',') => self.position += 1,
                Some('>') => {
                    self.position += 1;
                    return Ok(arguments);
                }
                _ => return Err(self.error("no closing '>'")),
            }
        }
    }

    /// Reads what is not separated by spaces; all of a pair of parentheses is one word.
    fn word(&mut self) -> Result<&'a str> {
        let rest = self.rest();
        let mut depth = 0_usize;
        let mut n_bytes = rest.len();
        for (i, c) in rest.char_indices() {
            match c {
                '(' => depth += 1,
                ')' => {
                    let Some(less) = depth.checked_sub(1) else { return Err(self.error("an unmatched ')'")) };
                    depth = less;
                }
                '<' | '>' | ',' | '*' | '&' if depth == 0 => n_bytes = i,
                c if c.is_whitespace() && depth == 0 => n_bytes = i,
                _ => continue,
            }
            if n_bytes == i {
                break;
            }
        }
        if depth > 0 {
            return Err(self.error("an unmatched '('"));
        }
        self.position += n_bytes;
        Ok(&rest[..n_bytes])
    }
}

/// Appends a word to a name: after template arguments they become part of it.
fn append(found: &mut TypeName, word: &str) {
    if !found.arguments.is_empty() {
        let mut name = std::mem::take(&mut found.name);
        // Writing to a text cannot fail.
        let _ = found.write_arguments(&mut name);
        found.name = name;
        found.arguments.clear();
    }
    let is_start = found.name.is_empty();
    let word = if is_start {
        STANDARD_NAMESPACES.iter().find_map(|namespace| word.strip_prefix(namespace)).unwrap_or(word)
    } else {
        word
    };
    if !is_start && !word.starts_with("::") && !found.name.ends_with("::") {
        found.name.push(' ');
    }
    found.name.push_str(word);
}

/// A number type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Primitive {
    Bool,
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Float32,
    Float64,
    /// A `float` in memory, packed in the file.
    Float16,
    /// A `double` in memory, packed in the file.
    Double32,
}

impl Primitive {
    /// The type of that name, in all spellings of C++ and ROOT. `long` is 8 bytes, as always in files.
    pub fn from_type_name(name: &str) -> Option<Self> {
        if let Some(found) = Self::from_words(name) {
            return Some(found);
        }
        TypeName::parse(name).ok().and_then(|name| name.primitive())
    }

    /// The type of a name without `const` and `std::` whose words are separated by one space.
    fn from_words(name: &str) -> Option<Self> {
        Some(match name {
            "bool" | "Bool_t" | "_Bool" => Primitive::Bool,
            "Char_t" | "Text_t" | "int8_t" | "Int8_t" => Primitive::Int8,
            "UChar_t" | "Byte_t" | "uint8_t" | "byte" | "UInt8_t" => Primitive::UInt8,
            "Short_t" | "Version_t" | "Font_t" | "Style_t" | "Marker_t" | "Width_t" | "Color_t" | "SCoord_t"
            | "int16_t" | "Int16_t" => Primitive::Int16,
            "UShort_t" | "uint16_t" | "UInt16_t" => Primitive::UInt16,
            "Int_t" | "Ssiz_t" | "Seek_t" | "int32_t" | "Int32_t" => Primitive::Int32,
            "UInt_t" | "uint32_t" | "UInt32_t" => Primitive::UInt32,
            "Long_t" | "Long64_t" | "int64_t" | "Int64_t" | "ssize_t" | "ptrdiff_t" | "intptr_t" | "Longptr_t" => {
                Primitive::Int64
            }
            "ULong_t" | "ULong64_t" | "uint64_t" | "UInt64_t" | "size_t" | "uintptr_t" | "ULongptr_t" => {
                Primitive::UInt64
            }
            "float" | "Float_t" | "Real_t" | "Angle_t" | "Coord_t" | "Size_t" => Primitive::Float32,
            "double" | "Double_t" | "Axis_t" | "Stat_t" => Primitive::Float64,
            "Float16_t" => Primitive::Float16,
            "Double32_t" => Primitive::Double32,
            _ => return Self::from_integer_words(name),
        })
    }

    /// `unsigned long int` and the like, in any order.
    fn from_integer_words(name: &str) -> Option<Self> {
        let (mut n_long, mut is_short, mut is_char, mut is_int) = (0, false, false, false);
        let mut is_unsigned = None;
        for word in name.split(' ') {
            let flag = match word {
                "long" if n_long < 2 => {
                    n_long += 1;
                    continue;
                }
                "unsigned" | "signed" if is_unsigned.is_none() => {
                    is_unsigned = Some(word == "unsigned");
                    continue;
                }
                "short" => &mut is_short,
                "char" => &mut is_char,
                "int" => &mut is_int,
                _ => return None,
            };
            if std::mem::replace(flag, true) {
                return None;
            }
        }
        let (signed, unsigned) = match (is_char, is_short, is_int, n_long) {
            (true, false, false, 0) => (Primitive::Int8, Primitive::UInt8),
            (false, true, _, 0) => (Primitive::Int16, Primitive::UInt16),
            (false, false, _, 0) => (Primitive::Int32, Primitive::UInt32),
            (false, false, _, _) => (Primitive::Int64, Primitive::UInt64),
            _ => return None,
        };
        Some(if is_unsigned == Some(true) { unsigned } else { signed })
    }

    /// The type with that code; not those of arrays and pointers, which are 20 and 40 more.
    ///
    /// Source: `TVirtualStreamerInfo::EReadWrite` (ROOT 6.40).
    pub fn from_type_code(code: i32) -> Option<Self> {
        Some(match code {
            1 | 10 => Primitive::Int8,
            2 => Primitive::Int16,
            // 6 is a number that counts the values of another member.
            3 | 6 => Primitive::Int32,
            4 | 16 => Primitive::Int64,
            5 => Primitive::Float32,
            8 => Primitive::Float64,
            9 => Primitive::Double32,
            11 => Primitive::UInt8,
            12 => Primitive::UInt16,
            // 15 is the bits of a TObject.
            13 | 15 => Primitive::UInt32,
            14 | 17 => Primitive::UInt64,
            18 => Primitive::Bool,
            19 => Primitive::Float16,
            _ => return None,
        })
    }

    /// Its code, which [`Primitive::from_type_code`] reads; of 64 bits that of `Long64_t`, not of `long`.
    pub fn type_code(self) -> i32 {
        match self {
            Primitive::Int8 => 1,
            Primitive::Int16 => 2,
            Primitive::Int32 => 3,
            Primitive::Float32 => 5,
            Primitive::Float64 => 8,
            Primitive::Double32 => 9,
            Primitive::UInt8 => 11,
            Primitive::UInt16 => 12,
            Primitive::UInt32 => 13,
            Primitive::Int64 => 16,
            Primitive::UInt64 => 17,
            Primitive::Bool => 18,
            Primitive::Float16 => 19,
        }
    }

    /// Bytes of a value in the memory of C++.
    pub fn memory_bytes(self) -> usize {
        match self {
            Primitive::Float16 => 4,
            Primitive::Double32 => 8,
            other => other.stored_bytes(),
        }
    }

    /// Name in C++, as ROOT spells it in class names.
    pub fn name(self) -> &'static str {
        match self {
            Primitive::Bool => "bool",
            Primitive::Int8 => "char",
            Primitive::UInt8 => "unsigned char",
            Primitive::Int16 => "short",
            Primitive::UInt16 => "unsigned short",
            Primitive::Int32 => "int",
            Primitive::UInt32 => "unsigned int",
            Primitive::Int64 => "Long64_t",
            Primitive::UInt64 => "ULong64_t",
            Primitive::Float32 => "float",
            Primitive::Float64 => "double",
            Primitive::Float16 => "Float16_t",
            Primitive::Double32 => "Double32_t",
        }
    }

    /// Bytes of a value in the file; of packed types if they have no annotation (see [`Packing`](super::Packing)).
    pub fn stored_bytes(self) -> usize {
        match self {
            Primitive::Bool | Primitive::Int8 | Primitive::UInt8 => 1,
            Primitive::Int16 | Primitive::UInt16 => 2,
            Primitive::Float16 => 3,
            Primitive::Int32 | Primitive::UInt32 | Primitive::Float32 | Primitive::Double32 => 4,
            Primitive::Int64 | Primitive::UInt64 | Primitive::Float64 => 8,
        }
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
