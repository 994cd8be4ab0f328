//! Where tables record their schema.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrowroot_arrow::TextForm;
use arrowroot_arrow::stored::{RecordedSchema, SCHEMA_RECORD, original_name};
use arrowroot_file::Result;

use crate::ntuple::Ntuple;
use crate::scan::{Entries, Order, Request};
use crate::table::Table;
use crate::tree::Tree;

/// The attribute set of an RNTuple with what Arrow says of it.
const ARROW_SET: &str = "ARROW";
/// The record of its entries that has the members `key` and `value`.
const USER_DATA: &str = "_userData";
/// It has a handful of entries; of more, these are read.
const MAX_ATTRIBUTES: u64 = 100;

/// The text of the record of a tree: a `TNamed` in its list of user information.
pub(crate) fn tree_record(tree: &Tree) -> Option<&str> {
    let mut infos = tree.record().user_info.iter();
    infos.find(|info| info.class_name == "TNamed" && info.name == SCHEMA_RECORD).map(|info| info.title.as_str())
}

/// The text of the record of an RNTuple, in the attribute set `ARROW`.
///
/// # Errors
/// The errors of reading the set.
pub(crate) fn ntuple_record(ntuple: &Ntuple) -> Result<Option<String>> {
    if !ntuple.footer().attributes.iter().any(|set| set.name == ARROW_SET) {
        return Ok(None);
    }
    let set = ntuple.attribute_set(ARROW_SET)?;
    let request = Request {
        columns: vec![(set.find(USER_DATA)?, USER_DATA.to_owned())],
        entries: Entries::Range(0..set.n_entries().min(MAX_ATTRIBUTES)),
        order: Order::Cluster,
        batch_bytes: None,
        batch_entries: None,
        memory_budget_bytes: 64 << 20,
        n_threads: 1,
        trace: false,
        text: TextForm::Replaced,
        verify_checksums: true,
        raw: false,
    };
    let mut scan = set.scan(&request)?;
    while let Some(batch) = scan.next_batch(&mut || false)? {
        if let Some(text) = value_of(&batch, SCHEMA_RECORD) {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// The schema of an RNTuple that records none, by the names that its columns were written with: who merges RNTuples takes
/// no attribute set along, and the names of their fields are left. `None` if no name is another one.
///
/// # Errors
/// The errors of reading what tells the types of columns.
pub(crate) fn schema_by_names(ntuple: &Ntuple) -> Result<Option<RecordedSchema>> {
    if !ntuple.schema().fields().any(|field| has_other_name(field.name())) {
        return Ok(None);
    }
    Ok(RecordedSchema::of_stored_names(&ntuple.arrow_schema()?))
}

/// True for the stored name of another one. Names are made for those that may have one: most have none.
pub(super) fn has_other_name(name: &str) -> bool {
    (name.contains("_x") || name.contains("_u")) && original_name(name) != name
}

/// The value that an attribute set gives for a key.
fn value_of(batch: &RecordBatch, key: &str) -> Option<String> {
    let data = batch.column(0).as_struct_opt()?;
    let member = |name: &str| data.column_by_name(name)?.as_string_opt::<i32>();
    let (keys, values) = (member("key")?, member("value")?);
    let index = (0..keys.len()).find(|&index| keys.value(index) == key)?;
    Some(values.value(index).to_owned())
}
