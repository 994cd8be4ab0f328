//! Rules: what becomes of an object, by its path.

use crate::error::{Error, Result};

/// The rule for the objects of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Entries of trees and RNTuples, points of graphs: one after the other.
    Concatenate,
    /// Numbers are added: histograms, profiles, parameters.
    Add,
    /// That of the first input that has it.
    First,
    /// Those of all inputs, as cycles of one name.
    All,
    /// As [`Rule::First`], but those of all inputs must be the same. Of a table each row once: see [`Merger`](crate::Merger).
    Unique,
    /// Left out.
    Drop,
    /// An error: it should not be there.
    Fail,
}

/// Names of the rules, as they are given.
const NAMES: [(&str, Rule); 7] = [
    ("concatenate", Rule::Concatenate),
    ("add", Rule::Add),
    ("first", Rule::First),
    ("unique", Rule::Unique),
    ("all", Rule::All),
    ("drop", Rule::Drop),
    ("fail", Rule::Fail),
];

impl Rule {
    /// The rule of a name.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`], with the names that there are.
    pub fn of_name(name: &str) -> Result<Rule> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, rule)| *rule).ok_or_else(|| {
            let names = NAMES.map(|(name, _)| name).join(", ");
            Error::InvalidRequest { what: format!("no rule {name:?}: there are {names}") }
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, rule)| *rule == self).map_or("", |(name, _)| name)
    }
}

/// Rules by patterns of names; the first that matches holds.
#[derive(Debug, Clone, Default)]
pub struct Rules(Vec<Given>);

#[derive(Debug, Clone)]
struct Given {
    pattern: String,
    rule: Rule,
    /// True if it was that of an object.
    is_used: bool,
}

impl Rules {
    /// These, in this order.
    pub fn new(rules: Vec<(String, Rule)>) -> Rules {
        Rules(rules.into_iter().map(|(pattern, rule)| Given { pattern, rule, is_used: false }).collect())
    }

    /// The rule of an object, if one was given: a pattern with a slash is that of a whole path, another that of a name.
    pub fn of(&mut self, path: &str) -> Option<Rule> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_meant = |pattern: &str| matches(pattern, if pattern.contains('/') { path } else { name });
        let given = self.0.iter_mut().find(|given| is_meant(&given.pattern))?;
        given.is_used = true;
        Some(given.rule)
    }

    /// The patterns of those that were asked for by no object.
    pub fn unused(self) -> Vec<String> {
        self.0.into_iter().filter(|given| !given.is_used).map(|given| given.pattern).collect()
    }
}

/// True if a text is one of a pattern, in which `*` stands for any characters and `?` for one. Takes time in proportion to the
/// product of their lengths.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // The last star, and how much of the text it stands for.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, t));
            p += 1;
        } else if pattern.get(p).is_some_and(|&c| c == '?' || c == text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((at, end)) = star {
            star = Some((at, end + 1));
            (p, t) = (at + 1, end + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_with_a_slash_are_those_of_paths() {
        let mut rules = Rules::new(vec![
            ("plots/h_*".to_owned(), Rule::Drop),
            ("h_?".to_owned(), Rule::First),
            ("*".to_owned(), Rule::Fail),
        ]);
        assert_eq!(rules.of("plots/h_pt"), Some(Rule::Drop));
        assert_eq!(rules.of("more/h_x"), Some(Rule::First));
        assert_eq!(rules.clone().unused(), ["*"]);
        assert_eq!(rules.of("more/h_xy"), Some(Rule::Fail));
        assert_eq!(rules.unused(), Vec::<String>::new());
        assert_eq!(Rules::default().of("h"), None);
    }

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, text, is_one) in [
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "aXbXbd", false),
            ("*", "", true),
            ("?", "", false),
            ("é?", "éa", true),
            ("a**", "a", true),
        ] {
            assert_eq!(matches(pattern, text), is_one, "{pattern} {text}");
        }
    }

    #[test]
    fn a_rule_has_a_name() {
        for (name, rule) in NAMES {
            assert_eq!((Rule::of_name(name).unwrap(), rule.name()), (rule, name));
        }
        assert!(Rule::of_name("sum").unwrap_err().to_string().contains("concatenate, add"));
    }
}
