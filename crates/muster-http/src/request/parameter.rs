//! Query parameters as typed values: each with one parser, one description and one error.

use std::{collections::BTreeMap, str::FromStr};

use muster_api::{LogCursor, PageCursor, runs::RunFault};
use muster_core::schema::{JsonType, Keyword, Schema};

use crate::{
    dialect::ErrorDialect, fault::Fault, openapi::parts::ParameterDoc, sessions::SessionHttpFault,
};

/// The sessions' error for an unknown cursor.
pub(crate) const UNKNOWN_CURSOR: &str = "it is not the cursor of an earlier page";

/// The query, by name.
pub(crate) type RawQuery = BTreeMap<String, String>;

/// The parameters that a route takes; [`parameters!`] defines them.
pub(crate) trait QueryParameters: Sized {
    fn read(query: &RawQuery, dialect: ErrorDialect) -> Result<Self, Fault>;

    fn described() -> Vec<ParameterDoc>;
}

/// Defines the parameters of a route: their names in the query, and what they become.
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[doc = $doc:literal])* $wire:literal $field:ident: $kind:ty,)*
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[doc = $doc])* $field: $kind,)*
        }

        impl $crate::request::QueryParameters for $name {
            fn read(
                query: &std::collections::BTreeMap<String, String>,
                dialect: $crate::dialect::ErrorDialect,
            ) -> Result<Self, $crate::fault::Fault> {
                Ok(Self {$(
                    $field: $crate::request::Parameter::read(
                        &$crate::request::GivenParameter { name: $wire, query, dialect },
                    )?,
                )*})
            }

            fn described() -> Vec<$crate::openapi::parts::ParameterDoc> {
                vec![$($crate::openapi::parts::ParameterDoc {
                    name: $wire,
                    place: $crate::openapi::parts::ParameterPlace::Query,
                    required: false,
                    description: concat!($($doc,)*).trim_ascii(),
                    schema: <$kind as $crate::request::Parameter>::schema(),
                },)*]
            }
        }
    };
}

/// Closed sets of values.
macro_rules! words {
    ($($kind:ty: $all:expr, $word:path;)*) => {$(
        impl $crate::request::ParameterValue for $kind {
            fn read(
                given: &$crate::request::GivenParameter<'_>,
                text: &str,
            ) -> Result<Self, $crate::fault::Fault> {
                let text = given.word(text);
                let found = $all.iter().copied().find(|kind| $word(*kind) == text);
                found.ok_or_else(|| {
                    let known: Vec<&str> = $all.iter().map(|kind| $word(*kind)).collect();
                    given.must_be(&format!("one of {}", known.join(", ")))
                })
            }

            fn schema() -> muster_core::schema::Schema {
                muster_core::schema::Schema::word_of($all.iter().map(|kind| $word(*kind)))
            }
        }
    )*};
}

pub(crate) use {parameters, words};

/// A parameter as received, with what an error about it needs.
pub(crate) struct GivenParameter<'a> {
    pub(crate) name: &'static str,
    pub(crate) query: &'a RawQuery,
    pub(crate) dialect: ErrorDialect,
}

