//! What lies between the ROOT format's types and values and those of Apache Arrow.
//!
//! It knows of no file and no scan, so that whoever reads and whoever writes has the same table of types.
//!
//! A type of the format has a type of Arrow, and an array of that is stored as the format's values without a copy:
//!
//! ```
//! use arrow_array::{Array, Float32Array};
//! use arrowroot_arrow::stored::{Stored, store};
//! use arrowroot_arrow::{TextForm, arrow_type};
//! use arrowroot_format::column::DataType;
//! use arrowroot_format::streamer::Primitive;
//!
//! let data_type = DataType::Primitive(Primitive::Float32);
//! let array = Float32Array::from(vec![1.5, 2.5]);
//! assert_eq!(arrow_type(&data_type, TextForm::Utf8), *array.data_type());
//! let stored = store("pt", &array, &data_type)?;
//! assert!(matches!(&stored, Stored::Numbers { values, .. } if values.as_ptr() == array.values().inner().as_ptr()));
//! # Ok::<(), arrowroot_arrow::stored::StoreError>(())
//! ```

pub mod arrays;
pub mod gaps;
pub mod incoming;
pub mod optionals;
pub mod stored;
pub mod text;
pub mod types;

pub use stored::Stored;
pub use text::{Fault, TextForm};
pub use types::{ArrowTypes, arrow_type, arrow_type_for_text};
