//! The Arrow schema that RNTuples of arrowroot record: that of the output has the columns of all inputs.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use arrowroot::{File, permanent};
use arrowroot_arrow::stored::RecordedSchema;
use arrowroot_format as format;
use format::rntuple::AttributeSet;

use super::input::Described;
use super::joined::mismatch;
use crate::error::{Error, Result};
use crate::merging::Columns;

/// The attribute set that it is in.
pub(super) const SET: &str = "ARROW";

/// The schema of the inputs so far.
#[derive(Debug)]
pub(super) struct Recorded {
    columns: Columns,
    now: Option<Known>,
    /// That before the last input, if it changed it.
    before: Option<Option<Known>>,
    /// The fields of the last input that records none.
    plain: Option<Arc<Described>>,
}

#[derive(Debug, Clone)]
struct Known {
    schema: RecordedSchema,
    /// An input records it.
    is_recorded: bool,
    /// The text of the last record.
    text: Option<String>,
}

impl Recorded {
    pub(super) fn new(columns: Columns) -> Recorded {
        Recorded { columns, now: None, before: None, plain: None }
    }

    /// Joins the columns of an input to those before.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a column whose values would mean something else; errors of reading.
    pub(super) fn read(
        &mut self,
        input: &File,
        path: &str,
        described: &Arc<Described>,
        linked: &[AttributeSet],
    ) -> Result<()> {
        self.keep();
        let is_recorded = linked.iter().any(|set| set.name == SET);
        if !is_recorded && self.plain.as_ref().is_some_and(|plain| Arc::ptr_eq(plain, described)) {
            return Ok(());
        }
        let text = if is_recorded { arrowroot::recorded_schema(input, path)? } else { None };
        if text.is_some() && self.now.as_ref().is_some_and(|now| now.text == text) {
            return Ok(());
        }
        let schema = match &text {
            Some(text) => RecordedSchema::decode(text)
                .map_err(|what| mismatch(input, path, format!("the Arrow schema that it records: {what}")))?,
            None => {
                self.plain = Some(Arc::clone(described));
                let schema = arrowroot::open_table(input, path).and_then(|opened| opened.table.arrow_schema());
                let schema = permanent(schema)?.unwrap_or_else(|_| Schema::empty());
                RecordedSchema { stored: schema.clone(), schema, splits: Vec::new() }
            }
        };
        self.before = Some(self.now.clone());
        match &mut self.now {
            None => self.now = Some(Known { schema, is_recorded: text.is_some(), text }),
            Some(now) => now.join(&schema, text, self.columns).map_err(|what| mismatch(input, path, what))?,
        }
        Ok(())
    }

    /// Forgets the last input.
    pub(super) fn forget(&mut self) {
        if let Some(before) = self.before.take() {
            (self.now, self.plain) = (before, None);
        }
    }

    /// The last input stays from now on.
    pub(super) fn keep(&mut self) {
        self.before = None;
    }

    /// The text to record; `None` if no input records one.
    ///
    /// # Errors
    /// If no record holds it.
    pub(super) fn text(self) -> Result<Option<String>> {
        let Some(now) = self.now.filter(|now| now.is_recorded) else { return Ok(None) };
        let text = now.schema.encode().map_err(|error| Error::Write(arrowroot_writer::Error::Store(error)))?;
        Ok(Some(text))
    }
}

impl Known {
    /// Joins the columns of another input. Where both have one, the record of either says more than none.
    fn join(&mut self, other: &RecordedSchema, text: Option<String>, columns: Columns) -> Result<(), String> {
        let takes_theirs = text.is_some() && !self.is_recorded;
        let joining = Joining { takes_theirs, columns };
        let schema = joining.schema(&self.schema.schema, &other.schema)?;
        let stored = joining.schema(&self.schema.stored, &other.stored)?;
        self.schema = RecordedSchema { schema, stored, splits: Vec::new() };
        self.is_recorded |= text.is_some();
        self.text = text.or(self.text.take());
        Ok(())
    }
}

/// How the fields of two schemas become those of one.
#[derive(Debug, Clone, Copy)]
struct Joining {
    /// Where both have a field, theirs counts.
    takes_theirs: bool,
    /// Which fields that only theirs has are kept.
    columns: Columns,
}

