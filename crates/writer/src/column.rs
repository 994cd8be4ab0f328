//! A column of a table that is written.

use arrowroot_arrow::stored::default_bytes;
use arrowroot_format::column::DataType;

use crate::error::{Error, Result};
use crate::field_type::FieldType;
use crate::settings::{Annotation, ColumnCodec, ColumnLayout, Precision};

/// An entry of a new column takes at most so much where it has no value: the entries before it have none.
const MAX_DEFAULT_BYTES: u64 = 1 << 26;

/// A column as both formats take it.
#[derive(Debug, Clone)]
pub struct Column {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) data_type: DataType,
    pub(crate) counter: Option<String>,
    pub(crate) layout: ColumnLayout,
    pub(crate) compression: ColumnCodec,
}

impl Column {
    /// Its name in Arrow.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is stored of it.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// True if lists in it have a length that their C++ type says, as `std::array`.
    pub(crate) fn has_lengths_by_type(&self) -> bool {
        self.layout.types.iter().any(|(_, text)| FieldType::parse(text).is_ok_and(|found| found.has_lengths()))
    }

    /// Its type without the levels of the lists of structs of which it is a member, if it is one.
    fn late_type(&self) -> &DataType {
        let mut found = &self.data_type;
        // The names of the levels down to it, with dots between; names may have dots, too.
        let way = self.layout.record.as_ref().and_then(|record| self.name.strip_prefix(record.as_str()));
        let mut way = way.and_then(|way| way.strip_prefix('.')).unwrap_or_default();
        while !way.is_empty() {
            match found {
                DataType::List(item) | DataType::FixedList(item, _) | DataType::Optional(item) => found = item,
                DataType::Struct(members) if members.len() == 1 => {
                    let rest = way.strip_prefix(&*members[0].0).unwrap_or_default();
                    (found, way) = (&members[0].1, rest.strip_prefix('.').unwrap_or_default());
                }
                _ => break,
            }
        }
        found
    }

    /// That entries may have the default value.
    pub(crate) fn check_default(&self) -> Result<()> {
        let range = match self.layout.precision {
            Precision::Quantized { min, max, .. } => Some((min, max)),
            Precision::Double32(Annotation { range, .. }) | Precision::Float16(Annotation { range, .. }) => range,
            _ => None,
        };
        let types = self.layout.types.iter().filter_map(|(_, text)| FieldType::parse(text).ok());
        let mut ranges = range.into_iter().chain(types.flat_map(|found| found.ranges()));
        let what = if default_bytes(&self.data_type) > MAX_DEFAULT_BYTES {
            format!("entries of more than {} MiB each", MAX_DEFAULT_BYTES >> 20)
        } else if has_number_by_default(self.late_type()) && ranges.any(|(min, max)| min > 0.0 || max < 0.0) {
            "a precision whose range lacks 0".to_owned()
        } else {
            return Ok(());
        };
        let what = format!(
            "column {:?}: {what}: a column that comes up later is 0 in the entries before, or empty",
            self.name
        );
        Err(Error::InvalidRequest { what })
    }
}

/// True if the default value of a type has a number in it.
fn has_number_by_default(data_type: &DataType) -> bool {
    match data_type {
        DataType::Primitive(_) => true,
        DataType::FixedList(item, _) | DataType::Optional(item) => has_number_by_default(item),
        DataType::Struct(members) => members.iter().any(|(_, member)| has_number_by_default(member)),
        _ => false,
    }
}
