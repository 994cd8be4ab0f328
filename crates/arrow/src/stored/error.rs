//! Why a column cannot be stored.

use arrow_schema::ArrowError;

/// Why a column cannot be stored as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Neither trees nor RNTuples hold values of the type.
    #[error("column {column:?}: no layout holds {what}")]
    NoLayout {
        /// Path of the column or member, with dots between.
        column: String,
        /// The type, and what to do instead.
        what: String,
    },
    /// A null where none is stored.
    #[error(
        "column {column:?}: entry {entry} is null, and nulls are not stored: give a schema in which this field is nullable (schema=)"
    )]
    Null {
        /// Path of the column or member, with dots between.
        column: String,
        /// Number of the entry; of the value in its array, as [`store`](super::store) gives it.
        entry: u64,
    },
    /// The array is not what the schema says.
    #[error("column {column:?}: values of type {found}, where {expected} is stored")]
    OtherType {
        /// Path of the column or member, with dots between.
        column: String,
        /// The type that is stored.
        expected: String,
        /// The type of the array.
        found: String,
    },
    /// Two columns, or two members of one struct, have the same name.
    #[error("two columns are called {name:?}: rename one")]
    SameName {
        /// Path of both.
        name: String,
    },
    /// A batch is too large for the type of a column.
    #[error("column {column:?}: {what}: set a smaller batch size")]
    TooMany {
        /// Path of the column, with dots between.
        column: String,
        /// What there is too much of.
        what: String,
    },
    /// A value of an array is not as the array's type says.
    #[error("column {column:?}: entry {entry} of the data is spoilt: {what}")]
    Spoilt {
        /// Path of the column or member, with dots between.
        column: String,
        /// Number of the entry in what was given.
        entry: u64,
        /// What is wrong.
        what: String,
    },
    /// A value that the type of its field does not hold.
    #[error("column {column:?}: entry {entry} has {what}")]
    NoSuchValue {
        /// Name of the column.
        column: String,
        /// As that of a null.
        entry: u64,
        /// The value.
        what: String,
    },
    /// A text that is not UTF-8.
    #[error("column {column:?}: entry {entry} has a text that is not UTF-8: a binary column may have such bytes")]
    NoText {
        /// Path of the column or member, with dots between.
        column: String,
        /// As that of a null.
        entry: u64,
    },
    /// The array contradicts itself, or what was read is not what was written.
    #[error("column {column:?}: {what}")]
    Malformed {
        /// Path of the column or member, with dots between.
        column: String,
        /// What is wrong.
        what: String,
    },
}

/// What can be wrong when values become stored ones, or come back.
pub type Result<T> = std::result::Result<T, StoreError>;

impl StoreError {
    pub(super) fn malformed(column: &str, what: impl ToString) -> Self {
        StoreError::Malformed { column: column.to_owned(), what: what.to_string() }
    }

    pub(super) fn of_arrow(column: &str) -> impl Fn(ArrowError) -> Self {
        move |error| StoreError::malformed(column, error)
    }

    /// The same error, with the number of the entry made of that of the value in its array.
    #[must_use]
    pub fn with_entry(self, entry_of: impl FnOnce(u64) -> u64) -> Self {
        match self {
            StoreError::Null { column, entry } => StoreError::Null { column, entry: entry_of(entry) },
            StoreError::NoText { column, entry } => StoreError::NoText { column, entry: entry_of(entry) },
            other => other,
        }
    }
}
