//! Type codes of elements.
//!
//! Source: `TVirtualStreamerInfo::EReadWrite` (ROOT 6.40).

pub(super) const NOTHING: i32 = -1;
pub(super) const INT: i32 = 3;
pub(super) const CHAR_STAR: i32 = 7;
pub(super) const BITS: i32 = 15;
/// Added to the code of a number for a fixed array of it.
pub(super) const ARRAY: i32 = 20;
/// Added to the code of a number for an array of it that another member counts.
pub(super) const POINTER: i32 = 40;
pub(super) const OBJECT: i32 = 61;
pub(super) const ANY: i32 = 62;
pub(super) const OBJECT_NEVER_NULL: i32 = 63;
pub(super) const OBJECT_POINTER: i32 = 64;
pub(super) const T_STRING: i32 = 65;
pub(super) const T_OBJECT: i32 = 66;
pub(super) const T_NAMED: i32 = 67;
pub(super) const ANY_NEVER_NULL: i32 = 68;
pub(super) const ANY_POINTER: i32 = 69;
pub(super) const LOOP: i32 = 501;
/// Added to a type code for an array that another member counts and that has no flag before it. Of no file: only
/// streamers that classes have of their own write such.
pub(super) const UNFLAGGED: i32 = 1 << 20;