impl Joining {
    fn schema(self, ours: &Schema, theirs: &Schema) -> Result<Schema, String> {
        for their in theirs.fields() {
            let our = ours.fields().iter().find(|our| our.name() == their.name());
            if let Some(our) = our.filter(|our| !means_same(our.data_type(), their.data_type())) {
                let (ours, theirs) = (our.data_type(), their.data_type());
                return Err(format!("column {:?} is {theirs}, and {ours} in an input before", our.name()));
            }
        }
        let metadata = if self.takes_theirs { theirs } else { ours }.metadata().clone();
        Ok(Schema::new_with_metadata(self.fields(ours.fields(), theirs.fields()), metadata))
    }

    /// Columns, or members of a struct: those that only theirs has are behind the others, as the fields of the RNTuple are.
    fn fields(self, ours: &Fields, theirs: &Fields) -> Fields {
        let of = |fields: &Fields, name: &str| fields.iter().find(|field| field.name() == name).cloned();
        let known = ours.iter().map(|our| match of(theirs, our.name()) {
            Some(their) => self.field(our, &their),
            None => Arc::clone(our),
        });
        let is_new = |their: &&FieldRef| self.columns == Columns::Union && of(ours, their.name()).is_none();
        known.chain(theirs.iter().filter(is_new).cloned()).collect()
    }

    fn field(self, our: &FieldRef, their: &FieldRef) -> FieldRef {
        let is_nullable = our.is_nullable() || their.is_nullable();
        let data_type = self.data_type(our.data_type(), their.data_type());
        let said = if self.takes_theirs { their } else { our };
        if said.is_nullable() == is_nullable && *said.data_type() == data_type {
            return Arc::clone(said);
        }
        Arc::new(Field::clone(said).with_nullable(is_nullable).with_data_type(data_type))
    }

    /// The type of values that mean the same.
    fn data_type(self, ours: &DataType, theirs: &DataType) -> DataType {
        use DataType::{FixedSizeList, LargeList, LargeListView, List, ListView, Map, Struct};
        let said = if self.takes_theirs { theirs } else { ours };
        match (ours, theirs) {
            (Struct(ours), Struct(theirs)) => Struct(self.fields(ours, theirs)),
            (Map(our, _), Map(their, _)) => match (our.data_type(), their.data_type(), said) {
                // Keys and values may have any names.
                (Struct(ours), Struct(theirs), Map(entries, is_sorted)) if ours.len() == theirs.len() => {
                    let pair = ours.iter().zip(theirs).map(|(our, their)| self.field(our, their)).collect();
                    Map(Arc::new(Field::clone(entries).with_data_type(Struct(pair))), *is_sorted)
                }
                _ => said.clone(),
            },
            (
                List(our) | LargeList(our) | ListView(our) | LargeListView(our) | FixedSizeList(our, _),
                List(their) | LargeList(their) | ListView(their) | LargeListView(their) | FixedSizeList(their, _),
            ) => {
                let item = self.field(our, their);
                match said {
                    LargeList(_) => LargeList(item),
                    ListView(_) => ListView(item),
                    LargeListView(_) => LargeListView(item),
                    FixedSizeList(_, n_items) => FixedSizeList(item, *n_items),
                    _ => List(item),
                }
            }
            _ => said.clone(),
        }
    }
}

/// Whether values of two types mean the same. They are stored alike if their fields are: kinds of lists and texts, names of items
/// and dictionaries make no difference to that.
fn means_same(ours: &DataType, theirs: &DataType) -> bool {
    use DataType::{
        Binary, BinaryView, Dictionary, LargeBinary, LargeList, LargeListView, LargeUtf8, List, ListView, Map, Struct,
        Utf8, Utf8View,
    };
    match (ours, theirs) {
        (Dictionary(_, ours), theirs) => means_same(ours, theirs),
        (ours, Dictionary(_, theirs)) => means_same(ours, theirs),
        (
            List(ours) | LargeList(ours) | ListView(ours) | LargeListView(ours) | Map(ours, _),
            List(theirs) | LargeList(theirs) | ListView(theirs) | LargeListView(theirs) | Map(theirs, _),
        ) => means_same(ours.data_type(), theirs.data_type()),
        (DataType::FixedSizeList(ours, n), DataType::FixedSizeList(theirs, m)) => {
            n == m && means_same(ours.data_type(), theirs.data_type())
        }
        (
            Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView,
            Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView,
        ) => true,
        (Struct(ours), Struct(theirs)) => ours.iter().all(|our| {
            let their = theirs.iter().find(|their| their.name() == our.name());
            their.is_none_or(|their| means_same(our.data_type(), their.data_type()))
        }),
        (ours, theirs) => ours == theirs,
    }
}
