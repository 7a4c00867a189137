//! A layout in a body.

use std::collections::BTreeMap;

use muster_core::run::{
    id::NodeId,
    layout::{LayoutChange, Point, Viewport},
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The changed positions of nodes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LayoutInput {
    positions: BTreeMap<NodeId, PointInput>,
    viewport: Option<ViewportInput>,
    /// Ignored; a client that sends back what it received sends this, too.
    #[serde(rename = "updatedAt")]
    _updated_at: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
struct PointInput {
    x: f64,
    y: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
struct ViewportInput {
    x: f64,
    y: f64,
    zoom: f64,
}

impl From<LayoutInput> for LayoutChange {
    fn from(input: LayoutInput) -> Self {
        let point = |(node, at): (NodeId, PointInput)| (node, Point { x: at.x, y: at.y });
        let viewport = |at: ViewportInput| Viewport { x: at.x, y: at.y, zoom: at.zoom };
        Self {
            positions: input.positions.into_iter().map(point).collect(),
            viewport: input.viewport.map(viewport),
        }
    }
}