impl GivenParameter<'_> {
    /// The string, if it is not empty; for sessions, if it is not blank.
    pub(crate) fn text(&self) -> Option<&str> {
        let is_there = |text: &&str| match self.dialect {
            ErrorDialect::Bridge => !text.trim().is_empty(),
            ErrorDialect::Operations | ErrorDialect::Runs => !text.is_empty(),
        };
        self.query.get(self.name).map(String::as_str).filter(is_there)
    }

    /// One word; sessions ignore spaces around it.
    pub(crate) fn word<'t>(&self, text: &'t str) -> &'t str {
        match self.dialect {
            ErrorDialect::Bridge => text.trim(),
            ErrorDialect::Operations | ErrorDialect::Runs => text,
        }
    }

    /// An error that names what is expected.
    pub(crate) fn must_be(&self, expected: &str) -> Fault {
        match self.dialect {
            ErrorDialect::Bridge => self.refused(format!("{expected} is needed")),
            ErrorDialect::Operations | ErrorDialect::Runs => {
                self.refused(format!("{} must be {expected}", self.name))
            }
        }
    }

    /// An error with this text.
    pub(crate) fn refused(&self, detail: impl Into<String>) -> Fault {
        match self.dialect {
            ErrorDialect::Bridge => SessionHttpFault::invalid(self.name, detail.into()).into(),
            ErrorDialect::Operations | ErrorDialect::Runs => {
                RunFault::bad_value(self.name, detail).into()
            }
        }
    }

    /// The error for an unknown cursor.
    pub(crate) fn unknown_cursor(&self) -> Fault {
        match self.dialect {
            ErrorDialect::Bridge => self.refused(UNKNOWN_CURSOR),
            ErrorDialect::Operations | ErrorDialect::Runs => self.must_be("the cursor of a page"),
        }
    }

    fn whole(&self, text: &str, least: u64, most: u64) -> Result<u64, Fault> {
        let (text, is_plain) = match self.dialect {
            ErrorDialect::Bridge => (text.trim(), true),
            // Only digits: a sign or a space does not make a number here.
            ErrorDialect::Operations | ErrorDialect::Runs => {
                (text, text.bytes().all(|byte| byte.is_ascii_digit()))
            }
        };
        match text.parse() {
            Ok(number) if is_plain && (least..=most).contains(&number) => Ok(number),
            Ok(_) | Err(_) => Err(self.must_be(&match (most, self.dialect) {
                (u64::MAX, ErrorDialect::Bridge) => {
                    format!("a whole number of at least {least}")
                }
                (u64::MAX, _) => format!("a whole number of {least} or more"),
                (_, _) => format!("a whole number from {least} to {most}"),
            })),
        }
    }
}

/// A parameter, present or not.
pub(crate) trait Parameter: Sized {
    fn read(given: &GivenParameter<'_>) -> Result<Self, Fault>;

    fn schema() -> Schema {
        JsonType::String.into()
    }
}

/// The value of a parameter that is present.
pub(crate) trait ParameterValue: Sized {
    /// Whether an empty parameter counts as absent.
    const EMPTY_IS_ABSENT: bool = true;

    fn read(given: &GivenParameter<'_>, text: &str) -> Result<Self, Fault>;

    fn schema() -> Schema {
        JsonType::String.into()
    }
}

impl<T: ParameterValue> Parameter for Option<T> {
    fn read(given: &GivenParameter<'_>) -> Result<Self, Fault> {
        let text = match T::EMPTY_IS_ABSENT {
            true => given.text(),
            false => given.query.get(given.name).map(String::as_str),
        };
        text.map(|text| T::read(given, text)).transpose()
    }

    fn schema() -> Schema {
        T::schema()
    }
}

impl ParameterValue for String {
    fn read(_given: &GivenParameter<'_>, text: &str) -> Result<Self, Fault> {
        Ok(text.to_owned())
    }
}

fn whole_number(least: u64) -> Schema {
    Schema::from([JsonType::Integer.into(), Keyword::Minimum(least.into())])
}

impl ParameterValue for u64 {
    const EMPTY_IS_ABSENT: bool = false;

    fn read(given: &GivenParameter<'_>, text: &str) -> Result<Self, Fault> {
        given.whole(text, 0, Self::MAX)
    }

