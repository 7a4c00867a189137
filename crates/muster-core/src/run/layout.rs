//! Positions of nodes on the screen. Moving them is not an event of the run (RUNS-EV-9): a layout
//! has its own small stream.

use std::{collections::BTreeMap, convert::Infallible};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{id::NodeId, limits::NODES_MAX, moment::Moment};
use crate::{
    Address, Aggregate, Documents, Draft, Index, Recorded, Subject, Unloaded, WorkRefusal,
};

/// A position on the screen.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Down.
    pub y: f64,
}

/// What part of the graph is seen.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Viewport {
    /// To the right.
    pub x: f64,
    /// Down.
    pub y: f64,
    /// How large.
    pub zoom: f64,
}

impl Default for Viewport {
    fn default() -> Self {
        Self { x: 0.0, y: 0.0, zoom: 1.0 }
    }
}

/// The positions of the nodes in the graph, and the visible part of it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GraphLayout {
    /// Nodes.
    pub positions: BTreeMap<NodeId, Point>,
    /// What is seen.
    pub viewport: Option<Viewport>,
    /// When it changed last.
    pub updated_at: Option<Moment>,
}

/// Changes of a layout: positions are set one by one, the viewport as a whole.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LayoutChange {
    /// Nodes that were moved.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub positions: BTreeMap<NodeId, Point>,
    /// What is seen now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewport: Option<Viewport>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyPositions;

/// The room of layouts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Layouts {}

impl Aggregate for Layouts {
    const STREAM: &'static str = "layout";
    type Key = ();
    type Document = GraphLayout;
    type Event = LayoutChange;
    type Applied = ();
    type Command = LayoutChange;
    type Rejection = TooManyPositions;
    type Brief = ();
    type Filter = Infallible;

    fn address((): &()) -> Address {
        Address { kind: "layout".into(), name: String::new() }
    }

    fn key(address: &Address) -> Option<()> {
        (address.kind == "layout").then_some(())
    }

    fn encode(document: &GraphLayout) -> serde_json::Result<String> {
        serde_json::to_string(document)
    }

    fn decode((): &(), body: &str) -> serde_json::Result<GraphLayout> {
        serde_json::from_str(body)
    }

    fn index(_document: &GraphLayout) -> Index {
        Index::default()
    }

    fn admits(filter: &Infallible, _document: &GraphLayout) -> bool {
        match *filter {}
    }

    fn event_type(_event: &LayoutChange) -> &'static str {
        "layout.changed"
    }

    fn subject(_event: &LayoutChange) -> Option<Subject> {
        None
    }

    fn relocate(_event: &mut LayoutChange, _place: &mut dyn FnMut(u64) -> u64) {}

    fn decide(
        draft: &mut Draft<'_, Self>,
        command: &LayoutChange,
    ) -> Result<(), WorkRefusal<Self>> {
        let before = draft.documents().get(&())?.cloned().unwrap_or_default();
        let mut after = before.clone();
        apply(&mut after, command);
        if after.positions.len() > NODES_MAX as usize {
            return Err(WorkRefusal::rejected(TooManyPositions));
        }
        if after == before {
            return Ok(());
        }
        Ok(draft.emit(command.clone())?)
    }

    fn evolve(
        documents: &mut Documents<Self>,
        event: &Recorded<LayoutChange>,
    ) -> Result<(), Unloaded<Self>> {
        let mut layout = documents.get(&())?.cloned().unwrap_or_default();
        apply(&mut layout, &event.event);
        layout.updated_at = Some(event.at.into());
        documents.put((), layout);
        Ok(())
    }
}

fn apply(layout: &mut GraphLayout, change: &LayoutChange) {
    layout.positions.extend(change.positions.iter().map(|(node, point)| (*node, *point)));
    layout.viewport = change.viewport.or(layout.viewport);
}

#[cfg(test)]
mod tests {
    use super::{LayoutChange, Layouts, NodeId, Point, Viewport};
    use crate::{Documents, Draft, Env, LogPosition, Timestamp};

    #[test]
    fn runs_ev_9_moving_a_node_is_no_event_of_the_run() {
        let mut documents = Documents::<Layouts>::complete();
        let node = NodeId(1);
        let moved =
            |x| LayoutChange { positions: [(node, Point { x, y: 0.0 })].into(), viewport: None };
        let env = Env::at(Timestamp(1_000));
        let mut draft = Draft::new(&mut documents, LogPosition::default(), env);
        assert_eq!(draft.apply(&moved(1.0)).unwrap().len(), 1);
        assert_eq!(draft.apply(&moved(1.0)).unwrap().len(), 0, "nothing differs");
        let view = LayoutChange {
            viewport: Some(Viewport { x: 0.0, y: 0.0, zoom: 2.0 }),
            ..LayoutChange::default()
        };
        draft.apply(&view).unwrap();
        let layout = draft.documents().get(&()).unwrap().unwrap();
        assert_eq!(layout.positions[&node], Point { x: 1.0, y: 0.0 });
        assert_eq!(layout.viewport.unwrap().zoom, 2.0);
        let many = LayoutChange {
            positions: (0..501).map(|id| (NodeId(id), Point { x: 0.0, y: 0.0 })).collect(),
            viewport: None,
        };
        assert!(draft.apply(&many).is_err());
    }
}
