//! Edges, as requests name them: by the ids of nodes, with what an existing edge keeps.

use muster_core::{
    Json,
    answers::CallKey,
    run::{
        Ask,
        command::PutEdge,
        id::{EdgeId, NodeId, RunId},
        lookup,
    },
};

use super::{
    RunDesk, RunTold,
    answer::RunResponse,
    change::RunChangeRequest,
    fault::{RunCode, RunFault},
    request::EdgeInput,
};

impl RunDesk<'_> {
    /// Creates an edge, or changes one (RUNS-EDGE-2).
    pub fn put_edge(
        self,
        run: RunId,
        (input, prefix): (EdgeInput, String),
        once: Option<CallKey>,
    ) -> RunTold<Json> {
        let put = self.edge_of(run, input).map_err(|fault| fault.below(&prefix))?;
        let from = put.from;
        let to = put.to;
        let ask = Ask::PutEdge(put.clone());
        let change =
            RunChangeRequest::new(run, ask, RunResponse::Edge(put)).below(&prefix).once(once);
        self.carry_out(change).map_err(|fault| {
            if fault.code != RunCode::UnknownNode {
                return fault;
            }
            let is_known = |node| self.node(run, node).is_ok();
            let end = if is_known(from) && !is_known(to) { "to" } else { "from" };
            fault.at(format!("{prefix}{end}"))
        })
    }

    fn edge_of(self, run: RunId, input: EdgeInput) -> RunTold<PutEdge> {
        let id = input.id.map(|id| id.parse::<EdgeId>());
        let id = id.transpose().map_err(|bad| RunFault::bad_value("id", bad.to_string()))?;
        let known = match id {
            None => None,
            Some(id) => self.read(run, |docs| Ok(lookup::find_edge(docs, id)?.cloned()))?,
        };
        let end = |given: Option<String>, name: &str, kept: Option<NodeId>| match (given, kept) {
            (Some(id), _) => id.parse().map_err(|_| {
                let detail = format!("the run has no node {id:?}");
                RunFault::new(RunCode::UnknownNode, detail).at(name)
            }),
            (None, Some(kept)) => Ok(kept),
            (None, None) => {
                let detail = format!("{name} is required: the id of a node");
                Err(RunFault::new(RunCode::MissingField, detail).at(name))
            }
        };
        Ok(PutEdge {
            id,
            from: end(input.from, "from", known.as_ref().map(|edge| edge.from))?,
            to: end(input.to, "to", known.as_ref().map(|edge| edge.to))?,
            bidirectional: input.bidirectional,
            kind: input.kind,
            label: input.label,
            auto_deliver: input.auto_deliver,
        })
    }
}
