//! The checksum of a class, which identifies it where versions do not.

use crate::streamer::{Element, ElementClass, StreamerInfo, TypeName};

/// Type code of an `int`, which enumerations are stored as.
const INT: i32 = 3;

impl StreamerInfo {
    /// The checksum that follows from the class's name, bases and members.
    ///
    /// For some of ROOT's classes it is not the one that ROOT writes: what is not persistent in them counts, too.
    ///
    /// # Source
    /// `TStreamerInfo::GetCheckSum`, `TClass::GetCheckSum` with `kLatestCheckSum` (ROOT 6.40).
    pub fn computed_checksum(&self) -> u32 {
        let mut sum = Checksum(0);
        sum.text(&self.name);
        for base in self.bases() {
            sum.text(&base.name);
            if base.class == ElementClass::Base {
                sum.add(base.base_checksum);
            }
        }
        for member in self.elements.iter().filter(|element| !element.is_base()) {
            if is_enumeration(member) {
                sum.add(1);
            }
            sum.text(&member.name);
            sum.text(&member.type_name);
            member.max_index.iter().for_each(|&extent| sum.add(extent));
            sum.text(counter(&member.title));
        }
        sum.0
    }
}

struct Checksum(u32);

impl Checksum {
    fn add(&mut self, value: u32) {
        self.0 = self.0.wrapping_mul(3).wrapping_add(value);
    }

    fn text(&mut self, text: &str) {
        // As `char` has a sign where ROOT is built.
        text.bytes().for_each(|byte| self.add(i32::from(byte.cast_signed()).cast_unsigned()));
    }
}

/// True if a member is of an enumeration: its type is named, and stored as an `int`.
fn is_enumeration(member: &Element) -> bool {
    let is_named = || TypeName::parse(&member.type_name).is_ok_and(|name| name.primitive().is_none());
    member.class == ElementClass::BasicType && matches!(member.type_code, INT | 23) && is_named()
}

/// The text in brackets at the start of a member's comment.
///
/// Source: `TVirtualStreamerInfo::GetElementCounterStart`.
fn counter(title: &str) -> &str {
    let start = title.trim_start_matches(|c: char| c == '/' || c.is_ascii_whitespace());
    start.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or("", |(counter, _)| counter)
}
