//! Members whose type has changed between versions of their class.
//!
//! What has become something else of its kind is converted; what has become something unrelated counts as a member that
//! the older version does not have, and its bytes are passed over.
//!
//! Source: `TStreamerInfo::BuildOld`, `TGenCollectionStreamer` (ROOT 6.40).

use super::data_type::DataType;

/// Whether values are converted: numbers of any type to each other, and arrays, containers and pairs of what is converted.
/// A map is also a container of pairs; arrays are filled item by item, and may grow or shrink. A single number or pointer
/// is an array of one; of any other single value ROOT makes no array.
pub(super) fn is_convertible(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        _ if from == to => true,
        (DataType::Primitive(_), DataType::Primitive(_)) => true,
        (DataType::List(from), DataType::List(to)) if is_convertible(from, to) => true,
        (DataType::FixedList(..), _) | (_, DataType::FixedList(..)) => {
            let ((item, n_from), (to, n_to)) = (items_of(from), items_of(to));
            let fills_arrays = matches!(
                from,
                DataType::FixedList(..) | DataType::Primitive(_) | DataType::Optional(_) | DataType::Link
            );
            n_from > 0 && n_to > 0 && fills_arrays && is_convertible(item, to)
        }
        (DataType::Struct(_), DataType::Struct(_)) => are_convertible(pair_of(from), pair_of(to)),
        _ => are_convertible(parts_of(from), parts_of(to)),
    }
}

fn are_convertible(from: Option<[&DataType; 2]>, to: Option<[&DataType; 2]>) -> bool {
    from.zip(to).is_some_and(|(from, to)| from.iter().zip(to).all(|(from, to)| is_convertible(from, to)))
}

/// The innermost items of fixed arrays in each other, and how many there are; of anything else that is one.
fn items_of(data_type: &DataType) -> (&DataType, u64) {
    match data_type {
        DataType::FixedList(item, n_items) => {
            let (item, n) = items_of(item);
            (item, n.saturating_mul(u64::from(*n_items)))
        }
        item => (item, 1),
    }
}

/// Key and value of a map, or of a container of pairs.
fn parts_of(data_type: &DataType) -> Option<[&DataType; 2]> {
    match data_type {
        DataType::Map(key, value) => Some([key, value]),
        DataType::List(item) => pair_of(item),
        _ => None,
    }
}

fn pair_of(data_type: &DataType) -> Option<[&DataType; 2]> {
    match data_type {
        DataType::Struct(members) => match &**members {
            [(first, key), (second, value)] if &**first == "first" && &**second == "second" => Some([key, value]),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streamer::Primitive;

    const INT: DataType = DataType::Primitive(Primitive::Int32);
    const FLOAT: DataType = DataType::Primitive(Primitive::Float32);

    fn list(item: DataType) -> DataType {
        DataType::List(Box::new(item))
    }

    fn map(key: DataType, value: DataType) -> DataType {
        DataType::Map(Box::new(key), Box::new(value))
    }

    fn fixed(item: DataType, n_items: u32) -> DataType {
        DataType::FixedList(Box::new(item), n_items)
    }

    fn structure(first: &str, members: [DataType; 2]) -> DataType {
        let [one, other] = members;
        DataType::Struct(vec![(first.into(), one), ("second".into(), other)].into())
    }

    #[test]
    fn what_has_become_something_of_its_kind_is_converted_and_nothing_else() {
        let pair = |one, other| structure("first", [one, other]);
        let strange = |one, other| structure("one", [one, other]);
        for (from, to) in [
            (list(INT), list(FLOAT)),
            (list(list(INT)), list(list(FLOAT))),
            (map(INT, list(INT)), map(FLOAT, list(FLOAT))),
            (map(INT, FLOAT), list(pair(FLOAT, INT))),
            (pair(INT, DataType::Text), pair(FLOAT, DataType::Text)),
            (fixed(INT, 4), fixed(fixed(FLOAT, 2), 3)),
            (INT, fixed(FLOAT, 2)),
            (fixed(list(INT), 2), fixed(list(FLOAT), 3)),
            (fixed(DataType::Text, 4), fixed(fixed(DataType::Text, 2), 3)),
            (fixed(strange(INT, INT), 2), fixed(strange(INT, INT), 3)),
        ] {
            assert!(is_convertible(&from, &to) && is_convertible(&to, &from), "{from:?} {to:?}");
        }
        for (from, to) in [
            (INT, list(INT)),
            (INT, DataType::Text),
            (list(INT), fixed(INT, 3)),
            (list(INT), list(DataType::Text)),
            (list(INT), map(INT, INT)),
            (map(INT, INT), pair(INT, INT)),
            (map(INT, INT), list(strange(INT, INT))),
            (strange(INT, INT), strange(INT, FLOAT)),
            (list(pair(INT, INT)), list(DataType::Optional(Box::new(pair(INT, INT))))),
            (fixed(strange(INT, INT), 2), fixed(strange(INT, FLOAT), 2)),
            (INT, fixed(INT, 0)),
        ] {
            assert!(!is_convertible(&from, &to) && !is_convertible(&to, &from), "{from:?} {to:?}");
        }
    }

    #[test]
    fn an_array_becomes_one_of_its_items_but_only_numbers_and_pointers_become_arrays() {
        let pointer = DataType::Optional(Box::new(structure("one", [INT, INT])));
        for item in [INT, pointer, DataType::Link] {
            assert!(is_convertible(&item, &fixed(item.clone(), 2)), "{item:?}");
            assert!(is_convertible(&fixed(item.clone(), 2), &item), "{item:?}");
        }
        for item in [DataType::Text, list(INT), structure("one", [INT, INT])] {
            assert!(is_convertible(&fixed(item.clone(), 2), &item), "{item:?}");
            assert!(!is_convertible(&item, &fixed(item.clone(), 2)), "{item:?}");
            assert!(!is_convertible(&item, &fixed(item.clone(), 1)), "{item:?}");
        }
    }
}
