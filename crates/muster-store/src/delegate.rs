//! A transaction reads like its inner snapshot; this defines the forwarding once.

/// Implements `StoreSnapshot` for a type by forwarding every read to one of its fields.
macro_rules! reads {
    ($view:ty, $field:ident) => {
        impl $crate::StoreSnapshot for $view {
            fn numbering(&self) -> $crate::Numbering {
                self.$field.numbering()
            }

            fn head(
                &mut self,
                stream: &str,
            ) -> Result<muster_core::LogPosition, $crate::StoreError> {
                self.$field.head(stream)
            }

            fn streams(
                &mut self,
                prefix: &str,
            ) -> Result<Vec<$crate::StreamRow>, $crate::StoreError> {
                self.$field.streams(prefix)
            }

            fn document(
                &mut self,
                stream: &str,
                address: &muster_core::Address,
            ) -> Result<Option<$crate::DocumentRow>, $crate::StoreError> {
                self.$field.document(stream, address)
            }

            fn fetch(
                &mut self,
                stream: &str,
                wanted: &[$crate::WantedDocument],
            ) -> Result<Vec<$crate::FetchedDocument>, $crate::StoreError> {
                self.$field.fetch(stream, wanted)
            }

            fn version(
                &mut self,
                stream: &str,
                address: &muster_core::Address,
            ) -> Result<Option<u64>, $crate::StoreError> {
                self.$field.version(stream, address)
            }

            fn list_versions(
                &mut self,
                stream: &str,
                query: &muster_core::ListQuery,
            ) -> Result<Vec<(muster_core::Address, u64)>, $crate::StoreError> {
                self.$field.list_versions(stream, query)
            }

            fn list(
                &mut self,
                stream: &str,
                query: &muster_core::ListQuery,
            ) -> Result<Vec<$crate::DocumentRow>, $crate::StoreError> {
                self.$field.list(stream, query)
            }

            fn briefs(
                &mut self,
                stream: &str,
                query: &muster_core::ListQuery,
            ) -> Result<Option<Vec<std::sync::Arc<str>>>, $crate::StoreError> {
                self.$field.briefs(stream, query)
            }

            fn search(
                &mut self,
                stream: &str,
                query: &muster_core::ListQuery,
                text: &str,
            ) -> Result<Option<$crate::TextMatches>, $crate::StoreError> {
                self.$field.search(stream, query, text)
            }

            fn searched(
                &mut self,
                stream: &str,
                address: &muster_core::Address,
            ) -> Result<Option<String>, $crate::StoreError> {
                self.$field.searched(stream, address)
            }

            fn is_searchable(&mut self) -> Result<bool, $crate::StoreError> {
                self.$field.is_searchable()
            }

            fn documents_with(
                &mut self,
                query: &$crate::StringsQuery<'_>,
            ) -> Result<Option<Vec<$crate::FoundDocument>>, $crate::StoreError> {
                self.$field.documents_with(query)
            }

            fn events_with(
                &mut self,
                query: &$crate::StringsQuery<'_>,
            ) -> Result<Vec<$crate::LogPlace>, $crate::StoreError> {
                self.$field.events_with(query)
            }

            fn unindexed_count(&mut self) -> Result<u64, $crate::StoreError> {
                self.$field.unindexed_count()
            }

            fn unindexed(
                &mut self,
                end: $crate::LogEnd,
                limit: u32,
            ) -> Result<Vec<$crate::StreamEvent>, $crate::StoreError> {
                self.$field.unindexed(end, limit)
            }

            fn log(
                &mut self,
                after: $crate::LogCursor,
                limit: u32,
            ) -> Result<Vec<($crate::LogCursor, $crate::StreamEvent)>, $crate::StoreError> {
                self.$field.log(after, limit)
            }

            fn brief(
                &mut self,
                stream: &str,
                address: &muster_core::Address,
            ) -> Result<Option<String>, $crate::StoreError> {
                self.$field.brief(stream, address)
            }

            fn catalogue(
                &mut self,
                query: &$crate::CatalogueQuery,
            ) -> Result<Vec<(String, $crate::DocumentRow)>, $crate::StoreError> {
                self.$field.catalogue(query)
            }

            fn documents(
                &mut self,
                stream: &str,
            ) -> Result<Vec<$crate::DocumentRow>, $crate::StoreError> {
                self.$field.documents(stream)
            }

            fn events(
                &mut self,
                stream: &str,
                query: &muster_core::EventQuery,
            ) -> Result<Vec<$crate::EventRow>, $crate::StoreError> {
                self.$field.events(stream, query)
            }

            fn shown(
                &mut self,
                stream: &str,
                query: &muster_core::EventQuery,
            ) -> Result<Option<Vec<$crate::ShownRow>>, $crate::StoreError> {
                self.$field.shown(stream, query)
            }

            fn tail(
                &mut self,
                stream: &str,
                after: u64,
                limit: u32,
            ) -> Result<Vec<$crate::EventRow>, $crate::StoreError> {
                self.$field.tail(stream, after, limit)
            }
        }
    };
}

pub(crate) use reads;
