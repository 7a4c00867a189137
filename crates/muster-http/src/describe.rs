//! Derives the description of a route from its handler's signature: parameters, body and response.

mod plain;

use std::sync::Arc;

use axum::{
    Extension,
    body::{Body, Bytes},
    extract::{Path, State},
    http::{HeaderMap, Response},
};
use muster_core::schema::{ByName, JsonType, Keyword, NamedSchemas, Schema};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};

use plain::{Absence, part_references, plain};

use crate::{
    openapi::parts::{Content, MediaType, ParameterDoc, json_content},
    reply::{EventStream, NoContent, Reply, Streamed},
    request::{Asked, Ids, Params, QueryParameters},
    server_state::ServerState,
};

/// The parts of a route's description that are not in its row.
pub(crate) struct Described<'a, S> {
    pub(crate) schemas: &'a mut S,
    /// Parameters of the query and of headers.
    pub(crate) parameters: Vec<ParameterDoc>,
    pub(crate) body: Option<Schema>,
    /// Status and content.
    pub(crate) answer: Option<(u16, Content)>,
}

/// A part of a handler's signature.
pub(crate) trait Describe {
    fn describe<S: SchemaSource>(_route: &mut Described<'_, S>) {}
}

/// A body as the document shows it.
pub(crate) trait DescribedBody {
    fn schema<S: SchemaSource>(schemas: &mut S) -> Schema;
}

/// A handler that describes itself. `D` is its signature.
pub(crate) trait DescribedHandler<D> {
    fn describe<S: SchemaSource>(route: &mut Described<'_, S>);
}

macro_rules! handlers {
    ($($argument:ident)*) => {
        impl<F, Fut, Out, $($argument,)*> DescribedHandler<($($argument,)* Out,)> for F
        where
            F: Fn($($argument),*) -> Fut,
            Fut: Future<Output = Out>,
            Out: Describe,
            $($argument: Describe,)*
        {
            fn describe<S: SchemaSource>(route: &mut Described<'_, S>) {
                $($argument::describe(route);)*
                Out::describe(route);
            }
        }
    };
}

handlers!();
handlers!(A);
handlers!(A B);
handlers!(A B C);
handlers!(A B C D);

impl Describe for State<Arc<ServerState>> {}
impl<T> Describe for Ids<T> {}
impl<T> Describe for Path<T> {}
impl<T> Describe for Extension<T> {}
impl<T> Describe for Option<Extension<T>> {}
impl Describe for HeaderMap {}
impl Describe for Bytes {}
impl Describe for Response<Body> {}

impl<T: Describe, E> Describe for Result<T, E> {
    fn describe<S: SchemaSource>(route: &mut Described<'_, S>) {
        T::describe(route);
    }
}

impl<Q: QueryParameters> Describe for Params<Q> {
    fn describe<S: SchemaSource>(route: &mut Described<'_, S>) {
        route.parameters.extend(Q::described());
    }
}

impl<B: DescribedBody> Describe for Asked<B> {
    fn describe<S: SchemaSource>(route: &mut Described<'_, S>) {
        route.body = Some(B::schema(route.schemas));
    }
}

impl<T: JsonSchema, const STATUS: u16> Describe for Reply<T, STATUS> {
    fn describe<S: SchemaSource>(route: &mut Described<'_, S>) {
        let schema = route.schemas.answered::<T>();
        route.answer = Some((STATUS, json_content(schema)));
    }
}

impl<T: JsonSchema, const STATUS: u16> Describe for Streamed<T, STATUS> {
    fn describe<S: SchemaSource>(route: &mut Described<'_, S>) {
        Reply::<T, STATUS>::describe(route);
    }
}

impl<T: JsonSchema> Describe for EventStream<T> {
    fn describe<S: SchemaSource>(route: &mut Described<'_, S>) {
        let event = route.schemas.answered::<T>();
        let data = Schema::from([
            JsonType::String.into(),
            Keyword::Other("contentMediaType".to_owned(), "application/json".into()),
            Keyword::ContentSchema(Box::new(event)),
        ]);
        let mut item = Schema::object([("data", data), ("id", JsonType::String.into())]);
        item.put(Keyword::Required(vec!["data".to_owned()]));
        route.answer = Some((200, [("text/event-stream", MediaType::stream(item))].into()));
    }
}

impl Describe for NoContent {
    fn describe<S: SchemaSource>(route: &mut Described<'_, S>) {
        route.answer = Some((204, Content::default()));
    }
}

/// Where the schemas of a description come from.
///
/// A program needs none to serve a route, and the code that derives them is a tenth of it. So
/// routes are rows over either source, and only what writes the document has derived schemas.
pub(crate) trait SchemaSource: 'static {
    /// The schema of what is written from a `T`.
    fn answered<T: JsonSchema>(&mut self) -> Schema;

    /// The schema of what is read into a `T`.
    fn asked<T: JsonSchema>(&mut self) -> Schema;
}

/// Leaves all schemas open.
pub(crate) struct NoSchemas;

impl SchemaSource for NoSchemas {
    fn answered<T: JsonSchema>(&mut self) -> Schema {
        Schema::default()
    }

    fn asked<T: JsonSchema>(&mut self) -> Schema {
        Schema::default()
    }
}

/// The derived schemas of one dialect, and the components that they refer to.
pub(crate) struct Schemas {
    answers: SchemaGenerator,
    requests: SchemaGenerator,
}

impl SchemaSource for Schemas {
    fn answered<T: JsonSchema>(&mut self) -> Schema {
        plain(self.answers.subschema_for::<T>().into(), Absence::IsNeverNull)
    }

    fn asked<T: JsonSchema>(&mut self) -> Schema {
        plain(self.requests.subschema_for::<T>().into(), Absence::MayBeNull)
    }
}

impl Schemas {
    pub(crate) fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            answers: settings().for_serialize().into_generator(),
            requests: settings().for_deserialize().into_generator(),
        }
    }

    /// Everything that answers and bodies refer to.
    pub(crate) fn components(self) -> NamedSchemas {
        let [answers, requests] = self.definitions();
        let mut components = answers;
        components.extend(requests.0);
        components.values_mut().for_each(part_references);
        components
    }

    /// The same without what only Rust knows.
    pub(crate) fn plain_components(self) -> NamedSchemas {
        let plain_all = |definitions: NamedSchemas, absence| {
            definitions.0.into_iter().map(move |(name, schema)| (name, plain(schema, absence)))
        };
        let [answers, requests] = self.definitions();
        let mut components = NamedSchemas::default();
        components.extend(plain_all(answers, Absence::IsNeverNull));
        components.extend(plain_all(requests, Absence::MayBeNull));
        components
    }

    /// What answers refer to, and what bodies refer to.
    fn definitions(mut self) -> [NamedSchemas; 2] {
        [&mut self.answers, &mut self.requests].map(|generator| {
            let definitions = generator.take_definitions(true).into_iter();
            ByName(definitions.map(|(name, schema)| (name, schema.into())).collect())
        })
    }
}
