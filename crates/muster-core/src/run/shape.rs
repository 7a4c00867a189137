//! Two shapes of a run's state: closed sets of words, and objects that change by patches.

use serde::{Deserialize, Deserializer};

/// Defines a closed set of words: an enum that is read and written as text.
macro_rules! words {
    ($(
        $(#[$doc:meta])*
        $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }
    )*) => {$(
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        $(#[$doc])*
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Every word of the set, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word as it is written.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    )*};
}

/// Defines an object and the patch that leads from one state of it to another (RUNS-EV-5).
///
/// A patch holds the fields that differ, each of them whole; a field that was cleared is present
/// with null. An object is created by a patch that holds every field. The fields after `hides` are
/// for the server's own bookkeeping: they are stored, but not served. Each has `#[schemars(skip)]`
/// as well, so that the document of the routes does not name it.
///
/// A field that was added later has `= default`: objects that were stored before do not have it,
/// and one with the default value is stored without it, so that their stored form does not change.
macro_rules! patched {
    (@stored $value:expr) => { Some($value.clone()) };
    (@stored $value:expr, default) => {
        Some($value.clone()).filter(|value| !crate::run::shape::is_default(value))
    };
    (@given $value:expr) => { $value? };
    (@given $value:expr, default) => { $value.unwrap_or_default() };
    (
        $(#[$doc:meta])*
        $name:ident, $patch:ident {
            $($(#[$field_doc:meta])* $field:ident: $type:ty $(= $absent:ident)?,)*
        }
        hides { $($hidden:ident,)* }
    ) => {
        $(#[$doc])*
        #[derive(
            Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $(
                $(#[$field_doc])*
                $(#[serde($absent, skip_serializing_if = "crate::run::shape::is_default")])?
                pub $field: $type,
            )*
        }

        #[doc = concat!("The fields of a [`", stringify!($name), "`] that changed.")]
        #[derive(
            Clone, PartialEq, Debug, Default,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(rename_all = "camelCase", default)]
        #[schemars(inline)]
        pub struct $patch {
            $(
                $(#[$field_doc])*
                #[serde(
                    deserialize_with = "crate::run::shape::given",
                    skip_serializing_if = "Option::is_none"
                )]
                pub $field: Option<$type>,
            )*
        }

        impl $patch {
            /// What leads from one state to another.
            pub fn between(before: &$name, after: &$name) -> Self {
                Self {
                    $($field: (before.$field != after.$field).then(|| after.$field.clone()),)*
                }
            }

            /// The patch that brings an object into being.
            pub fn whole(object: &$name) -> Self {
                Self {
                    $($field: crate::run::shape::patched!(@stored object.$field $(, $absent)?),)*
                }
            }

            /// The object that a patch brings into being, if it holds every field.
            pub fn into_whole(self) -> Option<$name> {
                Some($name {
                    $($field: crate::run::shape::patched!(@given self.$field $(, $absent)?),)*
                })
            }

            /// Sets the fields that the patch holds.
            pub fn apply(self, object: &mut $name) {
                $(if let Some(value) = self.$field { object.$field = value; })*
            }

            /// Whether it changes nothing.
            pub fn is_empty(&self) -> bool {
                true $(&& self.$field.is_none())*
            }

            /// The part that is served.
            #[must_use]
            pub fn served(self) -> Self {
                Self { $($hidden: None,)* ..self }
            }
        }

        impl $name {
            /// The object as it is served: every field but those of the server's bookkeeping.
            pub fn served(&self) -> $patch {
                $patch::whole(self).served()
            }
        }
    };
}

pub(super) use {patched, words};

/// Reads a field that is present, null included.
pub(super) fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Whether a value is the one that a field has where it is absent.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
