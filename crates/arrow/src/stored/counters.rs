//! Columns that say by their names that their lists belong together, as `Muon_pt` and `Muon_eta` do.

use std::collections::HashMap;

use arrowroot_format::column::DataType;
use arrowroot_format::streamer::Primitive;

use super::Stored;

/// The counters that columns share, for [`BranchColumn::counter`](super::BranchColumn): `nMuon` for lists called `Muon_pt`
/// and `Muon_eta`, and for a list of structs `Muon`, if there are two of them, or a column `nMuon` of 32-bit integers, and if
/// all have the same lengths among the entries that are known. Lists that are all empty say nothing, and share none.
///
/// `columns`: name and type of each; `parts`: for each its first values, in one or several parts.
pub fn shared_counters(columns: &[(&str, &DataType)], parts: &[Vec<Stored>]) -> Vec<Option<String>> {
    let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, (name, data_type)) in columns.iter().enumerate() {
        if let Some(group) = group_of(name, data_type) {
            groups.entry(group).or_default().push(place);
        }
    }
    let mut counters = vec![None; columns.len()];
    for (group, members) in groups {
        let counter = format!("n{group}");
        let explicit = columns.iter().position(|&(name, data_type)| name == counter && is_integer(data_type));
        let expected = match explicit {
            Some(place) => parts.get(place).map(|parts| parts.iter().flat_map(counts).collect()),
            None if members.len() > 1 => parts.get(members[0]).map(|parts| lengths(parts)),
            None => None,
        };
        let Some(expected) = expected.filter(|expected| expected.iter().any(|&length| length > 0)) else { continue };
        let is_alike = |place: &usize| parts.get(*place).is_some_and(|parts| lengths(parts) == expected);
        let alike: Vec<usize> = members.into_iter().filter(is_alike).collect();
        if explicit.is_some() || alike.len() > 1 {
            for place in alike {
                counters[place] = Some(counter.clone());
            }
        }
    }
    counters
}

/// What comes before the first `_` in the name of a column of lists; of lists of structs all of it.
fn group_of<'n>(name: &'n str, data_type: &DataType) -> Option<&'n str> {
    let of_prefix = || name.split_once('_').map(|(group, _)| group).filter(|group| !group.is_empty());
    match data_type {
        DataType::Optional(value) => group_of(name, value),
        DataType::List(item) => match without_optional(item) {
            DataType::Struct(_) => Some(name),
            _ => of_prefix(),
        },
        DataType::Map(..) | DataType::Bytes => of_prefix(),
        _ => None,
    }
}

fn without_optional(data_type: &DataType) -> &DataType {
    if let DataType::Optional(value) = data_type { without_optional(value) } else { data_type }
}

fn is_integer(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Primitive(Primitive::Int32 | Primitive::UInt32))
}

/// Lengths of lists.
fn lengths(parts: &[Stored]) -> Vec<i64> {
    parts.iter().flat_map(lengths_of).collect()
}

fn lengths_of(stored: &Stored) -> Vec<i64> {
    match stored {
        Stored::List { offsets, .. } => offsets.windows(2).map(|pair| pair[1] - pair[0]).collect(),
        Stored::Optional { values, .. } => lengths_of(values),
        _ => Vec::new(),
    }
}

/// Numbers of 32 bits.
fn counts(stored: &Stored) -> Vec<i64> {
    match stored {
        Stored::Numbers { primitive: Primitive::Int32, values } => {
            values.typed_data::<i32>().iter().copied().map(i64::from).collect()
        }
        Stored::Numbers { primitive: Primitive::UInt32, values } => {
            values.typed_data::<u32>().iter().copied().map(i64::from).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use arrow_buffer::Buffer;

    use super::*;

    fn lists(lengths: &[i64]) -> Stored {
        let mut offsets = vec![5];
        offsets.extend(lengths.iter().scan(5, |end, length| {
            *end += length;
            Some(*end)
        }));
        let items = Stored::Numbers { primitive: Primitive::Int8, values: Buffer::from_vec(vec![0_u8; 100]) };
        Stored::List { offsets: offsets.into(), items: Box::new(items) }
    }

    fn integers(values: &[i32]) -> Stored {
        Stored::Numbers { primitive: Primitive::Int32, values: Buffer::from_vec(values.to_vec()) }
    }

    /// The counters of columns, of which a `None` is a list of numbers.
    fn found(columns: &[(&str, Option<DataType>, Vec<Stored>)]) -> Vec<Option<String>> {
        let list = DataType::List(Box::new(DataType::Primitive(Primitive::Int8)));
        let typed: Vec<_> = columns.iter().map(|(name, of, _)| (*name, of.as_ref().unwrap_or(&list))).collect();
        let parts: Vec<_> = columns.iter().map(|(_, _, parts)| parts.clone()).collect();
        shared_counters(&typed, &parts)
    }

    #[test]
    fn lists_of_one_prefix_and_equal_lengths_share() {
        let integer = || Some(DataType::Primitive(Primitive::Int32));
        let number = DataType::Primitive(Primitive::Float32);
        let structs = Some(DataType::List(Box::new(DataType::Struct([("q".into(), number)].into()))));
        let muon = || Some("nMuon".to_owned());
        let of = |lengths: &[i64]| vec![lists(&lengths[..1]), lists(&lengths[1..])];
        assert_eq!(
            found(&[
                ("Muon_pt", None, of(&[1, 0, 2])),
                ("x_y", None, of(&[1, 0, 2])),
                ("Muon_a_b", None, of(&[1, 0, 2]))
            ]),
            [muon(), None, muon()]
        );
        assert_eq!(
            found(&[
                ("Muon_pt", None, of(&[1, 0, 2])),
                ("Muon_eta", None, of(&[1, 0, 3])),
                ("Muon", structs, of(&[1, 0, 2]))
            ]),
            [muon(), None, muon()]
        );
        assert_eq!(
            found(&[("Muon_pt", None, of(&[1, 0, 2])), ("nMuon", integer(), vec![integers(&[1, 0, 2])])]),
            [muon(), None],
            "a column is the counter"
        );
        assert_eq!(
            found(&[("Muon_pt", None, of(&[1, 0, 2])), ("nMuon", integer(), vec![integers(&[1, 0, 3])])]),
            [None, None]
        );
        assert_eq!(found(&[("Muon_pt", None, of(&[0, 0])), ("Muon_eta", None, of(&[0, 0]))]), [None, None]);
        assert_eq!(found(&[("_pt", None, of(&[1, 0])), ("_eta", None, of(&[1, 0]))]), [None, None]);
        assert_eq!(found(&[]), []);
    }
}