    fn schema() -> Schema {
        whole_number(0)
    }
}

impl<At: FromStr, Of: FromStr> ParameterValue for PageCursor<At, Of> {
    fn read(given: &GivenParameter<'_>, text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|()| given.unknown_cursor())
    }
}

impl ParameterValue for LogCursor {
    fn read(given: &GivenParameter<'_>, text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|_| given.unknown_cursor())
    }
}

/// A whole number within bounds.
#[derive(Clone, Copy)]
pub(crate) struct WholeNumber<const LEAST: u64, const MOST: u64>(pub(crate) u64);

impl<const LEAST: u64, const MOST: u64> WholeNumber<LEAST, MOST> {
    pub(crate) fn rows(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl<const LEAST: u64, const MOST: u64> ParameterValue for WholeNumber<LEAST, MOST> {
    const EMPTY_IS_ABSENT: bool = false;

    fn read(given: &GivenParameter<'_>, text: &str) -> Result<Self, Fault> {
        given.whole(text, LEAST, MOST).map(Self)
    }

    fn schema() -> Schema {
        let mut schema = whole_number(LEAST);
        if MOST <= u64::from(u32::MAX) {
            schema.put(Keyword::Maximum(MOST.into()));
        }
        schema
    }
}

/// A count: at least one, with a default.
#[derive(Clone, Copy)]
pub(crate) struct RowLimit<const DEFAULT: u64, const MOST: u64>(pub(crate) u64);

impl<const DEFAULT: u64, const MOST: u64> RowLimit<DEFAULT, MOST> {
    pub(crate) fn rows(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl<const DEFAULT: u64, const MOST: u64> Parameter for RowLimit<DEFAULT, MOST> {
    fn read(given: &GivenParameter<'_>) -> Result<Self, Fault> {
        let text = given.query.get(given.name);
        text.map_or(Ok(DEFAULT), |text| given.whole(text, 1, MOST)).map(Self)
    }

    fn schema() -> Schema {
        WholeNumber::<1, MOST>::schema()
    }
}

/// A boolean, false by default.
impl Parameter for bool {
    fn read(given: &GivenParameter<'_>) -> Result<Self, Fault> {
        match given.query.get(given.name).map(String::as_str) {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(given.must_be("true, 1, false or 0")),
        }
    }

    fn schema() -> Schema {
        JsonType::Boolean.into()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Uri;
    use serde_json::json;

    use super::{QueryParameters, RowLimit, WholeNumber};
    use crate::{dialect::ErrorDialect, fault::Fault};

    parameters! {
        struct Query {
            /// Rows.
            "limit" limit: RowLimit<20, 100>,
            "max_chars" chars: Option<WholeNumber<1, { u64::MAX }>>,
            "all" all: bool,
            "name" name: Option<String>,
        }
    }

    fn read(query: &str, dialect: ErrorDialect) -> Result<Query, String> {
        let uri: Uri = format!("/?{query}").parse().unwrap();
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&uri).unwrap();
        let read = Query::read(&pairs.0.into_iter().collect(), dialect);
        read.map_err(|fault| match fault {
            Fault::Run(fault) => format!("{}: {}", fault.path.unwrap(), fault.detail),
            Fault::Session(fault) => format!("{fault:?}"),
            Fault::Http(refusal) => format!("{refusal:?}"),
        })
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let query = read("other=1", ErrorDialect::Runs).unwrap();
        assert!(query.limit.rows() == 20 && query.chars.is_none() && !query.all);
        let query = read("limit=7&limit=8&max_chars=9&all=1&name=x", ErrorDialect::Runs).unwrap();
        assert!(query.limit.rows() == 8 && query.chars.unwrap().0 == 9 && query.all);
        assert_eq!(query.name.as_deref(), Some("x"));
    }

    #[test]
    fn each_dialect_has_its_own_words_and_spaces() {
        let refused = |query, dialect| read(query, dialect).err().unwrap();
        let limit = refused("limit=0", ErrorDialect::Runs);
        assert_eq!(limit, "limit: limit must be a whole number from 1 to 100");
        let chars = refused("max_chars=+5", ErrorDialect::Runs);
        assert_eq!(chars, "max_chars: max_chars must be a whole number of 1 or more");
        assert!(read("max_chars=%205", ErrorDialect::Bridge).is_ok());
        let chars = refused("max_chars=0", ErrorDialect::Bridge);
        assert!(chars.contains("a whole number of at least 1 is needed"), "{chars}");
        let all = refused("all=yes", ErrorDialect::Bridge);
        assert!(all.contains("true, 1, false or 0 is needed"), "{all}");
        let blank = |dialect| read("name=%20", dialect).unwrap().name.is_none();
        assert!(blank(ErrorDialect::Bridge) && !blank(ErrorDialect::Runs));
    }

    #[test]
    fn the_document_has_names_bounds_and_comments() {
        let shown = serde_json::to_value(Query::described()).unwrap();
        let limit = json!({"type": "integer", "minimum": 1, "maximum": 100});
        let limit =
            json!({"name": "limit", "in": "query", "schema": limit, "description": "Rows."});
        assert_eq!(shown[0], limit);
        let chars = json!({"type": "integer", "minimum": 1});
        assert_eq!(shown[1], json!({"name": "max_chars", "in": "query", "schema": chars}));
    }
}
